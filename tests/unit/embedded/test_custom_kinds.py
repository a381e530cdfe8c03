"""CRDs: served at once, defaulted, pruned, validated, printed, and gone with all they had."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.embedded.fakes import CRDS, WIDGETS, Api, crd, widget

SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
        "port": {"x-kubernetes-int-or-string": True},
        "note": {"type": "string", "nullable": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
    },
}


@pytest.fixture
def served(api: Api) -> Api:
    api.create(CRDS, crd(SPEC, subresources={"status": {}}))
    return api


def test_a_crd_is_established_and_served(served: Api) -> None:
    """Accepted, established, in discovery and under its path, without waiting."""
    found = served.get(f"{CRDS}/widgets.example.com").body
    assert {c["type"]: c["status"] for c in found["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert found["status"]["storedVersions"] == ["v1"]
    [resource, status] = served.get("/apis/example.com/v1").body["resources"]
    assert (resource["name"], resource["shortNames"], status["name"]) == ("widgets", ["wd"], "widgets/status")
    assert served.names(WIDGETS) == []


def test_defaults_and_pruning(served: Api) -> None:
    """Missing fields get their default, at any depth; unknown ones go; free ones stay."""
    spec = {"size": 1, "what": 1, "free": {"any": {"thing": 1}}, "parts": [{"name": "a", "x": 1}]}
    made = served.create(WIDGETS, widget("a", spec=spec))
    assert made["spec"] == {
        "size": 1,
        "color": "red",
        "free": {"any": {"thing": 1}},
        "parts": [{"name": "a", "count": 1}],
    }
    assert made["metadata"]["generation"] == 1


def test_nulls(served: Api) -> None:
    """Kept where nullable, replaced by a default where there is one, else dropped."""
    made = served.create(WIDGETS, widget("a", spec={"size": 1, "color": None, "note": None, "name": None}))
    assert made["spec"] == {"size": 1, "color": "red", "note": None}


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        ({}, "spec.size", "FieldValueRequired"),
        ({"size": "1"}, "spec.size", "FieldValueTypeInvalid"),
        ({"size": 0}, "spec.size", "FieldValueInvalid"),
        ({"size": 10}, "spec.size", "FieldValueInvalid"),
        ({"size": 1, "color": "blue"}, "spec.color", "FieldValueNotSupported"),
        ({"size": 1, "name": "A"}, "spec.name", "FieldValueInvalid"),
        ({"size": 1, "name": "abcd"}, "spec.name", "FieldValueTooLong"),
        ({"size": 1, "port": True}, "spec.port", "FieldValueTypeInvalid"),
        ({"size": 1, "parts": [{}]}, "spec.parts[0].name", "FieldValueRequired"),
        ({"size": 1, "parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", "FieldValueDuplicate"),
    ],
)
def test_validation_names_field_and_reason(
    served: Api, spec: dict[str, Any], field: str, reason: str
) -> None:
    """422 Invalid, one cause a problem."""
    said = served.send("POST", WIDGETS, widget("a", spec=spec))
    assert (said.status, said.body["reason"]) == (422, "Invalid")
    assert [(c["field"], c["reason"]) for c in said.body["details"]["causes"]] == [(field, reason)]


def test_status_is_apart(served: Api) -> None:
    """A create drops status; /status writes nothing else and no generation."""
    made = served.create(WIDGETS, widget("a", spec={"size": 1}, status={"x": 1}))
    assert "status" not in made
    said = served.patch(f"{WIDGETS}/a/status", {"spec": {"size": 2}, "status": {"x": 1}})
    assert (said.body["spec"]["size"], said.body["status"], said.body["metadata"]["generation"]) == (
        1,
        {"x": 1},
        1,
    )
    assert served.patch(f"{WIDGETS}/a", {"spec": {"size": 2}}).body["metadata"]["generation"] == 2


def test_no_strategic_merge_for_custom_kinds(served: Api) -> None:
    """415, which makes kubectl use a merge patch."""
    served.create(WIDGETS, widget("a", spec={"size": 1}))
    said = served.patch(f"{WIDGETS}/a", {"spec": {"size": 2}}, "application/strategic-merge-patch+json")
    assert said.status == 415


def test_versions_show_the_same_object(api: Api) -> None:
    """Several served versions differ by apiVersion; the preferred one comes first."""
    definition = crd(SPEC)
    [first] = definition["spec"]["versions"]
    definition["spec"]["versions"] = [{**first, "name": "v1beta1", "storage": False}, first]
    api.create(CRDS, definition)
    api.create(WIDGETS, widget("a", spec={"size": 1}))
    old = api.get(WIDGETS.replace("/v1/", "/v1beta1/") + "/a").body
    assert (old["apiVersion"], old["spec"]["size"]) == ("example.com/v1beta1", 1)
    group = api.get("/apis/example.com").body
    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1"]


def test_printer_columns(api: Api) -> None:
    """Tables have the CRD's columns, filters and dates included."""
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    api.create(CRDS, crd(SPEC, additionalPrinterColumns=columns))
    status = {"conditions": [{"type": "Other", "status": "No"}, {"type": "Ready", "status": "Yes"}]}
    api.create(WIDGETS, widget("a", spec={"size": 4}, status=status))
    api.clock.advance(125)
    table = api.get(WIDGETS, accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json").body
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size", "Ready", "Age"]
    assert table["rows"][0]["cells"] == ["a", 4, "Yes", "2m5s"]


def test_selectable_fields(api: Api) -> None:
    """Fields that the CRD names can be selected by; no others."""
    api.create(CRDS, crd(SPEC, selectableFields=[{"jsonPath": ".spec.color"}]))
    api.create(WIDGETS, widget("a", spec={"size": 1}))
    api.create(WIDGETS, widget("b", spec={"size": 1, "color": "green"}))
    assert api.names(f"{WIDGETS}?fieldSelector=spec.color=green") == ["b"]
    assert api.get(f"{WIDGETS}?fieldSelector=spec.size=1").status == 400


def test_a_crd_takes_its_objects(served: Api) -> None:
    """All objects go, then the CRD, then its paths."""
    served.create(WIDGETS, widget("a", spec={"size": 1}))
    served.delete(f"{CRDS}/widgets.example.com")
    assert served.get(f"{CRDS}/widgets.example.com").status == 404
    assert served.get(WIDGETS).status == 404


def test_a_dying_crd_takes_nothing_new(served: Api) -> None:
    """While an object holds it, creating is not allowed; then both go."""
    held = widget("held", spec={"size": 1})
    held["metadata"]["finalizers"] = ["x.io/hold"]
    served.create(WIDGETS, held)
    served.delete(f"{CRDS}/widgets.example.com")
    assert served.send("POST", WIDGETS, widget("b", spec={"size": 1})).status == 405
    served.patch(f"{WIDGETS}/held", {"metadata": {"finalizers": None}})
    assert served.get(f"{CRDS}/widgets.example.com").status == 404


def test_a_changed_schema_holds_at_once(served: Api) -> None:
    """A new property is kept by the next write."""
    definition = crd({**SPEC, "properties": {**SPEC["properties"], "extra": {"type": "string"}}})  # type: ignore[dict-item]
    assert served.apply(f"{CRDS}/widgets.example.com", definition, force=True).status == 200
    made = served.create(WIDGETS, widget("a", spec={"size": 1, "extra": "x"}))
    assert made["spec"]["extra"] == "x"


def test_bad_crds_are_refused(api: Api) -> None:
    """A name that is not plural.group, and a schema that is not structural."""
    wrong = crd()
    wrong["metadata"]["name"] = "gadgets.example.com"
    assert api.send("POST", CRDS, wrong).body["details"]["causes"][0]["field"] == "metadata.name"
    said = api.send("POST", CRDS, crd({"type": "object", "properties": {"a": {}}}))
    assert (said.status, said.body["details"]["causes"][0]["reason"]) == (422, "FieldValueRequired")
