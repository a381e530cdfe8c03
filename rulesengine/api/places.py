"""From a field's path, or a character of a value, back to its place in the file.

A value is not its text: quotes, escapes, folded lines and indentation lie between. The two
are walked side by side; where they do not agree, there is no exact place, and callers use
the value's beginning.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from rulesengine.api.nodes import Mapping, Node, Place, Scalar, Sequence
from rulesengine.api.source import BREAK, Source
from rulesengine.api.values import is_merge, key_text
from rulesengine.core.findings import Span

Path: TypeAlias = tuple[str | int, ...]

_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^xuU\r\n])")
_CONTINUED = re.compile(r"\\(?:\r\n|[\n\r])[ \t]*")
_BLANK = re.compile(r"[ \t]*(?:(?:\r\n|[\n\r])[ \t]*)+")


class Extent(NamedTuple):
    """A field in the text: its key (or itself, in a list), its value, and the collection around it.

    In block style the end of a collection is where the next thing begins.
    """

    begin: Place
    start: Place
    end: Place
    around: Place


class Places:
    """Finds the places of one document."""

    def __init__(self, source: Source, root: Node) -> None:
        self._source = source
        self._root = root

    def key(self, path: Path) -> Span | None:
        """The key of a field, or the beginning of a list's element."""
        key, node = self._find(path)
        if key is not None:
            return self._source.span(key.start, key.end)
        return None if node is None else self.value(path)

    def value(self, path: Path) -> Span | None:
        """A leaf's whole value; of a list or mapping its key, or its first character."""
        key, node = self._find(path)
        if isinstance(node, Scalar):
            if node.start == node.end and key is not None:
                return self._source.span(key.start, key.end)  # `key:` with nothing behind it
            return self._source.span(node.start, _end(node))
        if key is not None:
            return self._source.span(key.start, key.end)
        return None if node is None else self._source.span(_start(node))

    def character(self, path: Path, offset: int, length: int, *, of_key: bool = False) -> Span | None:
        """`length` characters of a text value (or of a key) from `offset` on."""
        key, node = self._find(path)
        node = key if of_key else node
        if not isinstance(node, Scalar):
            return None if node is None else self.value(path)
        indexes, raw = self._aligned(node)
        if indexes is None or offset >= len(indexes):
            return self._source.span(node.start, _end(node))
        begin = indexes[offset]
        last = indexes[min(offset + max(length, 1) - 1, len(indexes) - 1)]
        start = _moved(node.start, raw, begin)
        end = _moved(node.start, raw, last + 1)
        return self._source.span(start, end)

    def extent(self, path: Path) -> Extent | None:
        """From where to where a field reaches, for changing the text; None for what an alias brings in."""
        key, node = self._find(path)
        around = self._find(path[:-1])[1]
        if node is None or around is None:
            return None
        return Extent(node.start if key is None else key.start, node.start, node.end, around.start)

    def _find(self, path: Path) -> tuple[Node | None, Node | None]:
        """The key and the node at `path`; (None, None) where there is none."""
        key: Node | None = None
        node: Node = self._root
        for step in path:
            found = _child(node, step)
            if found is None:
                return None, None
            key, node = found
        return key, node

    def _aligned(self, node: Scalar) -> tuple[list[int] | None, str]:
        raw = self._raw(node)
        match node.style:
            case "|" | ">":
                return _block(node.text, raw), raw
            case "'" | '"':
                return _flow(node.text, raw, 1, node.style), raw
            case _:
                return _flow(node.text, raw, 0, ""), raw

    def _raw(self, node: Scalar) -> str:
        """The text of a leaf as it stands in the file, breaks as line feeds."""
        lines = [self._source.line(number) for number in range(node.start.line, node.end.line + 1)]
        lines[-1] = lines[-1][: node.end.column]
        lines[0] = lines[0][node.start.column :]
        return "\n".join(lines)


def _child(node: Node, step: str | int) -> tuple[Node | None, Node] | None:
    if isinstance(node, Sequence):
        if isinstance(step, int) and 0 <= step < len(node.items):
            return None, node.items[step]
        return None
    if not isinstance(node, Mapping):
        return None
    merged: tuple[Node | None, Node] | None = None
    for key, value in node.pairs():
        if is_merge(key):
            for source in value.items if isinstance(value, Sequence) else [value]:
                merged = merged or _child(source, step)
        elif key_text(key) == step:
            return key, value
    return merged


def _start(node: Node) -> Place:
    return node.start


def _end(node: Scalar) -> Place:
    if node.style in ("|", ">"):
        return Place(node.start.line, node.start.column + 1)
    return node.end


def _moved(start: Place, raw: str, index: int) -> Place:
    """The place `index` characters after `start`."""
    breaks = raw.count("\n", 0, index)
    if not breaks:
        return Place(start.line, start.column + index)
    return Place(start.line + breaks, index - raw.rindex("\n", 0, index) - 1)


def _flow(value: str, raw: str, begin: int, quote: str) -> list[int] | None:
    """Indexes in `raw` of the characters of a plain or quoted `value`."""
    indexes: list[int] = []
    at = begin
    while len(indexes) < len(value):
        if at >= len(raw):
            return None
        if quote == '"' and raw[at] == "\\":
            if continued := _CONTINUED.match(raw, at):
                at = continued.end()
            elif escape := _ESCAPE.match(raw, at):
                indexes.append(at)
                at = escape.end()
            else:
                return None
        elif quote == "'" and raw.startswith("''", at):
            indexes.append(at)
            at += 2
        elif folded := _BLANK.match(raw, at):
            breaks = len(BREAK.findall(folded.group()))
            indexes += [at] * max(1, breaks - 1)
            at = folded.end()
        elif raw[at] == value[len(indexes)]:
            indexes.append(at)
            at += 1
        else:
            return None
    return indexes[: len(value)]


def _block(value: str, raw: str) -> list[int] | None:
    """Indexes in `raw` of the characters of a literal or folded `value`.

    Every line with text stands in the value as it is, in order; between two of them the
    value has only blanks and breaks.
    """
    indexes: list[int] = []
    at = raw.find("\n") + 1  # behind the header, `|-`
    if at == 0:
        return None
    lines = raw[at:].split("\n")
    margin = _margin(value, lines)
    if margin is None:
        return None
    for line in lines:
        content = line[margin:]
        if content.strip():
            found = value.find(content, len(indexes))
            if found < 0 or value[len(indexes) : found].strip():
                return None
            indexes += [max(0, at - 1)] * (found - len(indexes))
            indexes += range(at + margin, at + margin + len(content))
        at += len(line) + 1
    indexes += [max(0, len(raw) - 1)] * (len(value) - len(indexes))
    return indexes


def _margin(value: str, lines: list[str]) -> int | None:
    first = next((line for line in value.split("\n") if line.strip()), None)
    in_file = next((line for line in lines if line.strip()), None)
    if first is None or in_file is None:
        return None
    return len(in_file) - len(in_file.lstrip(" ")) - (len(first) - len(first.lstrip(" ")))
