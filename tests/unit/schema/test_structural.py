"""What is read from CRDs."""

from __future__ import annotations

from typing import Any

from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin, structural

WIDGET = GroupVersionKind("example.com", "v1", "Widget")


def crd(schema: Any, **spec: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    old = {**version, "name": "v0", "served": False, "storage": False}
    return {"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [version, old], **spec}}


def widget(schema: Any, **spec: Any) -> Schema:
    return structural.kinds(crd(schema, **spec))[WIDGET]


def test_identity_is_implied() -> None:
    """apiVersion, kind and the metadata that every object has, said or not."""
    schema = widget({"type": "object", "properties": {"spec": {"type": "object"}}})
    assert schema.properties["apiVersion"].type == "string"
    assert schema.properties["metadata"] is builtin.object_meta()
    assert "spec" in schema.properties


def test_only_served_versions_are_there() -> None:
    """A version that is not served has no objects anybody could see."""
    assert list(structural.kinds(crd({"type": "object"}))) == [WIDGET]


def test_a_name_may_be_restricted_and_nothing_else_of_metadata() -> None:
    """The rest is the server's."""
    schema = widget(
        {
            "type": "object",
            "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
            },
        }
    )
    metadata = schema.properties["metadata"]
    assert metadata.properties["name"].max_length == 5
    assert metadata.properties["labels"] == builtin.object_meta().properties["labels"]


def test_an_embedded_resource_has_its_identity_too() -> None:
    """Wherever it stands."""
    template = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = widget({"type": "object", "properties": {"list": {"type": "array", "items": template}}})
    item = schema.at("list", "*")
    assert item is not None
    assert item.properties["metadata"] is builtin.object_meta()
    assert item.preserve_unknown


def test_a_version_that_preserves_everything_is_open() -> None:
    """Old CRDs without a schema say nothing about their objects."""
    assert widget({"type": "object"}, preserveUnknownFields=True).child("anything") == Schema.ANY
    assert structural.version_schema(None).child("anything") == Schema.ANY


def test_sharing_of_lists_and_maps_is_read() -> None:
    """The same words as in OpenAPI."""
    schema = widget(
        {
            "type": "object",
            "properties": {
                "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "x-kubernetes-map-type": "atomic",
                },
                "either": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                },
            },
        }
    )
    assert schema.properties["set"].list_type == "set"
    assert schema.properties["map"].map_type == "atomic"
    assert schema.properties["either"].int_or_string
    assert schema.properties["either"].any_of == ()
