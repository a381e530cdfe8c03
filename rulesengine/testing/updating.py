"""What came out, written into the text of a case: only the places that differ, all else untouched.

Each correction is made in the text by the places of YAML's nodes, and the result is read
again: where it does not say exactly what was meant (the place comes out of an alias, say, or
is written in some rare way), the text stays as it was there.
"""

from __future__ import annotations

import copy
import json as standard
from collections.abc import Sequence
from typing import Any

from rulesengine import api
from rulesengine.api import Document, Path
from rulesengine.core.json import Json
from rulesengine.testing.verdicts import Add, Correction, Remove, Replace

_SPECIAL = set(",[]{}#:&*!|>'\"%@`")


def updated(text: str, corrections: Sequence[Correction]) -> str:
    """The text with the corrections in it; later places first, so that removals move no others."""
    for correction in sorted(corrections, key=lambda one: _sortable(one.path), reverse=True):
        (document,) = api.load(text, "case").documents
        changed = _changed(text, document, correction)
        if changed is None:
            continue
        found = api.load(changed, "case")
        meant = _corrected(document.value, correction)
        if (
            not found.findings
            and len(found.documents) == 1
            and _bare(found.documents[0].value) == _bare(meant)
        ):
            text = changed
    return text


def _sortable(path: Path) -> tuple[tuple[bool, int, str], ...]:
    return tuple((isinstance(step, str), step if isinstance(step, int) else 0, str(step)) for step in path)


def _corrected(value: Json, correction: Correction) -> Json:
    """The value that the corrected text shall have."""
    whole = copy.deepcopy(value)
    around: Any = whole
    steps = correction.path if isinstance(correction, Add) else correction.path[:-1]
    for step in steps:
        around = around[step]
    match correction:
        case Add(key=key, value=new):
            around[key] = new
        case Replace(path=path, value=new):
            around[path[-1]] = new
        case Remove(path=path):
            del around[path[-1]]
    return whole


def _bare(value: Json) -> Json:
    """Without what is empty: `objects:` with nothing below it says the same as no `objects`."""
    if isinstance(value, dict):
        found = {name: _bare(item) for name, item in value.items()}
        return {name: item for name, item in found.items() if item is not None}
    if isinstance(value, list):
        return [_bare(item) for item in value] or None
    return value


def _changed(text: str, document: Document, correction: Correction) -> str | None:
    """The text with one correction in it; None where its place is not in the text."""
    places = _Text(text)
    match correction:
        case Add(path=path, key=key, value=value):
            if document.extent((*path, key)) is not None:
                return _changed(text, document, Replace((*path, key), value))
            return _added(places, document, path, key, value)
        case Replace(path=path, value=value):
            extent = document.extent(path)
            if extent is None:
                return None
            start, end = places.at(extent.start), places.end(extent.end)
            before = text[:start]
            if before.rstrip().endswith(":"):  # a block below its key, or nothing at all
                before = before.rstrip() + " "
            return before + flow(value) + text[max(start, end) :]
        case Remove(path=path):
            return _removed(places, document, path)


def _added(places: _Text, document: Document, path: Path, key: str, value: Json) -> str | None:
    extent = document.extent(path)
    if extent is None:
        return None
    text, start, end = places.text, places.at(extent.start), places.end(extent.end)
    if text[start : start + 1] == "{":
        comma = ", " if text[start + 1 : end - 1].strip() else ""
        return f"{text[: end - 1]}{comma}{key}: {flow(value)}{text[end - 1 :]}"
    margin = " " * extent.start.column
    block = "".join(f"{margin}{line}\n" for line in api.dump({key: value}).splitlines())
    line = text.find("\n", end) + 1 or len(text)
    before = text[:line] if text[:line].endswith("\n") else f"{text[:line]}\n"
    return before + block + text[line:]


def _removed(places: _Text, document: Document, path: Path) -> str | None:
    extent = document.extent(path)
    if extent is None:
        return None
    text, begin, end = places.text, places.at(extent.begin), places.end(extent.end)
    if text[places.at(extent.around)] in "{[":
        rest = text[end:].lstrip()
        if rest.startswith(","):
            return text[:begin] + rest[1:].lstrip(" ")
        return text[:begin].rstrip().removesuffix(",") + text[end:]
    line = text.rfind("\n", 0, begin) + 1
    if text[line:begin].strip() not in ("", "-"):
        return None
    following = text.find("\n", end) + 1 or len(text)
    return text[:line] + text[following:]


class _Text:
    """A text whose places are lines and columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def at(self, place: api.Place) -> int:
        return self._starts[min(place.line, len(self._starts) - 1)] + place.column

    def end(self, place: api.Place) -> int:
        """Where a value ends: blank lines, indentation and comments after a block are not of it."""
        end = min(self.at(place), len(self.text))
        while True:
            end = len(self.text[:end].rstrip())
            line = self.text.rfind("\n", 0, end) + 1
            if end == 0 or not self.text[line:end].lstrip().startswith("#"):
                return end
            end = line


def flow(value: Json) -> str:
    """A value in YAML's flow style, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(str(name))}: {flow(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if not isinstance(value, str):
        return standard.dumps(value)
    plain = api.dump(value).removesuffix("\n")
    if "\n" in plain or (plain == value and set(value) & _SPECIAL):
        return standard.dumps(value, ensure_ascii=False)
    return plain
