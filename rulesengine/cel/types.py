"""CEL types, and how schemas become types.

An object with a schema has kind "object": its fields are known and typed. What no schema
describes is `dyn`, and is checked when it is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rulesengine.schema import Schema


@dataclass(frozen=True, slots=True)
class Type:
    """`kind`: bool, int, uint, double, string, bytes, null, dyn, timestamp, duration, type, list,
    map, optional, object, record, param, or the name of an opaque type. `params` of list, map,
    optional. `schema` of object, `fields` of record (named values of any type).
    """

    kind: str
    params: tuple[Type, ...] = ()
    name: str = ""
    schema: Schema | None = field(default=None, compare=False, repr=False)
    fields: Mapping[str, Type] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.kind in ("object", "record"):
            return self.name or "object"
        if self.kind == "optional":
            return f"optional_type({self.params[0]})"
        if self.params:
            return f"{self.kind}({', '.join(map(str, self.params))})"
        return self.name or {
            "null": "null_type",
            "timestamp": "google.protobuf.Timestamp",
            "duration": "google.protobuf.Duration",
        }.get(self.kind, self.kind)


BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP, DURATION, TYPE = (
    Type(k)
    for k in (
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "null",
        "dyn",
        "timestamp",
        "duration",
        "type",
    )
)
NUMBERS = frozenset({"int", "uint", "double"})


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional", (value,))


def record(name: str, fields: Mapping[str, Type]) -> Type:
    """A name whose fields are declared one by one."""
    return Type("record", name=name, fields=dict(fields))


def from_schema(schema: Schema) -> Type:
    """The type of values that a schema describes; dyn where it leaves them open."""
    if schema.int_or_string or schema.quantity:
        return DYN
    match schema.type:
        case "boolean":
            return BOOL
        case "integer":
            return INT
        case "number":
            return DOUBLE
        case "string":
            return STRING
        case "array":
            return list_of(from_schema(schema.items) if schema.items is not None else DYN)
        case "object" if schema.properties:
            return Type("object", schema=schema)
        case "object" if schema.additional is not None:
            return map_of(STRING, from_schema(schema.additional))
        case "object":
            return map_of(STRING, DYN)
        case _:
            return DYN


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
    return DYN if kind.kind == "dyn" else None


def field_names(kind: Type) -> tuple[str, ...]:
    if kind.kind == "record":
        return tuple(kind.fields or ())
    return tuple(kind.schema.properties) if kind.kind == "object" and kind.schema is not None else ()


def json_kind(kind: Type) -> str:
    """How a value of this type stands in JSON, as OpenAPI names it; "" when that is open."""
    return {
        "bool": "boolean", "int": "integer", "uint": "integer", "double": "number", "string": "string",
        "bytes": "string", "timestamp": "string", "duration": "string", "list": "array", "map": "object",
        "object": "object", "record": "object",
    }.get(kind.kind, "")  # fmt: skip
