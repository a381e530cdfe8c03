"""A desired object made ready for comparing: what it owns, and a plan to look for it in live.

Both come from one walk along the schema, so that the check itself (noop) asks no schema any
more. Preparing never refuses: what cannot be compared for certain makes the result
inconclusive, and the server is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rulesengine.core import json
from rulesengine.core.json import Json, Object
from rulesengine.schema import Schema
from rulesengine.ssa.elements import Unidentified, of_item
from rulesengine.ssa.fieldset import SELF, FieldSet, Tree
from rulesengine.ssa.ownership import is_list, is_map, stripped


@dataclass(frozen=True, slots=True)
class MapPlan:
    """What a map must contain, by how it is compared.

    `sure` are scalars and atomic parts for which Python's `==` is the server's equality;
    `values` are those where it could take True for 1. `whole` is the map itself where `==`
    is sure for everything in it: then equal maps need no further look.
    """

    whole: Object | None
    sure: Object
    values: Object
    maps: tuple[tuple[str, MapPlan], ...]
    lists: tuple[tuple[str, ListPlan], ...]


@dataclass(frozen=True, slots=True)
class Exactly:
    """An atomic item of a keyed list (an owner reference): all of it is as wanted, or it is not."""

    value: Json


@dataclass(frozen=True, slots=True)
class ListPlan:
    """The items a keyed list or set must contain, in this relative order."""

    whole: list[Json] | None
    keys: tuple[str, ...]  # none: a set
    defaults: tuple[Json, ...]
    identities: tuple[Any, ...]
    items: tuple[MapPlan | Exactly | None, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """`object` as it would be applied, the `fields` it would own, and how to find it in live.

    `plan` None: something in it cannot be compared for certain.
    """

    object: Object
    fields: FieldSet
    plan: MapPlan | None = field(repr=False)

    @property
    def digest(self) -> bytes:
        """16 bytes over the desired object."""
        return json.digest(self.object)


class _Inconclusive(Exception):
    """Leaves the walk, never this module."""


_Walked: TypeAlias = tuple[Tree, MapPlan]


def prepare(schema: Schema, desired: Object, *, reset: FieldSet | None = None) -> Prepared:
    """`reset` are the fields that the server ignores where this is applied (ssa.resets)."""
    try:
        tree, plan = _map(schema, desired)
    except (_Inconclusive, Unidentified):
        return Prepared(desired, FieldSet(), None)
    fields = FieldSet(stripped(tree))
    if reset:
        kept = fields.without(reset)
        if kept.tree != fields.tree:
            return Prepared(desired, kept, None)
    return Prepared(desired, fields, plan)


def _map(schema: Schema, value: Object) -> _Walked:
    tree: Tree = {}
    sure: Object = {}
    values: Object = {}
    maps: list[tuple[str, MapPlan]] = []
    lists: list[tuple[str, ListPlan]] = []
    whole = True
    properties = schema.properties
    for key, each in value.items():
        declared = properties.get(key)
        kind = type(each)
        if kind is str:
            sure[key] = each
            tree["f:" + key] = {}
            continue
        if each is None:
            raise _Inconclusive
        below = declared if declared is not None else schema.child(key) or Schema.ANY
        node: Tree = {}
        if kind is dict and is_map(below, each):
            node, map_plan = _map(below, each)
            maps.append((key, map_plan))
            whole = whole and map_plan.whole is not None
        elif kind is list and is_list(below, each):
            node, list_plan = _list(below, each)
            lists.append((key, list_plan))
            whole = whole and list_plan.whole is not None
        elif _sure(below, each):
            sure[key] = each
        else:
            values[key] = each
        if node:
            if declared is None:
                node[SELF] = {}
        elif declared is not None and _owns_nothing(below, each):
            continue
        tree["f:" + key] = node
    whole = whole and not values
    return tree, MapPlan(value if whole else None, sure, values, tuple(maps), tuple(lists))


def _owns_nothing(schema: Schema, value: Json) -> bool:
    """Whether a value in which nothing is owned is not owned itself either: an empty map is."""
    return (bool(value) and is_map(schema, value)) or is_list(schema, value)


def _list(schema: Schema, value: list[Json]) -> tuple[Tree, ListPlan]:
    tree: Tree = {}
    identities: list[Any] = []
    plans: list[MapPlan | Exactly | None] = []
    keys = schema.list_keys if schema.list_type == "map" else ()
    defaults = tuple(schema.key_defaults.get(key) for key in keys)
    items = schema.items or Schema.ANY
    whole = True
    for each in value:
        element = of_item(schema, each)
        if element in tree:
            raise _Inconclusive  # the server refuses duplicates
        node: Tree = {}
        plan: MapPlan | Exactly | None = None
        if keys and is_map(items, each):
            node, plan = _map(items, each)
            whole = whole and plan.whole is not None
            if node:
                node[SELF] = {}
        else:
            plan = Exactly(each) if keys else None
            whole = whole and _sure(items, each)
        tree[element] = node
        identities.append(identity(each, keys, defaults))
        plans.append(plan)
    return tree, ListPlan(value if whole else None, keys, defaults, tuple(identities), tuple(plans))


def identity(item: Json, keys: tuple[str, ...], defaults: tuple[Json, ...]) -> Any:
    """What tells an item from the others of its list, cheaply; keys are scalars."""
    if not keys:
        return item
    if len(keys) == 1:
        return item.get(keys[0], defaults[0])
    return tuple([item.get(key, default) for key, default in zip(keys, defaults, strict=True)])


def _sure(schema: Schema, value: Json) -> bool:
    """Whether `==` with what live has here is sure: both are of the one type the schema allows.

    Live objects fit the schema, since the server validated them; Python takes True, 1 and
    1.0 for equal, which only an untyped value can mix up.
    """
    kind = type(value)
    if kind is str:
        return True
    if kind is int:
        return schema.type == "integer" or schema.int_or_string
    if kind is bool:
        return schema.type == "boolean"
    if kind is list:
        items = schema.items or Schema.ANY
        return all(_sure(items, each) for each in value)
    if kind is dict:
        return all(_sure(schema.child(key) or Schema.ANY, each) for key, each in value.items())
    return False
