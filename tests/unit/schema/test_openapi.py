"""What is read from a server's OpenAPI v3 documents."""

from __future__ import annotations

from typing import Any

import pytest

from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, openapi

REF = "#/components/schemas/"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"


def node(raw: Any, **definitions: Any) -> Schema:
    return openapi.Definitions(definitions).node(raw)


def test_a_keyed_list_has_the_defaults_of_its_keys() -> None:
    """A port without protocol is the TCP one."""
    item = {
        "type": "object",
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    read = node(
        {
            "type": "array",
            "items": {"$ref": REF + "Port"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
        Port=item,
    )
    assert (read.list_type, read.list_keys, dict(read.key_defaults)) == (
        "map",
        ("port", "protocol"),
        {"protocol": "TCP"},
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
            ("map", ("name",)),
        ),
        (
            {"x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name"},
            ("map", ("name",)),
        ),
        ({"x-kubernetes-patch-strategy": "merge"}, ("set", ())),
        ({"x-kubernetes-patch-strategy": "replace"}, ("atomic", ())),
        ({"x-kubernetes-list-type": "atomic", "x-kubernetes-patch-strategy": "merge"}, ("atomic", ())),
        ({}, ("atomic", ())),
    ],
)
def test_older_lists_say_how_they_are_shared_as_a_merge_strategy(said: Any, expected: Any) -> None:
    """The list type wins where both are said."""
    read = node({"type": "array", "items": {"type": "object"}, **said})
    assert (read.list_type, read.list_keys) == expected


def test_a_wrapped_reference_adds_its_default() -> None:
    """A default `{}` around a reference is a struct that is always there."""
    part = {"type": "object", "properties": {"a": {"type": "string"}}}
    read = node({"default": {}, "allOf": [{"$ref": REF + "Part"}]}, Part=part)
    assert read.always
    assert read.properties["a"].type == "string"
    assert not node({"allOf": [{"$ref": REF + "Part"}]}, Part=part).always


def test_the_map_type_of_a_reference_wins_over_that_of_the_definition() -> None:
    """As in the server."""
    read = node({"$ref": REF + "Part", "x-kubernetes-map-type": "atomic"}, Part={"type": "object"})
    assert read.map_type == "atomic"


def test_special_types_are_what_their_json_is() -> None:
    """Not what their OpenAPI says."""
    assert node({"$ref": REF + QUANTITY}, **{QUANTITY: {"type": "string"}}).quantity
    assert node({"$ref": REF + INT_OR_STRING}, **{INT_OR_STRING: {"type": "string"}}).int_or_string
    raw = node({"$ref": REF + RAW}, **{RAW: {"type": "object"}})
    assert (raw.map_type, raw.preserve_unknown) == ("atomic", True)


def test_a_definition_may_lead_back_to_itself() -> None:
    """It becomes a cycle of nodes, not an endless tree."""
    raw = {"type": "object", "properties": {"inner": {"$ref": REF + "Node"}}}
    read = openapi.Definitions({"Node": raw}).named("Node")
    assert read.properties["inner"] is read


def test_only_kinds_are_listed_and_each_is_built_once() -> None:
    """Parts, and types of every group, are not kinds."""
    names = [{"group": "g", "version": "v1", "kind": "K"}]
    many = [*names, {"group": "h", "version": "v1", "kind": "K"}]
    document = {
        "components": {
            "schemas": {
                "K": {"type": "object", openapi.GVK: names},
                "DeleteOptions": {"type": "object", openapi.GVK: many},
                "Part": {"type": "object"},
            }
        }
    }
    kinds = openapi.kinds(document)
    gvk = GroupVersionKind("g", "v1", "K")
    assert list(kinds) == [gvk]
    assert kinds[gvk] is kinds[gvk]
    assert kinds.get(GroupVersionKind("g", "v1", "Part")) is None


def test_a_document_without_schemas_has_no_kinds() -> None:
    """A server may publish an empty one."""
    assert len(openapi.kinds({})) == 0


def test_validation_words_are_kept() -> None:
    """Limits, formats, enums, and the rules in CEL."""
    read = node(
        {
            "type": "string",
            "enum": ["a", "b"],
            "maxLength": 3,
            "pattern": "^a",
            "nullable": True,
            "x-kubernetes-validations": [{"rule": "self != ''"}],
        }
    )
    assert (read.enum, read.max_length, read.pattern, read.nullable) == (("a", "b"), 3, "^a", True)
    assert read.validations[0]["rule"] == "self != ''"
