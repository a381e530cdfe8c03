"""Sets of field paths, as `fieldsV1` of managedFields writes them.

A set is the JSON of fieldsV1 itself, a trie of dicts: `f:name` is a key of a map, `k:{…}`
and `v:…` are items of keyed lists and sets, `i:n` an index, and "." inside a node says that
the node's own path is a member. A node without content is a member without members below.
The root is never a member. That form is canonical, so equal sets are equal dicts, an entry
from the server needs no parsing, and comparing with it runs at the speed of dict `==`.

Trees are never changed once made; operations share what did not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rulesengine.schema import Schema
from rulesengine.ssa.elements import order

Tree: TypeAlias = dict[str, Any]  # dict[str, Tree]
SELF = "."


@dataclass(frozen=True, slots=True)
class FieldSet:
    """An immutable set of paths; `tree` is its fieldsV1."""

    tree: Tree = field(default_factory=dict)

    @classmethod
    def of(cls, *paths: Iterable[str]) -> FieldSet:
        """From paths of elements: `FieldSet.of(("f:spec", "f:replicas"))`."""
        tree: Tree = {}
        for path in paths:
            node: Tree = {SELF: {}}
            for element in reversed(tuple(path)):
                node = {element: node}
            tree = union(tree, node)
        return cls(_compact(tree))

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __or__(self, other: FieldSet) -> FieldSet:
        return FieldSet(union(self.tree, other.tree))

    def __and__(self, other: FieldSet) -> FieldSet:
        return FieldSet(intersection(self.tree, other.tree))

    def __sub__(self, other: FieldSet) -> FieldSet:
        return FieldSet(difference(self.tree, other.tree))

    def without(self, other: FieldSet) -> FieldSet:
        """The set without `other`'s paths and everything below them."""
        return FieldSet(without(self.tree, other.tree))

    def __contains__(self, path: Iterable[str]) -> bool:
        node = self.tree
        for element in path:
            if element not in node:
                return False
            node = node[element]
        return node is not self.tree and is_member(node)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return paths(self.tree)


def is_member(node: Tree) -> bool:
    """Whether a node's own path is in the set."""
    return not node or SELF in node


def union(left: Tree, right: Tree) -> Tree:
    """Roots in, root out."""
    if not left or left is right:
        return right
    return _union(left, right) if right else left


def _union(left: Tree, right: Tree) -> Tree:
    if left is right:
        return left
    if not left:
        return right if is_member(right) else {SELF: {}, **right}
    if not right:
        return left if SELF in left else {SELF: {}, **left}
    merged = dict(left)
    for element, node in right.items():
        present = merged.get(element)
        merged[element] = node if present is None else _union(present, node)
    return merged


def intersection(left: Tree, right: Tree) -> Tree:
    """Roots in, root out."""
    return _children_in_both(left, right)


def _intersection(left: Tree, right: Tree) -> Tree | None:
    return made(_children_in_both(left, right), member=is_member(left) and is_member(right))


def _children_in_both(left: Tree, right: Tree) -> Tree:
    if len(left) > len(right):
        left, right = right, left
    both: Tree = {}
    for element, node in left.items():
        other = right.get(element)
        if other is not None and element != SELF and (kept := _intersection(node, other)) is not None:
            both[element] = kept
    return both


def difference(left: Tree, right: Tree) -> Tree:
    """Roots in, root out: the paths of `left` that are not themselves in `right`."""
    rest: Tree = {}
    for element, node in left.items():
        if element == SELF:
            continue
        other = right.get(element)
        kept = node if other is None else _difference(node, other)
        if kept is not None:
            rest[element] = kept
    return rest


def _difference(left: Tree, right: Tree) -> Tree | None:
    return made(difference(left, right), member=is_member(left) and not is_member(right))


def without(left: Tree, right: Tree) -> Tree:
    """Roots in, root out: `left` less the paths in `right` and all that is below those."""
    if not right:
        return left
    rest: Tree = {}
    for element, node in left.items():
        other = right.get(element)
        if element == SELF or (other is not None and is_member(other)):
            continue
        kept = node if other is None else made(without(node, other), member=is_member(node))
        if kept is not None:
            rest[element] = kept
    return rest


def made(children: Tree, *, member: bool) -> Tree | None:
    """The node with these children, in canonical form; None when nothing is in it."""
    if not children:
        return {} if member else None
    if member:
        children[SELF] = {}
    return children


def named(schema: Schema | None, tree: Tree) -> Tree:
    """The set with every declared field on the way to a member made a member too.

    Declared fields are structure: when nothing below one is left, it goes as well.
    """
    grown: Tree = {}
    for element, node in tree.items():
        if not node:
            grown[element] = node
            continue
        below = _below(schema, element)
        grown[element] = named(below, node)
        if (
            SELF not in node
            and schema is not None
            and element[:2] == "f:"
            and element[2:] in schema.properties
        ):
            grown[element][SELF] = {}
    return grown


def lost(schema: Schema | None, left: Tree, right: Tree) -> Tree:
    """`named(left)` less `named(right)`."""
    rest: Tree = {}
    for element, node in left.items():
        if element == SELF:
            continue
        other = right.get(element)
        if other is node:
            continue
        below = _below(schema, element)
        declared = schema is not None and element[:2] == "f:" and element[2:] in schema.properties
        mine = is_member(node) or declared
        if other is None:
            children = named(below, node)
            children.pop(SELF, None)
        else:
            children = lost(below, node, other)
            mine = mine and not (is_member(other) or declared)
        kept = made(children, member=mine)
        if kept is not None:
            rest[element] = kept
    return rest


def settled(schema: Schema | None, tree: Tree) -> Tree:
    """The set as the present schema has it: what became atomic is owned as a whole."""
    changed: Tree = {}
    for element, node in tree.items():
        below = _below(schema, element) if node else None
        if below is None:
            continue
        first = next((each for each in node if each != SELF), SELF)
        kind = below.map_type if first[0] == "f" else below.list_type
        now = {} if kind == "atomic" and first != SELF else settled(below, node)
        if now is not node:
            changed[element] = now
    return tree | changed if changed else tree


def _below(schema: Schema | None, element: str) -> Schema | None:
    if schema is None:
        return None
    return schema.child(element[2:]) if element[:2] == "f:" else (schema.items or Schema.ANY)


def paths(tree: Tree, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path of the set, in the server's order: the members of a node, then what is below each."""
    elements = sorted((each for each in tree if each != SELF), key=order)
    for element in elements:
        if is_member(tree[element]):
            yield (*prefix, element)
    for element in elements:
        if tree[element]:
            yield from paths(tree[element], (*prefix, element))


def _compact(tree: Tree) -> Tree:
    """A node whose only content is its own membership becomes an empty one."""
    return {element: {} if node.keys() <= {SELF} else _compact(node) for element, node in tree.items()}
