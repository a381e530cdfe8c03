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

    `texts` are strings (nothing else equals a string), `values` other scalars and atomic
    parts, compared by type too; `plain` atomic parts hold nothing but strings inside.
    """

    texts: Object
    plain: Object
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
    texts: Object = {}
    plain: Object = {}
    values: Object = {}
    maps: list[tuple[str, MapPlan]] = []
    lists: list[tuple[str, ListPlan]] = []
    properties = schema.properties
    for key, each in value.items():
        declared = properties.get(key)
        kind = type(each)
        if kind is str:
            texts[key] = each
            node: Tree = {}
        elif kind is dict or kind is list:
            below = declared if declared is not None else schema.child(key) or Schema.ANY
            if kind is dict and is_map(below, each):
                node, map_plan = _map(below, each)
                maps.append((key, map_plan))
                if not node and declared is not None and each:
                    continue
            elif kind is list and is_list(below, each):
                node, list_plan = _list(below, each)
                lists.append((key, list_plan))
                if not node and declared is not None:
                    continue
            else:
                (plain if _texts_only(each) else values)[key] = each
                node = {}
            if node and declared is None:
                node[SELF] = {}
        elif each is None:
            raise _Inconclusive
        else:
            values[key] = each
            node = {}
        tree["f:" + key] = node
    return tree, MapPlan(texts, plain, values, tuple(maps), tuple(lists))


def _list(schema: Schema, value: list[Json]) -> tuple[Tree, ListPlan]:
    tree: Tree = {}
    identities: list[Any] = []
    plans: list[MapPlan | Exactly | None] = []
    keys = schema.list_keys if schema.list_type == "map" else ()
    defaults = tuple(schema.key_defaults.get(key) for key in keys)
    items = schema.items or Schema.ANY
    for each in value:
        element = of_item(schema, each)
        if element in tree:
            raise _Inconclusive  # the server refuses duplicates
        node: Tree = {}
        plan: MapPlan | Exactly | None = None
        if keys and is_map(items, each):
            node, plan = _map(items, each)
            if node:
                node[SELF] = {}
        elif keys:
            plan = Exactly(each)
        tree[element] = node
        identities.append(identity(each, keys, defaults))
        plans.append(plan)
    return tree, ListPlan(keys, defaults, tuple(identities), tuple(plans))


def identity(item: Json, keys: tuple[str, ...], defaults: tuple[Json, ...]) -> Any:
    """What tells an item from the others of its list, cheaply; keys are scalars."""
    if not keys:
        return item
    if len(keys) == 1:
        return item.get(keys[0], defaults[0])
    return tuple([item.get(key, default) for key, default in zip(keys, defaults, strict=True)])


def _texts_only(value: Json) -> bool:
    """Whether there are only strings below: Python's `==` then cannot take True for 1."""
    if type(value) is str:
        return True
    if type(value) is list:
        return all(map(_texts_only, value))
    return type(value) is dict and all(map(_texts_only, value.values()))
