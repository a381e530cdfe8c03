"""Which fields an expression reads: paths from a declared name on, "*" for any index or key.

Works on resolved trees; variables of macros stand for what they go over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rulesengine.cel.syntax import BINDING, Call, Fold, Index, Literal, Local, Name, Node, Select, children

Path: TypeAlias = tuple[str, ...]
Slots: TypeAlias = Mapping[int, Path]  # what variables of macros stand for; absent: something computed


@dataclass(frozen=True, slots=True)
class References:
    """The second steps below a name: read plainly, or only looked at (`.?x`, `[?x]`, has)."""

    plain: frozenset[str]
    observed: frozenset[str]


def path_of(node: Node, slots: Slots) -> Path | None:
    """The path a node stands for; None for what is computed."""
    match node:
        case Name(name=name):
            return (name,)
        case Local(slot=slot):
            return slots.get(slot)
        case Select(operand=operand, field=field):
            base = path_of(operand, slots)
            return (*base, field) if base else None
        case Index(operand=operand, key=key):
            base = path_of(operand, slots)
            return (*base, _step(key)) if base else None
        case _:
            return None


def _step(key: Node) -> str:
    return key.value if isinstance(key, Literal) and isinstance(key.value, str) else "*"


def paths_of_slots(node: Node, known: dict[int, Path] | None = None) -> dict[int, Path]:
    """What every variable of the macros in a tree stands for."""
    found: dict[int, Path] = {} if known is None else known
    if isinstance(node, Fold):
        paths_of_slots(node.range, found)
        base = path_of(node.range, found)
        if base:
            found[node.slots[-1]] = base if node.kind in BINDING else (*base, "*")
        for part in (node.condition, node.body):
            if part is not None:
                paths_of_slots(part, found)
        return found
    for child in children(node):
        paths_of_slots(child, found)
    return found


def reads(node: Node, but: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Every path read, the longest known of each chain; not what only calls of `but` are given."""
    yield from _reads(node, paths_of_slots(node), but)


def _reads(node: Node, slots: Slots, but: frozenset[str]) -> Iterator[Path]:
    path = path_of(node, slots)
    if path is None:
        if isinstance(node, Call) and node.function in but:
            return
        for child in children(node):
            yield from _reads(child, slots, but)
        return
    yield path
    while isinstance(node, Select | Index):
        if isinstance(node, Index):
            yield from _reads(node.key, slots, but)
        node = node.operand


def references(node: Node, root: str) -> Iterator[tuple[str, bool]]:
    """(second step, whether plainly) of every read below `root`."""
    if isinstance(node, Select | Index):
        operand = node.operand
        if isinstance(operand, Name) and operand.name == root:
            if isinstance(node, Select):
                yield node.field, not (node.optional or node.test)
            elif isinstance(node.key, Literal) and isinstance(node.key.value, str):
                yield node.key.value, not node.optional
    for child in children(node):
        yield from references(child, root)
