"""What differs between two states of an object, as sets of paths along its schema.

Shared containers are entered, everything else is compared as a whole. What appears or goes
counts with every path in it, so that owners of parts and owners of the whole both notice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rulesengine.core.json import Json, Object
from rulesengine.schema import Schema
from rulesengine.ssa.elements import of_item
from rulesengine.ssa.fieldset import Tree, union, without
from rulesengine.ssa.ownership import every, is_list, is_map

_ABSENT: Any = object()


@dataclass(slots=True)
class Comparison:
    """Three sets of paths: only after, in both with other values, only before."""

    added: Tree = field(default_factory=dict)
    modified: Tree = field(default_factory=dict)
    removed: Tree = field(default_factory=dict)

    @property
    def written(self) -> Tree:
        return union(self.added, self.modified)

    def without(self, fields: Tree) -> Comparison:
        return Comparison(*(without(each, fields) for each in (self.added, self.modified, self.removed)))


def compare(schema: Schema, before: Object, after: Object) -> Comparison:
    """The differences below the root."""
    found = Comparison()
    _maps(schema, before, after, found)
    return found


def equal(left: Json, right: Json) -> bool:
    """Equality as the server has it: numbers by value, booleans are no numbers."""
    if left is right:
        return True
    if type(left) is dict:
        return (
            type(right) is dict
            and len(left) == len(right)
            and all(key in right and equal(value, right[key]) for key, value in left.items())
        )
    if type(left) is list:
        return type(right) is list and len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right) and (type(left) is bool) == (type(right) is bool)


def _value(schema: Schema, element: str, before: Json, after: Json, found: Comparison) -> None:
    """Compares the values at one element, entering what differs into `found`."""
    if before is after:
        return
    if before is _ABSENT:
        found.added[element] = every(schema, after)
    elif after is _ABSENT:
        found.removed[element] = every(schema, before)
    else:
        below = Comparison()
        whole = _present(schema, before, after, below)
        if whole:
            found.modified[element] = {".": {}, **below.modified} if below.modified else {}
        elif below.modified:
            found.modified[element] = below.modified
        if below.added:
            found.added[element] = below.added
        if below.removed:
            found.removed[element] = below.removed


def _present(schema: Schema, before: Json, after: Json, below: Comparison) -> bool:
    """Compares two values that both are there; true when the value itself is modified."""
    sides = [_side(schema, before), _side(schema, after)]
    kinds = {kind for kind, _ in sides if kind != "null"}
    if len(kinds) == 2:  # an untyped value became one of another kind
        for (kind, _), old, new in ((sides[0], before, _ABSENT), (sides[1], _ABSENT, after)):
            _contents(schema, kind, old, new, below)
        return "leaf" in kinds
    kind = kinds.pop() if kinds else "leaf"
    if kind == "leaf" or not (before or after):
        return not equal(before, after)
    _contents(schema, kind, before, after, below)
    return False


def _side(schema: Schema, value: Json) -> tuple[str, Json]:
    if value is None:
        return "null", value
    if is_map(schema, value):
        return "map", value
    return ("list" if is_list(schema, value) else "leaf"), value


def _contents(schema: Schema, kind: str, before: Json, after: Json, below: Comparison) -> None:
    if kind == "map":
        _maps(schema, _or(before, {}), _or(after, {}), below)
    elif kind == "list":
        _lists(schema, _or(before, []), _or(after, []), below)


def _or(value: Json, empty: Json) -> Json:
    return empty if value is _ABSENT or value is None else value


def _maps(schema: Schema, before: Object, after: Object, found: Comparison) -> None:
    properties = schema.properties
    for key, old in before.items():
        new = after.get(key, _ABSENT)
        if new is old:
            continue
        if type(old) is str and type(new) is str:
            if old != new:
                found.modified["f:" + key] = {}
            continue
        _value(properties.get(key) or schema.child(key) or Schema.ANY, "f:" + key, old, new, found)
    for key, new in after.items():
        if key not in before:
            found.added["f:" + key] = every(properties.get(key) or schema.child(key) or Schema.ANY, new)


def _lists(schema: Schema, before: list[Json], after: list[Json], found: Comparison) -> None:
    items = schema.items or Schema.ANY
    old, new = _by_element(schema, before), _by_element(schema, after)
    for element in {**old, **new}:
        left, right = old.get(element, []), new.get(element, [])
        if len(left) <= 1 and len(right) <= 1:
            _value(items, element, left[0] if left else _ABSENT, right[0] if right else _ABSENT, found)
        else:
            _duplicates(items, element, left, right, found)


def _duplicates(items: Schema, element: str, old: list[Json], new: list[Json], found: Comparison) -> None:
    """Items that occur more than once are one value together; single ones come and go as usual."""
    if len(old) > 1 and len(new) > 1:
        if not equal(old, new):
            found.modified[element] = {}
    elif len(old) > 1:
        if new:
            found.added[element] = every(items, new[0])
        found.removed[element] = {}
    else:
        if old:
            found.removed[element] = every(items, old[0])
        found.added[element] = {}


def _by_element(schema: Schema, values: list[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for each in values:
        found.setdefault(of_item(schema, each), []).append(each)
    return found
