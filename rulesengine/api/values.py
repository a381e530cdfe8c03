"""Nodes to JSON values, as kubectl makes them: keys become text, a repeated key is an error.

All problems of a document are collected; a document with problems has no value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from rulesengine.api.nodes import Mapping, Node, Place, ReadError, Scalar, Sequence
from rulesengine.api.scalars import TAG, Plain, UnusableTag, plain, tagged
from rulesengine.core.json import Json

_COLLECTIONS = {"", "!", f"{TAG}map", f"{TAG}seq", f"{TAG}set", f"{TAG}omap"}


@dataclass(slots=True)
class Values:
    """Makes values of the nodes of one document. `problems` is filled on the way."""

    problems: list[ReadError] = field(default_factory=list)

    def value(self, node: Node) -> Json:
        """The JSON value of `node`. Aliased nodes give fresh containers each time."""
        match node:
            case Scalar():
                return self._scalar(node)
            case Sequence():
                self._check_tag(node)
                return [self.value(item) for item in node.items]
            case Mapping():
                return self._mapping(node)

    def _scalar(self, node: Scalar) -> Plain:
        value = scalar_value(node)
        if isinstance(value, UnusableTag):
            self._problem("RE008", str(value), node.start, "remove the tag, or quote the value")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._problem("RE009", "JSON has no infinity and no NaN", node.start, "quote it if text is meant")
            return None
        return value

    def _mapping(self, node: Mapping) -> dict[str, Any]:
        self._check_tag(node)
        result: dict[str, Any] = {}
        explicit: dict[str, Place] = {}
        for key, value in node.pairs():
            if is_merge(key):
                self._merge(value, result)
                continue
            name = key_text(key)
            if name is None:
                self._problem("RE004", f"{_what(key)} cannot be a key", key.start, "keys are text; quote it")
                continue
            if name in explicit:
                line = explicit[name].line + 1
                shown = name if len(name) <= 60 else f"{name[:60]}…"
                self._problem("RE003", f"key {shown!r} stands twice", key.start, _twice(line, key))
                continue
            explicit[name] = key.start
            result[name] = self.value(value)
        return result

    def _merge(self, node: Node, into: dict[str, Any]) -> None:
        """`<<`: a mapping or a list of them, of which the first has precedence."""
        sources = node.items if isinstance(node, Sequence) else [node]
        for source in reversed(sources):
            if not isinstance(source, Mapping):
                self._problem("RE004", "<< merges mappings only", node.start, "quote << if it is a key")
                return
            into |= self._mapping(source)

    def _check_tag(self, node: Sequence | Mapping) -> None:
        if node.tag not in _COLLECTIONS:
            tag = node.tag.replace(TAG, "!!")
            self._problem("RE008", f"tag {tag} has no meaning here", node.start, "remove the tag")

    def _problem(self, code: str, message: str, at: Place, hint: str) -> None:
        self.problems.append(ReadError(code, message, at, hint))


def scalar_value(node: Scalar) -> Plain | UnusableTag:
    """The value of a leaf, or why it has none."""
    if node.tag:
        try:
            return tagged(node.tag, node.text, quoted=bool(node.style))
        except UnusableTag as error:
            return error
    return node.text if node.style else plain(node.text)


def is_merge(key: Node) -> bool:
    """Whether a key is the plain `<<`."""
    return isinstance(key, Scalar) and key.text == "<<" and not key.style and not key.tag


def key_text(key: Node) -> str | None:
    """A key as text: numbers and booleans in JSON's spelling; None where it cannot be one."""
    if not isinstance(key, Scalar):
        return None
    value = scalar_value(key)
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else None
        case _:
            return None


def _what(key: Node) -> str:
    match key:
        case Scalar():
            return "null" if scalar_value(key) is None else "this value"
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"


def _twice(line: int, key: Node) -> str:
    spelled = key.text if isinstance(key, Scalar) else ""
    if isinstance(key, Scalar) and not key.style and key_text(key) != spelled:
        return f"the first is in line {line}; YAML reads {spelled} as {key_text(key)}: quote it to keep it"
    return f"the first is in line {line}; remove one of them"
