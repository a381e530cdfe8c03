"""Schemas from CRDs: the structural schema of each version, with what is implied made explicit.

Every custom resource has apiVersion, kind and metadata, whether its schema names them or
not, and so has every embedded resource in it. A version without a schema, and a CRD that
preserves unknown fields everywhere, knows nothing beyond those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import builtin
from rulesengine.schema.model import Schema
from rulesengine.schema.openapi import Definitions

TEXT = Schema(type="string")


def kinds(crd: Object) -> Mapping[GroupVersionKind, Schema]:
    """The schema of every served version of a CRD (apiextensions.k8s.io/v1)."""
    spec = crd["spec"]
    group, kind = spec["group"], spec["names"]["kind"]
    return {
        GroupVersionKind(group, version["name"], kind): version_schema(
            (version.get("schema") or {}).get("openAPIV3Schema"),
            preserve=bool(spec.get("preserveUnknownFields")),
        )
        for version in spec.get("versions") or ()
        if version.get("served")
    }


def version_schema(raw: Object | None, *, preserve: bool = False) -> Schema:
    """One version's schema from its openAPIV3Schema."""
    root = _explicit(Definitions({}).node(raw or {}))
    properties = {**root.properties, **_identity(root)}
    return replace(
        root,
        type="object",
        properties=properties,
        preserve_unknown=root.preserve_unknown or preserve or raw is None,
    )


def _identity(node: Schema) -> Mapping[str, Schema]:
    """apiVersion, kind and metadata; a CRD may only restrict the name further."""
    metadata = builtin.object_meta()
    said = node.properties.get("metadata")
    if said is not None:
        narrowed = {key: said.properties[key] for key in ("name", "generateName") if key in said.properties}
        if narrowed:
            metadata = replace(metadata, properties={**metadata.properties, **narrowed})
    given = {key: node.properties.get(key, TEXT) for key in ("apiVersion", "kind")}
    return {**given, "metadata": metadata}


def _explicit(node: Schema) -> Schema:
    """The same tree with the implied fields of embedded resources."""
    properties = {key: _explicit(each) for key, each in node.properties.items()}
    if node.embedded_resource:
        properties |= _identity(node)
    changed: dict[str, object] = {}
    if any(properties[key] is not node.properties.get(key) for key in properties):
        changed["properties"] = properties
    if node.items is not None and (items := _explicit(node.items)) is not node.items:
        changed["items"] = items
    if node.additional is not None and (more := _explicit(node.additional)) is not node.additional:
        changed["additional"] = more
    return replace(node, **changed) if changed else node  # type: ignore[arg-type]  # fields by name
