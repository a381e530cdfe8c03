"""Which fields an expression reads: paths from a declared name on, "*" for any index or key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rulesengine.cel.syntax import Fold, Index, Literal, Name, Node, Select, children

Path: TypeAlias = tuple[str, ...]
Scope: TypeAlias = Mapping[str, Path]  # variables of macros, and what they stand for (() for anything else)


@dataclass(frozen=True, slots=True)
class References:
    """The second steps below a name: read plainly, or only looked at (`.?x`, `[?x]`, has)."""

    plain: frozenset[str]
    observed: frozenset[str]


def path_of(node: Node, scope: Scope) -> Path | None:
    """The path a node stands for; None for what is computed."""
    match node:
        case Name(name=name):
            return scope[name] or None if name in scope else (name,)
        case Select(operand=operand, field=field):
            base = path_of(operand, scope)
            return (*base, field) if base else None
        case Index(operand=operand, key=key):
            base = path_of(operand, scope)
            if not base:
                return None
            literal = isinstance(key, Literal) and isinstance(key.value, str)
            return (*base, key.value if literal else "*")  # type: ignore[union-attr]
        case _:
            return None


def reads(node: Node, scope: Scope | None = None) -> Iterator[Path]:
    """Every path read, the longest known of each chain."""
    here: Scope = scope or {}
    path = path_of(node, here)
    if path is not None:
        yield path
        operand: Node = node
        while isinstance(operand, Select | Index):
            if isinstance(operand, Index):
                yield from reads(operand.key, here)
            operand = operand.operand
        return
    if isinstance(node, Fold):
        yield from _fold(node, here)
        return
    for child in children(node):
        yield from reads(child, here)


def _fold(node: Fold, scope: Scope) -> Iterator[Path]:
    base = path_of(node.range, scope)
    below: dict[str, Path] = dict.fromkeys(node.names, ())
    if base and node.kind in ("bind", "optMap", "optFlatMap"):
        below[node.names[0]] = base
    elif base:
        below[node.names[-1]] = (*base, "*")
    inner = {**scope, **below}
    yield from reads(node.range, scope)
    if node.condition is not None:
        yield from reads(node.condition, inner)
    yield from reads(node.body, inner)


def references(node: Node, root: str, shadowed: frozenset[str] = frozenset()) -> Iterator[tuple[str, bool]]:
    """(second step, whether plainly) of every read below `root`."""
    if isinstance(node, Select | Index):
        operand = node.operand
        if isinstance(operand, Name) and operand.name == root and root not in shadowed:
            if isinstance(node, Select):
                yield node.field, not (node.optional or node.test)
            elif isinstance(node.key, Literal) and isinstance(node.key.value, str):
                yield node.key.value, not node.optional
    if isinstance(node, Fold):
        yield from references(node.range, root, shadowed)
        inner = shadowed | set(node.names)
        for part in (node.condition, node.body):
            if part is not None:
                yield from references(part, root, inner)
        return
    for child in children(node):
        yield from references(child, root, shadowed)
