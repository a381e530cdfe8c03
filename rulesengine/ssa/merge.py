"""Merging an apply configuration into a live value, and taking fields out of a value.

Neither changes what it is given. Results share every part that stayed as it was, which is
most of an object most of the time: whoever compares afterwards sees that by identity, and
whoever hands a result out copies it once (`copied`).
"""

from __future__ import annotations

import operator
from typing import Any

from rulesengine.core import json
from rulesengine.core.json import Json, Object, same
from rulesengine.schema import Schema
from rulesengine.ssa.elements import of_item
from rulesengine.ssa.fieldset import Tree, is_member
from rulesengine.ssa.ownership import is_list, is_map

_ABSENT: Any = object()
_TWICE: Any = object()  # in the place of items that live has more than once: none of them is merged


def copied(obj: Object) -> Object:
    """An object that shares no container with the original."""
    return json.decode_object(json.encode(obj))


def merged(schema: Schema, live: Json, config: Json) -> Json:
    """The live value with what `config` says; `live` itself where that changes nothing."""
    if is_map(schema, config):
        return _maps(schema, live if type(live) is dict else {}, config, live)
    if is_list(schema, config):
        result = _lists(schema, live if type(live) is list else [], config)
        return live if result == [] == live else result
    if config is None:
        shared = is_map(schema, live) or (schema.type == "array" and is_list(schema, live))
        return live if live and shared else None  # a null takes nothing from a shared container
    return live if same(live, config) else config


def _maps(schema: Schema, live: Object, config: Object, original: Json) -> Object:
    result = live
    properties = schema.properties
    for key, value in config.items():
        old = live.get(key, _ABSENT)
        if old is _ABSENT:
            new = value
        elif type(value) is str:
            if value == old:
                continue
            new = value
        else:
            new = merged(properties.get(key) or schema.child(key) or Schema.ANY, old, value)
            if new is old:
                continue
        if result is live:
            result = dict(live)
        result[key] = new
    return result if type(original) is dict else dict(result)


def _lists(schema: Schema, live: list[Json], config: list[Json]) -> list[Json]:
    """Items of live stay where they are; those that are shared come in the configuration's order.

    Both lists are walked at once. A live-only item is taken when met. A shared one waits
    until it is the next shared one of the configuration; configuration-only ones go before
    the item they precede there, unless live-only ones are still to be taken.
    """
    items = schema.items or Schema.ANY
    places = [of_item(schema, each) for each in live]
    wanted = {of_item(schema, each): each for each in config}
    order = list(wanted)
    present: dict[str, Json] = {}
    for element, each in zip(places, live, strict=True):
        present[element] = each if element not in present else _TWICE
    shared = [element for element in order if element in present]

    result: list[Json] = []
    taken: set[str] = set()
    left = right = following = 0

    def take(element: str) -> None:
        old = present.get(element, _TWICE)
        new = wanted[element]
        result.append(new if old is _TWICE else merged(items, old, new))
        taken.add(element)

    while left < len(places) or right < len(order):
        both = left < len(places) and right < len(order)
        if both and places[left] == order[right]:
            take(order[right])
            left, right, following = left + 1, right + 1, following + 1
            continue
        if both and places[left] in wanted and following < len(shared) and shared[following] != places[left]:
            left += 1  # shared, but not its turn
            continue
        if left < len(places):
            if places[left] not in wanted:
                result.append(live[left])
                left += 1
                continue
            if places[left] in taken:
                left += 1
        if right < len(order):
            if following < len(shared) and shared[following] == order[right]:
                following += 1
            take(order[right])
            right += 1
    same_items = len(result) == len(live) and all(map(operator.is_, result, live))
    return live if same_items else result


def removed(schema: Schema, value: Json, fields: Tree) -> Json:
    """`value` without the items and keys in `fields`; None when nothing of it is left."""
    if not value:
        return value  # there was nothing to take
    if is_map(schema, value):
        kept = {}
        for key, each in value.items():
            node = fields.get("f:" + key)
            if node is None:
                kept[key] = each
            elif not is_member(node):
                kept[key] = removed(schema.properties.get(key) or schema.child(key) or Schema.ANY, each, node)
        return kept or None
    if is_list(schema, value):
        items = schema.items or Schema.ANY
        rest = []
        for each in value:
            node = fields.get(of_item(schema, each))
            if node is None:
                rest.append(each)
            elif not is_member(node):
                rest.append(removed(items, each, node))
        return rest or None
    return value
