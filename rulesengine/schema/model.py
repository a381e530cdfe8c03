"""What is known of a JSON value's shape, merging and validation: one node per value.

Schemas come from three sources (a server's OpenAPI documents, CRDs, the built-in data) and
end up as the same nodes, so that CEL types, server-side apply, defaulting and validation
read one thing. Nodes of one document are shared and may be cyclic (a CRD's own schema
describes schemas), so equality is by shape and walks cycles once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Final, cast

from rulesengine.core.json import Json, same


class Missing(Enum):
    """The type of MISSING, so that `null` can be a default."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    """One shared empty mapping: most nodes are leaves and there are many of them."""
    return _NOTHING


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Schema:
    """One node. The defaults of the fields mean "nothing said"; `Schema.ANY` says nothing at all.

    `type` is object, array, string, integer, number, boolean, or "" where any type may stand.
    `list_type` (atomic, set, map) and `map_type` (granular, atomic) say how appliers share
    the value; `key_defaults` are the defaults of those `list_keys` that have one.
    `additional` is the schema of values of keys that `properties` does not name.
    `quantity` marks values that the server rewrites to their canonical form ("1000m" to "1");
    `always` structs that every object of a built-in kind has, empty where nothing is said.
    """

    type: str = ""
    properties: Mapping[str, Schema] = field(default_factory=_nothing)
    additional: Schema | None = None
    items: Schema | None = None
    list_type: str = "atomic"
    list_keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Json] = field(default_factory=_nothing)
    map_type: str = "granular"
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    quantity: bool = False
    always: bool = False
    nullable: bool = False
    required: frozenset[str] = frozenset()
    default: Json | Missing = MISSING
    enum: tuple[Json, ...] = ()
    format: str = ""
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    one_of: tuple[Schema, ...] = ()
    negated: Schema | None = None
    validations: tuple[Mapping[str, Any], ...] = ()
    strategic_key: str = ""  # the merge key of strategic merge patches
    strategic: str = ""  # their strategies: "merge", "replace", "merge,retainKeys"

    ANY: ClassVar[Schema]

    @property
    def open(self) -> bool:
        """Whether keys that `properties` does not name are accepted without a schema of theirs."""
        return self.additional is None and (self.preserve_unknown or not self.properties)

    def child(self, key: str) -> Schema | None:
        """The schema of a key's value; None when the key is not known here."""
        found = self.properties.get(key)
        if found is not None:
            return found
        if self.additional is not None:
            return self.additional
        return Schema.ANY if self.preserve_unknown or not self.properties else None

    def at(self, *path: str) -> Schema | None:
        """The schema down a path of keys; "*" stands for an element of a list or map."""
        node: Schema | None = self
        for step in path:
            if node is None:
                return None
            node = node.element() if step == "*" else node.child(step)
        return node

    def element(self) -> Schema:
        """The schema of a list's items or a map's values."""
        return self.items or self.additional or Schema.ANY

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return _equal(self, other, set())

    def __hash__(self) -> int:
        return hash((self.type, self.format, self.list_type, self.list_keys, len(self.properties)))

    def __repr__(self) -> str:
        said = [
            f"{name}={_short(value)}"
            for name in _NAMES
            if (value := getattr(self, name)) != getattr(Schema.ANY, name)
        ]
        return f"Schema({', '.join(said)})"


_NAMES: Final = tuple(each.name for each in fields(Schema))
Schema.ANY = Schema()


def _short(value: object) -> str:
    """A value for `repr`: nodes below are named, not shown, since they may lead back here."""
    if isinstance(value, Schema):
        return f"<{value.type or 'any'}>"
    if isinstance(value, Mapping):
        return "{" + ", ".join(value) + "}"
    if isinstance(value, tuple) and any(isinstance(each, Schema) for each in value):
        return f"({len(value)})"
    return repr(value)


def _equal(left: Schema, right: Schema, assumed: set[tuple[int, int]]) -> bool:
    """Equality by shape; a pair met again on the way down is taken to be equal."""
    if left is right or (id(left), id(right)) in assumed:
        return True
    assumed.add((id(left), id(right)))
    return all(_equal_parts(getattr(left, name), getattr(right, name), assumed) for name in _NAMES)


def _equal_parts(left: object, right: object, assumed: set[tuple[int, int]]) -> bool:
    if isinstance(left, Schema) and isinstance(right, Schema):
        return _equal(left, right, assumed)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(
            _equal_parts(left[key], right[key], assumed) for key in left
        )
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(
            _equal_parts(a, b, assumed) for a, b in zip(left, right, strict=True)
        )
    return same(left, right)


def below(schema: Schema) -> Iterator[Schema]:
    """The nodes directly below one."""
    yield from schema.properties.values()
    single = (schema.additional, schema.items, schema.negated)
    yield from cast("tuple[Schema, ...]", tuple(each for each in single if each is not None))
    yield from (*schema.all_of, *schema.any_of, *schema.one_of)
