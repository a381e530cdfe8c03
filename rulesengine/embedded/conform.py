"""Objects made to fit their schema: unknown fields found and dropped, defaults filled in.

Custom resources follow the rules of structural schemas. Built-in kinds are Go structs on a
real server, which shows: a null is the same as nothing, an empty default is no default, and
an object type without properties takes anything.
"""

from __future__ import annotations

import copy
from typing import Any

from rulesengine.core.json import Object
from rulesengine.schema import MISSING, Schema

IDENTITY = frozenset(("apiVersion", "kind", "metadata"))


def prune(schema: Schema, body: Object, *, custom: bool) -> list[str]:
    """Drops unknown fields from `body` in place; returns their paths in the server's notation."""
    unknown: list[str] = []
    _prune(schema, body, "", unknown, custom, root=True)
    return unknown


def _prune(schema: Schema, value: Any, path: str, unknown: list[str], custom: bool, *, root: bool) -> None:
    if isinstance(value, list):
        if schema.items is not None:
            for index, each in enumerate(value):
                _prune(schema.items, each, f"{path}[{index}]", unknown, custom, root=False)
        return
    if not isinstance(value, dict):
        return
    properties, additional = schema.properties, schema.additional
    closed = bool(properties) or (custom and schema.type == "object")
    keeps = schema.preserve_unknown or additional is not None or not closed
    resource = root or schema.embedded_resource
    for key in sorted(value) if custom else list(value):
        known = properties.get(key, additional)
        below = f"{path}.{key}" if path else key
        if known is not None:
            strictly = custom and not (resource and key == "metadata")
            _prune(known, value[key], below, unknown, strictly, root=False)
        elif not keeps and not (resource and key in IDENTITY):
            unknown.append(below)
            del value[key]


def default(schema: Schema, body: Object, *, custom: bool) -> None:
    """Fills in what the schema states, in place."""
    if custom:
        _default_custom(schema, body, root=True)
    else:
        _default_builtin(schema, body)


def _default_custom(schema: Schema, value: Any, *, root: bool = False) -> None:
    if isinstance(value, dict):
        for key, each in schema.properties.items():
            if root and key in IDENTITY:
                continue
            present = key in value
            if present and value[key] is None and not each.nullable:
                del value[key]
                present = False
            if not present and each.default is not MISSING:
                value[key] = copy.deepcopy(each.default)
        for key, child in value.items():
            known = schema.properties.get(key, schema.additional)
            if known is not None and not (root and key in IDENTITY):
                _default_custom(known, child)
    elif isinstance(value, list) and schema.items is not None:
        for each in value:
            _default_custom(schema.items, each)


def _default_builtin(schema: Schema, value: Any) -> None:
    if isinstance(value, dict):
        for key, each in schema.properties.items():
            if key not in value and each.default is not MISSING and _tells(each.default):
                value[key] = copy.deepcopy(each.default)
        for key, child in value.items():
            known = schema.properties.get(key, schema.additional)
            if known is not None and isinstance(child, (dict, list)):
                _default_builtin(known, child)
    elif isinstance(value, list) and schema.items is not None:
        for each in value:
            _default_builtin(schema.items, each)


def _tells(value: Any) -> bool:
    """Whether a stated default is more than the zero value that a Go struct has anyway."""
    return value not in ({}, [], "", 0, False, None)


def drop_nulls(value: Any) -> None:
    """Removes keys whose value is null, at any depth; nulls in lists stay."""
    if isinstance(value, dict):
        for key in [key for key, each in value.items() if each is None]:
            del value[key]
        for each in value.values():
            drop_nulls(each)
    elif isinstance(value, list):
        for each in value:
            drop_nulls(each)
