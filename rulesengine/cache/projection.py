"""The part of an object that rules read, kept ready and comparable.

From the paths that rules read comes a generated msgspec Struct whose leaves stay undecoded
bytes (`Raw`) and whose absent fields are omitted: decoding skips everything else, and
encoding gives the projection as compact JSON. Two projections with equal bytes are equal
without being decoded; that is how an update nobody cares about is dropped.

Paths end at the first "*" here: the list or map it stands in is kept whole. An object whose
shape contradicts the paths (a string where they expect an object) is projected by plain
Python instead, never refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from rulesengine.core import json
from rulesengine.core.json import Json, Object

FieldPath: TypeAlias = tuple[str, ...]
Tree: TypeAlias = dict[str, "Tree"]

ANY = "*"
ABSENT = object()
# moves with every write, whatever was written
RESTLESS = ("managedFields", "resourceVersion")


class Projection:
    """What is kept of the objects of one kind for a set of paths. Equal sets, equal projections.

    `whole`: some rule reads the whole object, so nothing is kept apart from it.
    """

    __slots__ = ("_decoder", "_tree", "paths", "whole")

    def __init__(self, paths: Iterable[FieldPath] = ()) -> None:
        self.paths = _shortest(paths)
        self.whole = () in self.paths
        self._tree = _tree(self.paths)
        self._decoder: msgspec.json.Decoder[Any] | None = None
        if self._tree and not self.whole:
            self._decoder = msgspec.json.Decoder(_struct(self._tree, "Projected"))

    def covers(self, paths: Iterable[FieldPath]) -> bool:
        """Whether everything these paths read is kept."""
        return all(any(_cut(path)[: len(kept)] == kept for kept in self.paths) for path in paths)

    def project(self, raw: bytes | memoryview) -> bytes:
        """The kept part of an object, as compact JSON; b"" when nothing is kept apart."""
        if self._decoder is None:
            return b""
        try:
            return msgspec.json.encode(self._decoder.decode(raw))
        except msgspec.ValidationError:
            return json.encode(picked(json.decode(bytes(raw)), self._tree))


def picked(value: Json, tree: Tree) -> Json:
    """The part of a decoded value that a tree of paths names."""
    if not tree or not isinstance(value, dict):
        return value
    return {key: picked(value[key], below) for key, below in tree.items() if key in value}


def differ(old: Object, new: Object, paths: Iterable[FieldPath]) -> bool:
    """Whether any of the paths leads to something else; order and kind of values count."""
    for path in paths:
        before, after = (calm(old), calm(new)) if path == () else (at(old, path), at(new, path))
        if before is ABSENT or after is ABSENT:
            if before is not after:
                return True
        elif not json.same(before, after):
            return True
    return False


def at(value: Json, path: FieldPath) -> Json:
    """What a path leads to, ABSENT where it leads nowhere; "*" gives the values of all elements."""
    for index, key in enumerate(path):
        if key == ANY:
            rest = path[index + 1 :]
            if isinstance(value, Mapping):
                found = {name: at(element, rest) for name, element in value.items()}
                return {name: element for name, element in found.items() if element is not ABSENT}
            if isinstance(value, list):
                # None in place of an absent element keeps the positions of the others
                return [None if (found := at(e, rest)) is ABSENT else [found] for e in value]
            return ABSENT
        if not isinstance(value, Mapping) or key not in value:
            return ABSENT
        value = value[key]
    return value


def calm(value: Object) -> Object:
    """An object without what moves on every write."""
    meta = value.get("metadata")
    if not isinstance(meta, dict):
        return value
    return {**value, "metadata": {k: v for k, v in meta.items() if k not in RESTLESS}}


def _cut(path: FieldPath) -> FieldPath:
    return path[: path.index(ANY)] if ANY in path else path


def _shortest(paths: Iterable[FieldPath]) -> frozenset[FieldPath]:
    """The paths cut at "*", without those that lie below another."""
    kept = {_cut(path) for path in paths}
    return frozenset(p for p in kept if not any(p[:n] in kept for n in range(len(p))))


def _tree(paths: Iterable[FieldPath]) -> Tree:
    tree: Tree = {}
    for path in sorted(paths):
        level = tree
        for key in path:
            level = level.setdefault(key, {})
    return tree


def _struct(tree: Tree, name: str) -> type[msgspec.Struct]:
    """A Struct with generated field names: keys of objects need not be identifiers."""
    fields = []
    names = {}
    for number, (key, below) in enumerate(tree.items()):
        names[f"f{number}"] = key
        kind: Any = Raw if not below else _struct(below, f"{name}_{number}") | None
        fields.append((f"f{number}", kind | UnsetType, UNSET))
    return msgspec.defstruct(name, fields, rename=names, gc=False)
