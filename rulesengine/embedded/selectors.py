"""Label and field selectors of list, watch and deletecollection requests.

A selector becomes one predicate over objects. What the server would refuse is refused with
its words: a wrong requirement, or a field that the kind cannot be selected by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from rulesengine.core.json import Object
from rulesengine.embedded.errors import Refused, bad_request

Predicate: TypeAlias = Callable[[Object], bool]

_TERM = re.compile(
    r"""\s*(?:
        (?P<absent>!)\s*(?P<gone>[^\s,=!<>()]+)
      | (?P<key>[^\s,=!<>()]+)\s*
        (?: (?P<op>==|=|!=)\s*(?P<value>[^\s,=!<>()]*)
          | \s(?P<set>in|notin)\s*\(\s*(?P<values>[^()]*)\)
          | (?P<cmp>[<>])\s*(?P<number>-?\d+)
        )?
    )\s*(?:,|$)""",
    re.VERBOSE,
)
_FIELD = re.compile(r"\s*(?P<path>[^=!,\s]+)\s*(?P<op>==|=|!=)\s*(?P<value>(?:\\.|[^,\\])*)(?:,|$)")


def everything(_: Object) -> bool:
    return True


def labels(text: str) -> Predicate:
    """The predicate of a `labelSelector`."""
    if not text.strip():
        return everything
    tests: list[Callable[[dict[str, str]], bool]] = []
    position = 0
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None or match.end() == position:
            raise _unparsable(text)
        tests.append(_requirement(match))
        position = match.end()
    if text.rstrip().endswith(","):
        raise _unparsable(text)

    def matches(body: Object) -> bool:
        found = body["metadata"].get("labels") or {}
        return all(test(found) for test in tests)

    return matches


def _unparsable(text: str) -> Refused:
    if text.rstrip().endswith(","):
        return bad_request("found ',', expected: identifier after ','")
    if match := re.match(r"\s*[^\s,=!<>()]+\s+([^\s,=!<>()]+)", text):
        expected = "in, notin, =, ==, !=, gt, lt"
        return bad_request(f"unable to parse requirement: found '{match[1]}', expected: {expected}")
    return bad_request(f"unable to parse requirement: found '{text}', expected a label selector")


def _requirement(match: re.Match[str]) -> Callable[[dict[str, str]], bool]:
    if match["absent"]:
        gone = match["gone"]
        return lambda found: gone not in found
    key, op = match["key"], match["op"]
    if op:
        value = match["value"]
        if op == "!=":
            return lambda found: found.get(key) != value
        return lambda found: found.get(key) == value
    if match["set"]:
        values = {v.strip() for v in match["values"].split(",")}
        if match["set"] == "in":
            return lambda found: found.get(key) in values and key in found
        return lambda found: key not in found or found[key] not in values
    if match["cmp"]:
        number, above = int(match["number"]), match["cmp"] == ">"
        return lambda found: _compares(found.get(key, ""), number, above)
    return lambda found: key in found


def _compares(text: str, number: int, above: bool) -> bool:
    if not re.fullmatch(r"-?\d+", text):
        return False
    return int(text) > number if above else int(text) < number


def fields(text: str, allowed: Collection[str], *, custom: bool = False) -> Predicate:
    """The predicate of a `fieldSelector`; `allowed` are the paths the kind may be selected by."""
    if not text.strip():
        return everything
    tests: list[tuple[tuple[str, ...], bool, str]] = []
    position = 0
    while position < len(text):
        match = _FIELD.match(text, position)
        if match is None:
            raise bad_request(f"invalid field selector: {text}")
        path = match["path"]
        if path not in allowed:
            if custom:
                raise bad_request(f"field label not supported: {path}")
            known = ", ".join(f'"{name}"' for name in sorted(allowed))
            raise bad_request(f'"{path}" is not a known field selector: only {known}')
        value = re.sub(r"\\(.)", r"\1", match["value"])
        tests.append((tuple(path.split(".")), match["op"] != "!=", value))
        position = match.end()

    def matches(body: Object) -> bool:
        return all((_text(body, path) == value) is wanted for path, wanted, value in tests)

    return matches


def _text(body: Any, path: tuple[str, ...]) -> str:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    if body is None:
        return ""
    if isinstance(body, bool):
        return "true" if body else "false"
    return str(body)
