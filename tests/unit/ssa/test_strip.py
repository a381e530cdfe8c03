"""What is taken out of a desired object before it is applied."""

from __future__ import annotations

from rulesengine import ssa


def test_server_owned_metadata_and_nulls_are_dropped() -> None:
    """At any depth, without touching the original."""
    desired = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "x",
            "uid": "u",
            "resourceVersion": "1",
            "managedFields": [],
            "labels": {"a": None},
        },
        "data": {"a": "1", "b": None, "list": [{"c": None}]},
    }
    assert ssa.strip(desired) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x"},
        "data": {"a": "1", "list": [{}]},
    }
    assert desired["metadata"]["uid"] == "u"


def test_empty_metadata_is_dropped() -> None:
    """It would move a custom resource's resourceVersion at every apply."""
    meta = {"name": "x", "labels": {}, "finalizers": [], "ownerReferences": [], "annotations": {"a": "1"}}
    assert ssa.strip({"metadata": meta})["metadata"] == {"name": "x", "annotations": {"a": "1"}}


def test_texts_of_a_secret_become_data() -> None:
    """They win over data of the same name, as on the server."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "stringData": {"a": "é"},
        "data": {"a": "eA==", "b": "eA=="},
    }
    assert ssa.strip(secret)["data"] == {"a": "w6k=", "b": "eA=="}
    assert "stringData" not in ssa.strip(secret)


def test_only_the_core_secret_has_texts() -> None:
    """A custom resource may be called Secret too."""
    other = {"apiVersion": "example.com/v1", "kind": "Secret", "stringData": {"a": "b"}}
    assert ssa.strip(other) == other
