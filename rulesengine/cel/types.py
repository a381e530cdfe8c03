"""CEL types, and how schemas become types.

An object with a schema has kind "object": its fields are known and typed. What no schema
describes is `dyn`, and is checked when it is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rulesengine.cel.reserved import RESERVED
from rulesengine.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """`kind`: bool, int, uint, double, string, bytes, null, dyn, timestamp, duration, type, list,
    map, optional, object, record, param (a type parameter, `name`), opaque (`name`), error.

    `params` of list, map, optional, type and opaque ones. `schema` of object, `fields` of record
    (named values of any type). Objects are equal when their schemas are.
    """

    kind: str
    params: tuple[Type, ...] = ()
    name: str = ""
    schema: Schema | None = None
    fields: Mapping[str, Type] | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type) or (self.kind, self.name) != (other.kind, other.name):
            return False
        if self.params != other.params:
            return False
        if self.kind == "object":
            return self.schema is other.schema or self.schema == other.schema
        return self.kind != "record" or self.fields == other.fields

    def __hash__(self) -> int:
        return hash((self.kind, self.params, self.name, self.schema))

    def __str__(self) -> str:
        if self.kind in ("object", "record"):
            return self.name or "object"
        word = self.name if self.kind in ("opaque", "param") else _WORDS.get(self.kind, self.kind)
        return f"{word}({', '.join(map(str, self.params))})" if self.params else word


_WORDS = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "optional": "optional_type",
}
BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP, DURATION, ERROR = (
    Type(k)
    for k in (
        *("bool", "int", "uint", "double", "string", "bytes"),
        *("null", "dyn", "timestamp", "duration", "error"),
    )
)  # fmt: skip
TYPE: Final = Type("type")


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional", (value,))


def type_of(value: Type) -> Type:
    """The type of a type's name: `int` is a type(int)."""
    return Type("type", (value,))


def opaque(name: str, *params: Type) -> Type:
    return Type("opaque", params, name)


def param(name: str) -> Type:
    return Type("param", (), name)


def record(name: str, fields: Mapping[str, Type]) -> Type:
    """A name whose fields are declared one by one."""
    return Type("record", name=name, fields=dict(fields))


_SIMPLE = {
    str(each): each for each in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP, DURATION, TYPE)
} | {"null": NULL, "timestamp": TIMESTAMP, "duration": DURATION, "any": DYN}
_PARTS = re.compile(r"[\w.:]+|[(),]")


def parse(text: str) -> Type:
    """A type as signatures write it: `map(string, list(T))`; single capitals are parameters."""
    parts = _PARTS.findall(text)
    found, rest = _parsed(parts)
    if rest:
        raise ValueError(f"not a type: {text}")
    return found


def _parsed(parts: list[str]) -> tuple[Type, list[str]]:
    word, rest = parts[0], parts[1:]
    params: list[Type] = []
    if rest[:1] == ["("]:
        while rest[0] != ")":
            each, rest = _parsed(rest[1:])
            params.append(each)
        rest = rest[1:]
    return _named(word, tuple(params)), rest


def _named(word: str, params: tuple[Type, ...]) -> Type:
    word = word.removeprefix("abs:")
    if word.startswith("param:") or (len(word) == 1 and word.isupper()):
        return param(word.removeprefix("param:"))
    if word in ("list", "map", "type") and params:
        return Type(word, params)
    if word in ("optional_type", "optional"):
        return Type("optional", params)
    return _SIMPLE.get(word) or Type("opaque", params, word)


def from_schema(schema: Schema) -> Type:
    """The type of values that a schema describes; dyn where it leaves them open."""
    if schema.int_or_string or schema.quantity:
        return DYN
    match schema.type:
        case "array":
            return list_of(from_schema(schema.items) if schema.items is not None else DYN)
        case "object" if schema.properties:
            return Type("object", schema=schema)
        case "object" if schema.additional is not None:
            return map_of(STRING, from_schema(schema.additional))
        case "object":
            return map_of(STRING, DYN)
        case _:
            return DYN if schema.nullable else _SCALARS.get(schema.type, DYN)


_SCALARS = {"boolean": BOOL, "integer": INT, "number": DOUBLE, "string": STRING}
object_of = from_schema


def field_of(kind: Type, name: str) -> Type | None:
    """The type of a field: dyn where it cannot be known, None where there is none of that name."""
    if kind.kind == "record":
        return (kind.fields or {}).get(name)
    if kind.kind == "object" and kind.schema is not None:
        schema = kind.schema
        found = schema.properties.get(name)
        if found is not None:
            return from_schema(found)
        return DYN if schema.preserve_unknown or schema.additional is not None else None
    if kind.kind == "map":
        return kind.params[1]
    return DYN if kind.kind in ("dyn", "error", "param") else None


def field_names(kind: Type) -> tuple[str, ...]:
    if kind.kind == "record":
        return tuple(kind.fields or ())
    return tuple(kind.schema.properties) if kind.kind == "object" and kind.schema is not None else ()


_ESCAPES = {
    "__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/",
}  # fmt: skip
_ESCAPED = re.compile("|".join(_ESCAPES))
_KEYWORDS = frozenset({"true", "false", "null", "in"}) | RESERVED


def unescaped(name: str) -> str:
    """The field that CRD expressions write as `name`: `__dash__` is `-`, `__namespace__` a keyword."""
    if name.startswith("__") and name.endswith("__") and name[2:-2] in _KEYWORDS:
        return name[2:-2]
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def json_kind(kind: Type) -> str:
    """How a value of this type stands in JSON, as OpenAPI names it; "" when that is open."""
    return {
        "bool": "boolean", "int": "integer", "uint": "integer", "double": "number", "string": "string",
        "bytes": "string", "timestamp": "string", "duration": "string", "list": "array", "map": "object",
        "object": "object", "record": "object",
    }.get(kind.kind, "")  # fmt: skip
