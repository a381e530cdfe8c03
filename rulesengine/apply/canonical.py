"""A desired object with its quantities as the server returns them ("1000m" as "1"). Pure.

Only for comparing: what is sent stays as it was written. Where the schema knows no quantity
(custom resources are stored word for word) nothing is touched.
"""

from __future__ import annotations

from rulesengine.core.json import Json
from rulesengine.schema import Schema
from rulesengine.schema.quantities import canonical


def canonicalized(schema: Schema, value: Json) -> Json:
    """`value` with canonical quantities; the very same value where there is none to change."""
    if schema.quantity:
        if type(value) not in (str, int, float):
            return value
        text = canonical(value)
        return value if text == value else text
    if type(value) is dict:
        changed = {
            key: new
            for key, each in value.items()
            if type(each) is not bool and (new := _below(schema, key, each)) is not each
        }
        return {**value, **changed} if changed else value
    if type(value) is list and schema.items is not None:
        items = [canonicalized(schema.items, each) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _below(schema: Schema, key: str, value: Json) -> Json:
    below = schema.child(key)
    return value if below is None or below is Schema.ANY else canonicalized(below, value)
