"""Whether an apply would change nothing, known without asking the server.

It would not when the fields we own already are exactly those we would own, in the same
version, and live contains what we want: atomic parts equal, items of shared lists in the
same relative order. Wrongly saying "nothing" would leave drift standing; wrongly saying
"something" costs one request. So every doubt says "something".
"""

from __future__ import annotations

from rulesengine.core import json
from rulesengine.core.json import Json, Object, same
from rulesengine.schema import Schema
from rulesengine.ssa.elements import Unidentified, of_item
from rulesengine.ssa.fieldset import SELF, FieldSet, Tree
from rulesengine.ssa.ownership import is_list, is_map
from rulesengine.ssa.prepare import Exactly, ListPlan, MapPlan, Prepared, identity

BEFORE_FIRST_APPLY = "before-first-apply"


def unchanged(prepared: Prepared, schema: Schema, live: Object, manager: str, subresource: str = "") -> bool:  # noqa: ARG001 - the plan in `prepared` was made along that schema
    """Whether applying `prepared` as `manager` would certainly leave `live` as it is."""
    plan = prepared.plan
    if plan is None:
        return False
    mine = None
    for each in live["metadata"].get("managedFields") or ():
        name = each.get("manager")
        if name == manager:
            if each.get("operation") == "Apply" and each.get("subresource", "") == subresource:
                mine = each
        elif name == BEFORE_FIRST_APPLY:
            return False
    return (
        mine is not None
        and mine.get("apiVersion") == prepared.object.get("apiVersion")
        and mine.get("fieldsV1") == prepared.fields.tree
        and _in_map(plan, live)
    )


def _in_map(plan: MapPlan, live: Json) -> bool:
    if plan.whole is not None and plan.whole == live:
        return True
    if type(live) is not dict or not plan.sure.items() <= live.items():
        return False
    for key, below in plan.maps:
        if not _in_map(below, live.get(key)):
            return False
    for key, items in plan.lists:
        if not _in_list(items, live.get(key)):
            return False
    return not plan.values or all(same(value, live.get(key)) for key, value in plan.values.items())


def _in_list(plan: ListPlan, live: Json) -> bool:
    """Every wanted item once, in the wanted relative order, and containing what is wanted of it."""
    if plan.whole is not None and plan.whole == live:
        return True
    if type(live) is not list:
        return False
    wanted, keys, defaults = plan.identities, plan.keys, plan.defaults
    position, count = 0, len(wanted)
    for item in live:
        if keys and type(item) is not dict:
            return False
        found = identity(item, keys, defaults)
        if position < count and found == wanted[position] and type(found) is type(wanted[position]):
            below = plan.items[position]
            if isinstance(below, Exactly):
                if not same(below.value, item):
                    return False
            elif below is not None and not _in_map(below, item):
                return False
            position += 1
        elif found in wanted:  # in another order, or twice
            return False
    return position == count


def owned_digest(schema: Schema, live: Object, fields: FieldSet) -> bytes:
    """16 bytes over the values that `live` has at `fields`, as the server wrote them."""
    return json.digest(_values(schema, live, fields.tree))


def _values(schema: Schema, live: Json, tree: Tree) -> Json:
    """The part of a value that the paths below it cover; presence alone where others may add to it."""
    if is_map(schema, live):
        part = {}
        for element, node in tree.items():
            key = element[2:]
            if element != SELF and key in live:
                part[element] = _values(schema.child(key) or Schema.ANY, live[key], node)
        return part
    if is_list(schema, live):
        items = schema.items or Schema.ANY
        return [
            [element, _values(items, item, tree[element])]
            for item in live
            if (element := _element(schema, item)) in tree
        ]
    return live


def _element(schema: Schema, item: Json) -> str:
    """The item's element, "" for one that has none: it is nobody's."""
    try:
        return of_item(schema, item)
    except Unidentified:
        return ""


def entry(live: Object, manager: str, subresource: str = "") -> Object | None:
    """A manager's managedFields entry for applies, None where it has none."""
    for each in live["metadata"].get("managedFields") or ():
        if (
            each.get("manager") == manager
            and each.get("operation") == "Apply"
            and each.get("subresource", "") == subresource
        ):
            found: Object = each
            return found
    return None
