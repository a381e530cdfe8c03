"""Schemas from OpenAPI v3 as Kubernetes publishes it: raw JSON nodes in, `Schema` nodes out.

Named definitions are built once each, when first asked for, and shared: a document of the
core group describes a hundred kinds of which a rule names three. A definition that leads
back to itself (a CRD's schema of schemas) becomes a cycle of nodes. What cannot be read is
taken as "nothing said", since the server, not this code, has the last word on validity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from rulesengine.core.json import Json, Object
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema.model import MISSING, Schema

X = "x-kubernetes-"
REF_PREFIX = "#/components/schemas/"
GVK = f"{X}group-version-kind"

# Go types whose JSON is not what their OpenAPI says, or says too little.
SPECIAL: Final[Mapping[str, Schema]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": Schema(quantity=True),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": Schema(int_or_string=True),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": Schema(
        type="object", map_type="atomic", preserve_unknown=True
    ),
}

_PLAIN: Final = {
    "type": "type",
    "format": "format",
    "pattern": "pattern",
    "nullable": "nullable",
    "default": "default",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    f"{X}int-or-string": "int_or_string",
    f"{X}preserve-unknown-fields": "preserve_unknown",
    f"{X}embedded-resource": "embedded_resource",
    f"{X}patch-merge-key": "strategic_key",
    f"{X}patch-strategy": "strategic",
}
_WRAPPED: Final = frozenset(("default", "nullable"))  # what a node around a $ref may add


class Definitions:
    """Named raw definitions, turned into nodes as they are asked for."""

    def __init__(self, raw: Mapping[str, Object]) -> None:
        self._raw = raw
        self._built: dict[str, Schema] = dict(SPECIAL)

    def named(self, name: str) -> Schema:
        """The node of one definition; `Schema.ANY` where there is none of that name."""
        found = self._built.get(name)
        if found is not None:
            return found
        raw = self._raw.get(name)
        if raw is None:
            return Schema.ANY
        # The node is entered before it has content, so that what is below can refer to it.
        node = Schema.__new__(Schema)
        Schema.__init__(node)
        self._built[name] = node
        Schema.__init__(node, **self._content(raw))
        return node

    def node(self, raw: Json) -> Schema:
        """The node of one raw schema."""
        if not isinstance(raw, dict):
            return Schema.ANY
        ref = _reference(raw)
        if ref is None:
            content = self._content(raw)
            return Schema(**content) if content else Schema.ANY
        target = self.named(ref)
        added: dict[str, Any] = {key: raw[key] for key in _WRAPPED if key in raw}
        if added.get("default") == {}:  # how a Go struct that is no pointer is published
            added["always"] = True
        map_type = raw.get(f"{X}map-type")
        if map_type is not None and map_type != target.map_type:
            added["map_type"] = map_type
        return replace(target, **added) if added else target

    def _content(self, raw: Object) -> dict[str, Any]:
        content: dict[str, Any] = {
            name: raw[key] for key, name in _PLAIN.items() if key in raw and raw[key] is not False
        }
        if raw.get("format") == "int-or-string":
            content["int_or_string"] = True
        if properties := raw.get("properties"):
            content["properties"] = {name: self.node(each) for name, each in properties.items()}
        if (additional := raw.get("additionalProperties")) is not None and additional is not False:
            content["additional"] = self.node(additional)
        if "items" in raw:
            content["items"] = self.node(raw["items"])
        content |= _sharing(raw, content.get("items"))
        content |= self._validation(raw)
        return content

    def _validation(self, raw: Object) -> dict[str, Any]:
        content: dict[str, Any] = {}
        if raw.get("required"):
            content["required"] = frozenset(raw["required"])
        if raw.get("enum"):
            content["enum"] = tuple(raw["enum"])
        if raw.get(f"{X}validations"):
            content["validations"] = tuple(raw[f"{X}validations"])
        for key, name in (("allOf", "all_of"), ("anyOf", "any_of"), ("oneOf", "one_of")):
            if raw.get(key) and not (key != "allOf" and _either(raw)):
                content[name] = tuple(self.node(each) for each in raw[key])
        if "not" in raw:
            content["negated"] = self.node(raw["not"])
        return content


class Kinds(Mapping[GroupVersionKind, Schema]):
    """The kinds of some definitions, each built when first asked for."""

    def __init__(self, definitions: Definitions, names: Mapping[GroupVersionKind, str]) -> None:
        self._definitions = definitions
        self._names = names

    def __getitem__(self, gvk: GroupVersionKind) -> Schema:
        return self._definitions.named(self._names[gvk])

    def __iter__(self) -> Iterator[GroupVersionKind]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def kinds(document: Object) -> Mapping[GroupVersionKind, Schema]:
    """Every kind of one `/openapi/v3/…` document."""
    components = document.get("components") or {}
    raw = cast("dict[str, Object]", components.get("schemas") or {})
    return Kinds(Definitions(raw), {gvk: name for name, each in raw.items() if (gvk := kind_of(each))})


def kind_of(raw: Object) -> GroupVersionKind | None:
    """The kind that a definition describes; None for parts, and for types that all groups share."""
    names = raw.get(GVK)
    if not isinstance(names, list) or len(names) != 1:
        return None
    return GroupVersionKind(names[0].get("group", ""), names[0]["version"], names[0]["kind"])


def _reference(raw: Object) -> str | None:
    """The definition a node stands for: a $ref, or a $ref alone in an allOf (which may add a default)."""
    ref = raw.get("$ref")
    if ref is None and "type" not in raw and "properties" not in raw:
        parts = raw.get("allOf")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
            ref = parts[0].get("$ref")
    return ref.removeprefix(REF_PREFIX) if isinstance(ref, str) else None


def _either(raw: Object) -> bool:
    """An integer or a string: its alternatives say the same once more."""
    return bool(raw.get(f"{X}int-or-string")) or raw.get("format") == "int-or-string"


def _sharing(raw: Object, items: Schema | None) -> dict[str, Any]:
    """How appliers share a list or map. Older built-in lists say it as a strategic merge only."""
    content: dict[str, Any] = {}
    if (map_type := raw.get(f"{X}map-type")) is not None:
        content["map_type"] = map_type
    list_type = raw.get(f"{X}list-type")
    keys = tuple(raw.get(f"{X}list-map-keys") or ())
    if list_type is None and "merge" in str(raw.get(f"{X}patch-strategy", "")).split(","):
        key = raw.get(f"{X}patch-merge-key")
        list_type, keys = ("map", (key,)) if key else ("set", ())
    if list_type in ("map", "set"):
        content["list_type"] = list_type
    if list_type == "map":
        content["list_keys"] = keys
        defaults = {
            key: schema.default
            for key in keys
            if items is not None
            and (schema := items.properties.get(key)) is not None
            and schema.default is not MISSING
        }
        if defaults:
            content["key_defaults"] = defaults
    return content
