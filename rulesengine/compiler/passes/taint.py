"""Where values of Secrets go: hidden wherever they are shown, and said where they are safe no more.

A value is a Secret's when the expression (or a variable that it uses) reads a Secret, other than
its metadata and type, be it the source, a lookup or what another entry made; so is whatever an
entry shows that reads a hidden field of another one. A digest (`hash.…`) is hidden, too, but it
may be written anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from rulesengine.api import Path
from rulesengine.compiler.draft import Code, Draft, Entry
from rulesengine.compiler.passes.variables import used
from rulesengine.compiler.rule import FieldPath
from rulesengine.core.findings import Severity
from rulesengine.core.kinds import GroupKind, GroupVersionKind

SECRET = GroupKind("", "Secret")
_OPEN = frozenset({"metadata", "type", "kind", "apiVersion", "immutable"})
_IDENTITY = frozenset({("metadata", "name"), ("metadata", "namespace")})
_DIGESTS = frozenset({"hash.sha256", "hash.sha1", "hash.md5"})
_APPLIED = ("apply", "merge")


def run(draft: Draft) -> None:
    """Fills `hidden` of the entries and `status_hidden`; finds values that leave their Secrets."""
    reached = True
    while reached:  # an entry may show what another one took from a Secret
        reached = False
        for entry in draft.entries:
            found = frozenset(
                _field(code) for code in entry.codes if _writes(code) and _secret(draft, entry, code)
            )
            reached |= found != entry.hidden
            entry.hidden = found
    draft.status_hidden = any(_secret(draft, None, code) for code in draft.status_codes)
    for entry in draft.entries:
        for code in entry.codes:
            if _writes(code) and _secret(draft, entry, code, digests=False):
                _say(draft, entry, code)
    for code in draft.status_codes:
        if _secret(draft, None, code, digests=False):
            _warn(draft, code, "the source's status")


def _writes(code: Code) -> bool:
    return code.path[3:4] in (("template",), ("patch",))


def _field(code: Code) -> FieldPath:
    """The field of the object that a code of a template or patch is for."""
    if code.path[3] == "template":
        steps = code.path[4:]
    elif code.path[4:5] and code.path[4] in _APPLIED:
        steps = code.path[5:]
    else:
        return ()
    return tuple("*" if isinstance(step, int) else step for step in (steps[:-1] if code.of_key else steps))


def _say(draft: Draft, entry: Entry, code: Code) -> None:
    field = _field(code)
    if field in _IDENTITY:
        message = "a Secret's value would be the object's name, which everybody sees"
        draft.find(
            "RE329", message, code.path, "use hash.sha256(…), or the Secret's name", offset=code.offset
        )
    elif entry.gvk.group_kind != SECRET or field[:1] == ("metadata",):
        where = "metadata" if field[:1] == ("metadata",) else f"a {entry.gvk.kind}"
        _warn(draft, code, where)


def _warn(draft: Draft, code: Code, where: str) -> None:
    message = f"a Secret's value is written to {where}, where more people can read it"
    hint = "make a Secret of it and refer to it by name; hash.sha256(…) is enough to notice changes"
    at = code.offset
    draft.find("RE336", message, code.path, hint, offset=at, of_key=code.of_key, severity=Severity.WARNING)


# --- what an expression reads ---


def _secret(draft: Draft, entry: Entry | None, code: Code, *, digests: bool = True) -> bool:
    """Whether its value depends on a Secret's; without `digests`, other than through one."""
    seen: set[str] = set()
    wanted = [code]
    while wanted:
        reader = wanted.pop()
        paths = reader.program.reads if digests else reader.program.reads_but(_DIGESTS)
        if any(_is_secret(draft, entry, path) for path in paths):
            return True
        read = {path[1] for path in paths if path[0] == "variables" and len(path) > 1}
        for name in (read & used(reader)) - seen:
            seen.add(name)
            wanted += [draft.variables[name]] if name in draft.variables else []
    return False


def _is_secret(draft: Draft, entry: Entry | None, path: FieldPath) -> bool:
    root, rest = path[0], path[1:]
    match root:
        case "object" | "target" | "self":
            kind = draft.source.gvk if root == "object" and draft.source is not None else None
            kind = entry.gvk if root != "object" and entry is not None else kind
            return kind is not None and kind.group_kind == SECRET and _shows(rest)
        case "lookups":
            return any(_shows(_within(rest[1:], listed)) for listed in _lookups(draft, rest[:1]))
        case "resources":
            return any(_is_made(each, rest[1:]) for each in draft.entries if rest[:1] == (each.name,))
        case _:
            return any(_shows(rest) for tainted in _loops(draft, entry, root) if tainted)


def _shows(path: FieldPath) -> bool:
    """Whether reading this path of a Secret may read more than its metadata and type."""
    return not path or path[0] not in _OPEN


def _within(path: FieldPath, listed: bool) -> FieldPath:
    return path[1:] if listed else path


def _is_made(entry: Entry, path: FieldPath) -> bool:
    for rest in (path, path[1:]) if path[:1] == ("*",) else (path,):
        if entry.gvk.group_kind == SECRET and _shows(rest):
            return True
        if any(_meet(field, rest) for field in entry.hidden):
            return True
    return False


def _meet(field: FieldPath, path: FieldPath) -> bool:
    """Whether one is the other or above it."""
    return all("*" in (one, other) or one == other for one, other in zip(field, path, strict=False))


def _lookups(draft: Draft, name: FieldPath) -> Iterator[bool]:
    """Of the lookups of that name that read Secrets: whether they are lists."""
    for lookup in draft.model.spec.lookups:
        if name and name[0] not in (lookup.name, "*"):
            continue
        chosen = lookup.get or lookup.list_
        if (
            chosen is not None
            and GroupVersionKind.parse(chosen.api_version, chosen.kind).group_kind == SECRET
        ):
            yield lookup.get is None


def _loops(draft: Draft, entry: Entry | None, name: str) -> Iterator[bool]:
    """Of the element `name` of an entry's forEach: whether it comes from Secrets.

    An element is taken for one of the Secrets themselves, so that its name and labels are free.
    """
    if entry is None:
        return
    base: Path = ("spec", "resources", entry.index, "forEach")
    for index, element in enumerate(draft.model.spec.resources[entry.index].for_each):
        if element.name == name:
            here = (*base, index)
            codes = [code for code in entry.codes if code.path[: len(here)] == here]
            yield any(_secret(draft, None, code) for code in codes)
