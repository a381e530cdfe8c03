"""Patches other than apply: merge (RFC 7396), JSON (RFC 6902) and strategic merge.

All of them compute a new object and leave the old one as it was.
"""

from __future__ import annotations

import copy
from typing import Any

from rulesengine.core.json import Json, Object, same
from rulesengine.embedded.errors import Refused, bad_request
from rulesengine.schema import Schema
from rulesengine.ssa import diff

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = ("application/apply-patch+yaml", "application/apply-patch+json")


def merge(value: Json, patch: Json) -> Json:
    """RFC 7396: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for key, each in patch.items():
        if each is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), each)
    return result


def json_patch(value: Object, patch: Json) -> Object:
    """RFC 6902; the server tells no more than that it did not fit."""
    if not isinstance(patch, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    try:
        result = diff.apply_json_patch(value, patch)
    except diff.PatchError as error:
        raise Refused(
            422, "Invalid", "the server rejected our request due to an error in our request", {}
        ) from error
    if not isinstance(result, dict):
        raise Refused(422, "Invalid", "the server rejected our request due to an error in our request", {})
    return result


def strategic(schema: Schema, value: Object, patch: Object) -> Object:
    """Strategic merge patch by the schema's patch strategies and merge keys."""
    return _merge_map(schema, value, patch)


DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder/"
DELETE_PRIMITIVE = "$deleteFromPrimitiveList/"


def _merge_map(schema: Schema, value: Json, patch: Object) -> Object:
    directive = patch.get(DIRECTIVE)
    if directive == "replace":
        return {k: copy.deepcopy(v) for k, v in patch.items() if k != DIRECTIVE}
    if directive == "delete":
        return {}
    result = dict(value) if isinstance(value, dict) else {}
    if RETAIN in patch:
        result = {k: v for k, v in result.items() if k in patch[RETAIN]}
    for key, each in patch.items():
        if key.startswith(DELETE_PRIMITIVE):
            name = key.removeprefix(DELETE_PRIMITIVE)
            result[name] = [v for v in result.get(name) or () if not any(same(v, gone) for gone in each)]
    for key, each in patch.items():
        if key.startswith("$"):
            continue
        below = schema.child(key) or Schema.ANY
        if each is None:
            result.pop(key, None)
        elif isinstance(each, dict):
            result[key] = _merge_map(below, result.get(key), each)
        elif isinstance(each, list) and "merge" in below.strategic.split(","):
            result[key] = _merge_list(below, result.get(key) or [], each, patch.get(ORDER + key))
        else:
            result[key] = copy.deepcopy(each)
    for key, order in patch.items():
        name = key.removeprefix(ORDER)
        if key.startswith(ORDER) and name not in patch and name in result:
            below = schema.child(name) or Schema.ANY
            result[name] = _ordered(below, result[name], result[name], order)
    return {k: v for k, v in result.items() if not k.startswith("$")}


def _merge_list(schema: Schema, value: list[Any], patch: list[Any], order: list[Any] | None) -> list[Any]:
    key = schema.strategic_key
    if not key:
        added = [v for v in patch if not any(same(v, old) for old in value)]
        return _ordered(schema, [*value, *added], value, order or patch)
    if any(isinstance(each, dict) and each.get(DIRECTIVE) == "replace" for each in patch):
        return [copy.deepcopy(each) for each in patch if DIRECTIVE not in each]
    items = schema.items or Schema.ANY
    result = list(value)
    for each in patch:
        if not isinstance(each, dict) or key not in each:
            raise bad_request(f"map: does not contain declared merge key: {key}")
        found = next((i for i, old in enumerate(result) if same(old.get(key), each[key])), None)
        if each.get(DIRECTIVE) == "delete":
            result = [old for old in result if not same(old.get(key), each[key])]
        elif found is None:
            result.append(_merge_map(items, {}, each))
        else:
            result[found] = _merge_map(items, result[found], each)
    return _ordered(schema, result, value, order or patch)


def _ordered(schema: Schema, value: list[Any], live: list[Any], order: list[Any]) -> list[Any]:
    """Items that the patch names in its order; the others between them as the live list has them."""
    key = schema.strategic_key

    def mark(each: Any) -> Any:
        return each.get(key) if key and isinstance(each, dict) else each

    wanted, before = [mark(each) for each in order], [mark(each) for each in live]
    right = sorted((v for v in value if mark(v) in wanted), key=lambda v: wanted.index(mark(v)))
    left = [v for v in value if mark(v) not in wanted]
    merged: list[Any] = []
    while left and right:
        first, second = mark(left[0]), mark(right[0])
        known = first in before and second in before
        merged.append((left if known and before.index(first) < before.index(second) else right).pop(0))
    return [*merged, *left, *right]
