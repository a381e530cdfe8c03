"""The syntax tree of an expression: few shapes, each with its place in the text.

Macros become `Fold` while parsing, so that what comes after the parser knows no macro but by
its name. The checker hands out a resolved tree of the same shapes: variables of macros are
`Local`s with a slot of their own, qualified names are one `Name`, names of types are literals,
escaped fields have their real name. Offsets and lengths count code points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    value: Any
    at: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A declared name. A leading dot asks for the outermost one."""

    name: str
    at: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A variable of a macro around; only in resolved trees."""

    name: str
    slot: int
    at: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """`operand.field`; `optional` for `.?field`, `test` for has(operand.field)."""

    operand: Node
    field: str
    at: int
    length: int
    optional: bool = False
    test: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    operand: Node
    key: Node
    at: int
    length: int
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function or operator (`_+_`, `!_`, `_?_:_`, …) by name; `target` for member calls."""

    function: str
    target: Node | None
    arguments: tuple[Node, ...]
    at: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    """Items with whether each is optional (`?x`)."""

    items: tuple[tuple[Node, bool], ...]
    at: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    entries: tuple[tuple[Node, Node, bool], ...]
    at: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """A macro over `range`: `kind` all, exists, exists_one, map, filter, transformList,
    transformMap, transformMapEntry, bind, optMap, optFlatMap, sortBy.

    `names` are the iteration variables (one or two), `condition` the filter before `body`,
    `slots` the places of the variables in a resolved tree.
    """

    kind: str
    range: Node
    names: tuple[str, ...]
    condition: Node | None
    body: Node
    at: int
    length: int
    slots: tuple[int, ...] = ()


Node: TypeAlias = Literal | Name | Local | Select | Index | Call | ListOf | MapOf | Fold

BINDING = frozenset({"bind", "optMap", "optFlatMap"})  # one value for the name, no loop


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a node, in the order they stand in the text."""
    match node:
        case Select(operand=operand):
            return (operand,)
        case Index(operand=operand, key=key):
            return (operand, key)
        case Call(target=target, arguments=arguments):
            return arguments if target is None else (target, *arguments)
        case ListOf(items=items):
            return tuple(item for item, _ in items)
        case MapOf(entries=entries):
            return tuple(part for key, value, _ in entries for part in (key, value))
        case Fold(range=over, condition=condition, body=body):
            return (over, body) if condition is None else (over, condition, body)
        case _:
            return ()
