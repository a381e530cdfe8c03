"""What a template becomes: types kept, text formatted, nothing where nothing is."""

import pytest

from rulesengine.core.errors import EvaluationError, Excluded, Waiting
from tests.unit.compiler.rules import MAP, compiled, data, rendered

OBJECT = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": None,
        "labels": {"app": "web"},
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "rulesengine.dev/owner": "{}",
            "keep": "me",
        },
        "ownerReferences": [{"uid": "x"}],
        "finalizers": ["a/b"],
        "managedFields": [],
    },
    "spec": {
        "n": 3,
        "f": 1.5,
        "b": True,
        "none": None,
        "list": [1, None, 2],
        "map": {"a": None, "b": {"c": None}},
    },
}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{a: '${object.spec.n}'}", {"a": 3}),
        ("{a: '${object.spec.b}'}", {"a": True}),
        ("{a: '${object.spec.f}'}", {"a": 1.5}),
        ("{a: 'n=${object.spec.n} b=${object.spec.b} f=${object.spec.f}'}", {"a": "n=3 b=true f=1.5"}),
        ("{a: '$${object.spec.n}', b: '$ {}'}", {"a": "${object.spec.n}", "b": "$ {}"}),
        ("{a: \"${'}' + object.metadata.name}\"}", {"a": "}web"}),
        ("{'${object.metadata.name}-key': v, x: z}", {"web-key": "v", "x": "z"}),
        ("{a: '${object.spec.list}', b: '${object.spec.map}'}", {"a": [1, 2], "b": {"b": {}}}),
        ("{a: {b: ['${object.spec.none}', 1, null, '${object.spec.n}']}}", {"a": {"b": [1, 3]}}),
    ],
)
def test_values_keep_their_type_and_text_is_formatted(body, expected):
    """`${}` alone splices with type, within text it is formatted as string() does."""
    assert rendered(body, object=OBJECT) == expected


@pytest.mark.parametrize("value", ["${object.spec.none}", "${optional.none()}", "${omit()}", None])
def test_null_none_and_omit_drop_their_key(value):
    """At any depth, and list items, too."""
    import json

    body = json.dumps({"a": value, "b": {"c": value, "d": [value, "x"]}, "e": "1"})
    assert rendered(body, object=OBJECT) == {"b": {"d": ["x"]}, "e": "1"}


def test_an_optional_is_unwrapped():
    """`.?a` in a template gives the value or drops the key."""
    body = "{a: '${object.metadata.?name}', b: '${object.metadata.?nope}', c: 'x-${object.metadata.?name}'}"
    assert rendered(body, object=OBJECT) == {"a": "web", "c": "x-web"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{a: 'x${object.spec.none}'}", "data.a: null cannot stand within text"),
        ("{a: 'x${object.spec.list}'}", "data.a: only string"),
        ("{'${object.metadata.name}': a, web: b}", "two keys of a mapping render alike"),
        ("{a: b, c: '${object.nope}'}", "data.c: "),
    ],
)
def test_mistakes_that_show_with_values_name_the_field(body, said):
    """The message says which field of the template, and holds no values."""
    with pytest.raises(EvaluationError, match=said):
        rendered(body, object=OBJECT)


def test_the_path_of_a_failing_read_is_kept():
    """What waits for a field of another resource is told from that path."""
    spec = f"  resources:\n{MAP}  - name: other\n    template:\n      apiVersion: v1\n      kind: Secret\n"
    spec += "      metadata: {name: \"${resources.made.metadata.annotations['x']}\"}\n"
    rule = compiled(spec)
    with pytest.raises(EvaluationError) as error:
        rule.resources[1].template.render({"resources": {"made": {"metadata": {"annotations": {}}}}})
    assert error.value.reason == "no_such_field"
    assert error.value.path[:2] == ("resources", "made")


@pytest.mark.parametrize("raised", [Waiting("x"), Excluded("x")])
def test_waiting_and_exclusion_pass_through(raised):
    """They are outcomes and not errors of the template."""

    class Raises(dict):
        def __missing__(self, key):
            raise raised

    (resource,) = compiled(data("{a: '${object.metadata.name}'}")).resources
    with pytest.raises(type(raised)):
        resource.template.render({"object": Raises()})


def test_server_owned_metadata_of_a_spliced_object_is_dropped():
    """What comes in with `metadata: ${object.metadata}` is not the rule's to write."""
    spec = "  resources:\n  - name: a\n    template:\n      apiVersion: v1\n      kind: ConfigMap\n"
    spec += "      metadata: ${object.metadata}\n"
    (resource,) = compiled(spec).resources
    assert resource.template.render({"object": OBJECT})["metadata"] == {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web"},
        "annotations": {"keep": "me"},
    }


def test_spliced_annotations_lose_ours_and_kubectls():
    """Copied annotations never make an object look like ours."""
    spec = "  resources:\n  - name: a\n    template:\n      apiVersion: v1\n      kind: ConfigMap\n"
    spec += "      metadata: {name: a, annotations: '${object.metadata.annotations}'}\n"
    (resource,) = compiled(spec).resources
    assert resource.template.render({"object": OBJECT})["metadata"]["annotations"] == {"keep": "me"}


@pytest.mark.parametrize("field", ["name", "namespace"])
@pytest.mark.parametrize("value", ["${object.spec.none}", "${omit()}", "${''}"])
def test_a_null_name_is_an_error(field, value):
    """Never a silent default: the object would go elsewhere."""
    meta = {"name": "a", "namespace": "b", field: value}
    spec = f"  resources:\n  - name: a\n    template: {{apiVersion: v1, kind: ConfigMap, metadata: {meta}}}\n"
    spec = spec.replace("'$", '"$').replace("}'", '}"')
    (resource,) = compiled(spec, schemas=lambda _gvk: None).resources
    with pytest.raises(EvaluationError, match=f"metadata.{field}: expected text"):
        resource.template.render({"object": OBJECT})


def test_what_is_rendered_does_not_leak_into_the_next_rendering():
    """The object and its metadata are new each time; spliced containers are copies."""
    (resource,) = compiled(data("{a: '${object.spec.map}'}"), schemas=lambda _gvk: None).resources
    first = resource.template.render({"object": OBJECT})
    first["metadata"]["labels"] = {"x": "y"}
    first["data"]["a"]["b"]["z"] = 1
    second = resource.template.render({"object": OBJECT})
    assert "labels" not in second["metadata"]
    assert second["data"] == {"a": {"b": {}}}
    assert OBJECT["spec"]["map"] == {"a": None, "b": {"c": None}}
