"""Built-in objects as Go structs see them, which is how a real server reads and writes them.

A struct cannot tell an empty list, map or string from one that was not given (pointers can),
and it writes what has no `omitempty` even when it is empty. Quantities come back in their
canonical form. So what a client reads is not what it sent; the engine has to live with that,
and here it can be tried.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from rulesengine.core import json
from rulesengine.core.json import Json, Object
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import builtin
from rulesengine.schema.quantities import canonical, canonical_resource

FILE = f"structs-{builtin.VERSION}.json.gz"
MESSAGE = "M:"


class Field(NamedTuple):
    """A field of a struct. `shape`: a letter, a message, `[` a list of, `{` a map of.

    `name` is "" for a part whose fields are the parent's own in JSON. `omitted`: "empty" or
    "zero" as the JSON tag says, "" for fields that are always written.
    """

    name: str
    number: int
    shape: str
    pointer: bool
    omitted: str


@cache
def data() -> Object:
    packed = (Path(__file__).parent / "data" / FILE).read_bytes()
    return json.decode_object(gzip.decompress(packed))


def message_of(api_version: str, kind: str) -> str | None:
    found: str | None = data()["kinds"].get(f"{api_version} {kind}") or data()["kinds"].get(kind)
    return found


@cache
def fields(message: str) -> tuple[Field, ...]:
    return tuple(
        Field(e["k"], e["n"], e["t"], e.get("p", False), e.get("o", "")) for e in data()["messages"][message]
    )


@cache
def _by_name(message: str) -> Mapping[str, Field]:
    """Fields by JSON name, with those of inlined parts."""
    found: dict[str, Field] = {}
    for each in fields(message):
        if each.name:
            found[each.name] = each
        else:
            found |= _by_name(each.shape.removeprefix(MESSAGE))
    return found


@lru_cache(maxsize=256)
def _message(gvk: GroupVersionKind) -> str | None:
    return message_of(gvk.api_version, gvk.kind)


def reduce(gvk: GroupVersionKind, body: Object) -> None:
    """Drops what a struct cannot hold, and makes quantities canonical, in place."""
    message = _message(gvk)
    if message is not None:
        _reduce(message, body)


META = "apimachinery/pkg/apis/meta/v1.ObjectMeta"


def reduce_metadata(meta: Object) -> None:
    """The same for the metadata of a custom resource."""
    _reduce(META, meta)


def _reduce(message: str, body: Object) -> None:
    known = _by_name(message)
    for key in list(body):
        field = known.get(key)
        if field is None:
            continue
        value = body[key] = _reduced(field.shape, body[key])
        if field.omitted and not field.pointer and _is_zero(field.shape, value):
            del body[key]


def _reduced(shape: str, value: Json) -> Json:
    if shape[0] in "[<" and isinstance(value, list):
        inner = shape.lstrip("<")[1:]
        return [_reduced(inner, _zero(inner) if each is None else each) for each in value]
    if shape == "{q" and isinstance(value, dict):
        return {key: canonical_resource(each) for key, each in value.items()}
    if shape[0] == "{" and isinstance(value, dict):
        return {key: _reduced(shape[1:], each) for key, each in value.items()}
    if shape.startswith(MESSAGE) and isinstance(value, dict):
        _reduce(shape.removeprefix(MESSAGE), value)
    elif shape == "q" and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return canonical(value)
    return value


def _zero(shape: str) -> Json:
    """What a null becomes as an item of a list."""
    if shape.startswith(MESSAGE) or shape[0] == "{":
        return {}
    return [] if shape[0] in "[<" else _ZEROS.get(shape)


def _is_zero(shape: str, value: Json) -> bool:
    if shape.startswith(MESSAGE) or shape in ("x", "r", "q"):
        return False  # structs are written even when empty
    return value in ("", [], {}) or (shape in "ibd" and not value)


def complete(gvk: GroupVersionKind, body: Object) -> None:
    """Adds what a struct writes whether it was given or not, in place."""
    message = _message(gvk)
    if message is not None:
        _complete(message, body)


def _complete(message: str, body: Object) -> None:
    for name, field in _by_name(message).items():
        if name in body:
            _complete_value(field.shape, body[name])
        elif field.pointer or field.omitted == "zero" or name == "metadata":
            continue
        elif field.shape.startswith(MESSAGE):
            part: Object = {}
            _complete(field.shape.removeprefix(MESSAGE), part)
            body[name] = part
        elif field.shape in ("t", "m"):
            body[name] = None  # structs, too: omitempty does not leave them out
        elif not field.omitted and field.shape in _ZEROS:
            body[name] = _ZEROS[field.shape]
        elif not field.omitted and field.shape[0] in "[{<":
            body[name] = None


def _complete_value(shape: str, value: Any) -> None:
    if shape[0] in "[<" and isinstance(value, list):
        inner = shape.lstrip("<")[1:]
        for each in value:
            _complete_value(inner, each)
    elif shape[0] == "{" and isinstance(value, dict):
        for each in value.values():
            _complete_value(shape[1:], each)
    elif shape.startswith(MESSAGE) and isinstance(value, dict):
        _complete(shape.removeprefix(MESSAGE), value)


_ZEROS: dict[str, Json] = {"s": "", "i": 0, "b": False, "d": 0, "q": "0", "x": 0}
