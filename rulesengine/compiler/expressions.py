"""One expression of a rule to a program, with every problem at its character in the file."""

from __future__ import annotations

import re

from rulesengine import cel
from rulesengine.api import NAMES_NOT_YET, Path
from rulesengine.compiler.draft import Code, Draft
from rulesengine.compiler.splices import Splice, Unclosed, parts_of

_BARE = re.compile(
    r"(object|namespaceObject|variables|resources|ready|rule)\.\??([A-Za-z_][A-Za-z0-9_]*)"
    r"(?:\.\??[A-Za-z_][A-Za-z0-9_]*(?:\(\))?|\[[^\[\]]*\])*"
)
_FIELDS = {"metadata", "spec", "status", "data", "kind", "apiVersion"}
_UNDEFINED = re.compile(r"undefined field '(.+)'")
_OF_ROOT = re.compile(r"(?<![\w.?])(variables|resources)[\s.?]*$")
_UNDECLARED = re.compile(r"undeclared reference to '(\w+)'")


def reads_like_cel(draft: Draft, text: str) -> bool:
    """Whether text that is no expression looks like one: a name of ours, and a field that it has.

    Host names can begin with `object.`; so the field has to be known.
    """
    match = _BARE.fullmatch(text)
    if match is None:
        return False
    root, first = match.groups()
    match root:
        case "variables":
            return first in draft.variable_types
        case "resources" | "ready":
            return any(entry.name == first for entry in draft.entries)
        case _:
            return first in _FIELDS


def expression(
    draft: Draft, text: str, path: Path, names: dict[str, cel.Type], *, expect: cel.Type | None = None
) -> Code | None:
    """The program of an expression field; None (and findings) where it has none."""
    try:
        spliced = [part for part in parts_of(text) if isinstance(part, Splice)]
    except Unclosed as error:
        draft.find("RE302", "an expression field holds bare CEL", path, "remove ${", offset=error.offset)
        return None
    if spliced:
        inner = spliced[0].text.strip()
        whole = text.strip() == f"${{{spliced[0].text}}}"
        hint = f"write: {inner}" if whole and "\n" not in inner else "remove ${ and }, write + between texts"
        at = spliced[0].offset - 2
        message = "an expression field holds bare CEL, without ${}"
        draft.find("RE302", message, path, hint, offset=at, length=2)
        return None
    return compiled(draft, text, path, names, expect=expect)


def compiled(
    draft: Draft,
    text: str,
    path: Path,
    names: dict[str, cel.Type],
    *,
    expect: cel.Type | None = None,
    offset: int = 0,
    of_key: bool = False,
) -> Code | None:
    """The program of `text`, which stands `offset` characters into the value at `path`."""
    if not text.strip():
        at = max(0, offset - 2)
        draft.find("RE304", "the expression is empty", path, "write CEL here", offset=at, of_key=of_key)
        return None
    try:
        program = cel.compile(text, cel.Env(names), expect=expect)
    except cel.CompileError as error:
        for problem in error.problems:
            code, message, hint = _ours(text, problem)
            draft.find(
                code,
                message,
                path,
                hint,
                offset=offset + problem.offset,
                length=problem.length,
                of_key=of_key,
            )
        return None
    return Code(program, path, offset, of_key)


def _ours(text: str, problem: cel.Problem) -> tuple[str, str, str]:
    """Code, message and hint of a problem; what only this language knows is said in its words."""
    code, message, hint = problem.code, problem.message, problem.hint
    undeclared = _UNDECLARED.search(message)
    if undeclared and undeclared[1] in NAMES_NOT_YET:
        name = undeclared[1]
        return "RE110", f"name {name} ({NAMES_NOT_YET[name]}) is not supported in this version", ""
    undefined = _UNDEFINED.search(message)
    root = _OF_ROOT.search(text[: problem.offset])
    if undefined and root:
        missing, what = {"variables": ("RE321", "variable"), "resources": ("RE323", "resource")}[root[1]]
        return missing, f"there is no {what} {undefined[1]}", hint
    return code, message, hint
