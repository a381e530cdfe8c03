"""One step of a field path: how list items are identified, written, ordered and shown.

Texts must equal the server's byte for byte: keys of fieldsV1 are compared as strings. The
server writes the JSON inside them with Go's encoder, which escapes `&`, `<` and `>`.
"""

from __future__ import annotations

import re
from typing import Any

from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Json
from rulesengine.schema import Schema

_ESCAPED = str.maketrans(
    {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_SIMPLE = re.compile(r"[A-Za-z0-9 _./:=@,+-]*").fullmatch  # what JSON writes as it is
_MISSING = object()


class Unidentified(RulesEngineError):
    """A list item that its list cannot tell from the others; the message is the server's."""


def of_item(schema: Schema, item: Json) -> str:
    """The element that identifies an item of a set or keyed list. Raises Unidentified."""
    if schema.list_type == "set":
        return "v:" + text(_set_item(item))
    keys = schema.list_keys
    if len(keys) == 1 and type(item) is dict:  # nearly every list; the same text as below, quicker
        value = item.get(keys[0])
        if type(value) is str and _SIMPLE(value):
            return f'k:{{"{keys[0]}":"{value}"}}'
    return "k:" + text(dict(sorted(_keys(schema, item))))


def _set_item(item: Json) -> Json:
    if item is None:
        raise Unidentified("associative list without keys has an element that's an explicit null")
    if isinstance(item, dict):
        raise Unidentified("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise Unidentified("not supported: associative list with lists as elements")
    return item


def _keys(schema: Schema, item: Json) -> list[tuple[str, Json]]:
    if item is None:
        raise Unidentified("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise Unidentified("associative list with keys may not have non-map elements")
    keys = []
    for name in schema.list_keys:
        value = item.get(name, _MISSING)
        if value is _MISSING:
            value = schema.key_defaults.get(name, _MISSING)
        if value is not _MISSING:
            keys.append((name, value))
    if not keys:
        names = " ".join(quoted(name) for name in schema.list_keys)
        raise Unidentified(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return keys


def text(value: Json) -> str:
    """JSON as the server writes it inside a path element."""
    if type(value) is str and _SIMPLE(value):
        return f'"{value}"'
    return json.encode(value).decode().translate(_ESCAPED)


def shown(path: tuple[str, ...]) -> str:
    """A path as the server prints it: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(_shown(element) for element in path)


def _shown(element: str) -> str:
    kind, rest = element[0], element[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "i":
        return f"[{rest}]"
    value = json.decode(rest)
    if kind == "v":
        return f"[={_printed(value)}]"
    return "[" + ",".join(f"{name}={_printed(each)}" for name, each in value.items()) + "]"


def _printed(value: Json) -> str:
    """A value as the server prints it in paths: strings quoted, the rest plain."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "".join(f"{name}={_printed(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "[" + ",".join(_printed(each) for each in value) + "]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def quoted(value: str) -> str:
    """A string in quotes with the escapes of Go's %q, as far as they occur in names."""
    return json.encode(value).decode()


def order(element: str) -> tuple[Any, ...]:
    """A sort key: fields, then keyed items, values, indexes; each by its content."""
    kind, rest = element[0], element[2:]
    if kind == "f":
        return (0, rest)
    if kind == "i":
        return (3, int(rest))
    value = json.decode(rest)
    if kind == "k":
        return (1, tuple((name, _rank(each)) for name, each in value.items()))
    return (2, _rank(value))


def _rank(value: Json) -> tuple[int, Any]:
    """Numbers before strings before booleans before the rest."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, text(value))
