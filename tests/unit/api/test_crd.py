"""The CRDs are made from the models, and are structural."""

from pathlib import Path

import pytest

from rulesengine import api
from rulesengine.api.crd import write

ROOT = Path(__file__).parents[3]


def test_the_files_are_what_the_models_say(tmp_path):
    """`make crds` was run after the last change of a model."""
    for file in write(tmp_path):
        assert (ROOT / "crds" / file.name).read_text() == file.read_text()


def nodes(schema, path=""):
    yield path, schema
    for name, below in schema.get("properties", {}).items():
        yield from nodes(below, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from nodes(schema[word], f"{path}[]")


@pytest.mark.parametrize("crd", api.crds(), ids=lambda crd: crd["spec"]["names"]["kind"])
def test_schemas_are_structural_and_say_what_fields_are(crd):
    """Every node has a type (or preserves unknown fields), every field a description."""
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, node in nodes(schema):
        free = node.get("x-kubernetes-preserve-unknown-fields") or node.get("x-kubernetes-int-or-string")
        assert "type" in node or free, path
        assert not {"$ref", "$defs", "title", "const"} & node.keys(), path
        assert "anyOf" not in node or node.get("x-kubernetes-int-or-string"), path
        for name, below in node.get("properties", {}).items():
            assert below.get("description") or (path, name) == ("", "metadata"), f"{path}.{name}"


def test_a_rule_of_a_namespace_has_no_namespace_fields():
    """Not in sources, lookups, targets or deletes."""
    (rule,) = (crd for crd in api.crds() if crd["spec"]["names"]["kind"] == "Rule")
    spec = rule["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert not [path for path, _ in nodes(spec) if "amespace" in path.rpartition(".")[2]]


def test_exactly_one_of_is_a_one_of():
    """template, patch and delete exclude each other for the server, too."""
    (crd, _) = api.crds()
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    entries = spec["properties"]["resources"]
    assert entries["items"]["oneOf"] == [{"required": [n]} for n in ("template", "patch", "delete")]
    assert (entries["x-kubernetes-list-type"], entries["x-kubernetes-list-map-keys"]) == ("map", ["name"])
