"""The kinds of Kubernetes itself, from the data file."""

from __future__ import annotations

from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin, openapi

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def at(gvk: GroupVersionKind, *path: str) -> Schema:
    schema = builtin.schema(gvk)
    assert schema is not None
    found = schema.at(*path)
    assert found is not None
    return found


def test_lists_of_a_deployment_are_shared_as_the_server_says() -> None:
    """Containers by name, ports by two keys with defaults, arguments as a whole."""
    containers = at(DEPLOYMENT, "spec", "template", "spec", "containers")
    assert containers.list_keys == ("name",)
    ports = containers.element().properties["ports"]
    assert ports.list_keys == ("containerPort", "protocol")
    assert ports.key_defaults["protocol"] == "TCP"
    assert containers.element().properties["args"].list_type == "atomic"


def test_quantities_and_atomic_maps_are_known() -> None:
    """Both change how values are compared."""
    assert at(DEPLOYMENT, "spec", "template", "spec", "containers", "*", "resources", "limits", "*").quantity
    assert at(DEPLOYMENT, "spec", "selector").map_type == "atomic"


def test_every_served_resource_that_can_be_written_has_a_schema() -> None:
    """So that none of them needs a cluster to be understood."""
    without = [
        str(resource.gvk)
        for resource in builtin.resources()
        if "patch" in resource.verbs and builtin.schema(resource.gvk) is None
    ]
    assert without == []


def test_discovery_facts_are_kept() -> None:
    """Plurals, scopes, short names, subresources."""
    found = {resource.gvk: resource for resource in builtin.resources()}
    deployments = found[DEPLOYMENT]
    assert (deployments.plural, deployments.namespaced, deployments.short_names) == (
        "deployments",
        True,
        ("deploy",),
    )
    assert deployments.subresources == {"status", "scale"}
    assert not found[GroupVersionKind("", "v1", "Namespace")].namespaced


def test_an_unknown_kind_has_no_schema() -> None:
    """None, not an empty one."""
    assert builtin.schema(GroupVersionKind("example.com", "v1", "Widget")) is None


def test_a_schema_of_schemas_is_cyclic_and_equal_to_itself_read_again() -> None:
    """A CRD describes schemas, whose properties are schemas."""
    schema = at(CRD, "spec", "versions", "*", "schema", "openAPIV3Schema")
    assert schema.at("properties", "*", "properties", "*") is schema
    again = openapi.kinds(builtin.document("apiextensions.k8s.io", "v1"))[CRD]
    assert again == builtin.schema(CRD)


def test_a_document_holds_what_its_kinds_lead_to_and_no_prose() -> None:
    """The embedded server publishes it."""
    document = builtin.document("apps", "v1")
    schemas = document["components"]["schemas"]
    assert "io.k8s.api.core.v1.Container" in schemas
    assert "io.k8s.api.rbac.v1.Role" not in schemas
    assert "description" not in schemas["io.k8s.api.core.v1.Container"]
