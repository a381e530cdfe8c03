"""A template as a tree: what is constant, what is spliced, and where each piece stands.

`None` constants are gone already. The tree is read twice: by `static`, which holds it
against the schema of its kind, and by `render`, which makes code of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rulesengine import cel
from rulesengine.api import Path
from rulesengine.core.json import Json


@dataclass(frozen=True, slots=True)
class Constant:
    """A value without any expression in it, nulls dropped."""

    value: Json
    path: Path


@dataclass(frozen=True, slots=True)
class Value:
    """A whole value from one expression."""

    program: cel.Program
    path: Path


@dataclass(frozen=True, slots=True)
class Text:
    """Text with expressions in it."""

    parts: tuple[str | cel.Program, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping. A key is text, or text with expressions."""

    items: tuple[tuple[str | Text, Node], ...]
    path: Path

    def get(self, key: str) -> Node | None:
        """The node of a literal key."""
        return next((node for name, node in self.items if name == key), None)


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Broken:
    """A value whose expression did not compile; a finding says so."""

    path: Path


Node: TypeAlias = Constant | Value | Text | Fields | Items | Broken


def programs(node: Node) -> Iterator[cel.Program]:
    """Every expression in a tree."""
    match node:
        case Value(program):
            yield program
        case Text(parts):
            yield from (part for part in parts if not isinstance(part, str))
        case Fields(items):
            for key, value in items:
                if isinstance(key, Text):
                    yield from programs(key)
                yield from programs(value)
        case Items(items):
            for item in items:
                yield from programs(item)
        case Constant() | Broken():
            return


def child(node: Node, key: str) -> Node | None:
    """The node of a literal key; of a constant, the constant below it."""
    match node:
        case Fields():
            return node.get(key)
        case Constant(dict() as value, path) if key in value:
            return Constant(value[key], (*path, key))
        case _:
            return None
