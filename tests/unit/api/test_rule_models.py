"""What a rule may say, and what is said when it says something else."""

import pytest

from rulesengine import api
from rulesengine.core.errors import FindingsError
from rulesengine.core.keys import RuleKey

RULE = """
apiVersion: rulesengine.dev/v1alpha1
kind: {kind}
metadata: {{name: r{more}}}
spec:
  for: {{apiVersion: v1, kind: ConfigMap}}
  resources:
  - name: copy
    template: {{apiVersion: v1, kind: Secret, metadata: {{name: x}}}}
{rest}
"""


def findings(rest="", kind="ClusterRule", more=""):
    _, found = api.rules_from(RULE.format(rest=rest, kind=kind, more=more), "f.yaml")
    return [(f.code, f.path) for f in found]


def test_a_rule_becomes_a_model_with_its_key_and_kinds():
    """Defaults are filled in; kinds are the source's and the templates'."""
    (model,), found = api.rules_from(RULE.format(rest="", kind="ClusterRule", more=""), "f.yaml")
    assert found == []
    assert model.key == RuleKey("ClusterRule", "", "r")
    assert [gvk.kind for gvk in model.kinds()] == ["ConfigMap", "Secret"]
    assert (model.spec.mode, model.spec.for_.system_namespaces) == ("Enforce", "Skip")
    assert model.locate(("spec", "for", "kind")).line == 6


def test_a_namespaced_rule_has_the_default_namespace():
    """A file that names none means `default`, as with kubectl."""
    (model,), _ = api.rules_from(RULE.format(rest="", kind="Rule", more=""), "f.yaml")
    assert model.key == RuleKey("Rule", "default", "r")


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("  mode: enforce", ("RE104", "spec.mode")),
        ("  mode: 3", ("RE103", "spec.mode")),
        ("  mod: Enforce", ("RE101", "spec.mod")),
        ("  matchConditions: {}", ("RE103", "spec.matchConditions")),
        ("  matchConditions: [{name: a}]", ("RE102", "spec.matchConditions[0].expression")),
        ("  matchConditions: [{name: a, expression: 'true'}, {name: a, expression: 'true'}]",
         ("RE109", "spec.matchConditions[1].name")),
        ("  variables: [{name: a-b, expression: '1'}]", ("RE106", "spec.variables[0].name")),
        ("  variables: [{name: a, expression: ''}]", ("RE105", "spec.variables[0].expression")),
        ("  variables: [{name: a, expression: 1}]", ("RE103", "spec.variables[0].expression")),
        ("  applyPolicy: {adopt: Sometimes}", ("RE104", "spec.applyPolicy.adopt")),
        ("  serviceAccountName: x", ("RE101", "spec.serviceAccountName")),
    ],
)  # fmt: skip
def test_mistakes_are_found_at_their_field(rest, expected):
    """One finding each, with the field's path."""
    assert findings(rest) == [expected]


@pytest.mark.parametrize(
    "rest",
    [
        "  serviceAccountRef: {namespace: a, name: b}",
        "  lookups: [{name: a, get: {apiVersion: v1, kind: Secret, name: x}}]",
        "  waitFor: ['true']",
        "  watches: [{apiVersion: v1, kind: Pod, mapTo: '[]'}]",
        "  - {name: a, patch: {merge: {}}}",
        "  - {name: a, delete: {apiVersion: v1, kind: Pod, name: x}}",
        "  - {name: a, forEach: [{name: x, expression: '[]'}], template: {}}",
        "  - {name: a, dependsOn: [copy], template: {}}",
        "  - {name: a, readyWhen: ['true'], template: {}}",
        "  - {name: a, waitFor: ['true'], template: {}}",
        "  applyPolicy: {strategy: CreateOnly}",
        "  applyPolicy: {onImmutable: Recreate}",
        "  applyPolicy: {ignore: [/spec]}",
        "  - {name: a, applyPolicy: {ignore: [/spec]}, template: {}}",
    ],
)
def test_fields_of_later_versions_are_refused(rest):
    """Never ignored: one clear finding at the field."""
    assert [code for code, _ in findings(rest)] == ["RE110"]


def test_a_field_of_a_later_version_that_uses_nothing_is_let_through():
    """An empty list asks for nothing; strategy Apply is what happens anyway."""
    assert findings("  lookups: []\n  applyPolicy: {strategy: Apply, onImmutable: Fail, ignore: []}") == []


def test_a_rule_without_a_source_is_refused():
    """Rules without `for` come in a later version."""
    text = "apiVersion: rulesengine.dev/v1alpha1\nkind: ClusterRule\nmetadata: {name: a}\nspec: {}\n"
    _, found = api.rules_from(text, "f.yaml")
    assert [(f.code, f.path) for f in found] == [("RE110", "spec.for")]


@pytest.mark.parametrize("field", ["namespaces: [a]", "namespaceSelector: {}", "systemNamespaces: Include"])
def test_a_namespaced_rule_has_no_namespace_fields(field):
    """A Rule says that it stays within its namespace."""
    text = RULE.format(rest="", kind="Rule", more="").replace(
        "kind: ConfigMap}", f"kind: ConfigMap, {field}}}"
    )
    _, found = api.rules_from(text, "f.yaml")
    assert [f.code for f in found] == ["RE112"]


def test_all_mistakes_are_found_at_once_and_in_order():
    """Unknown, missing and wrong ones, sorted by place."""
    rest = "  moed: x\n  - name: copy\n  - {name: a, template: {}, include: 1}\n  mode: 1\n"
    rest = "  - name: copy\n  - {name: a, template: {}, include: 1}\n  mode: 1\n  moed: x\n"
    assert [code for code, _ in findings(rest)] == ["RE107", "RE109", "RE101", "RE103", "RE101"]


@pytest.mark.parametrize(
    ("selector", "code"),
    [
        ("selector: {matchLabels: {'a b': x}}", "RE106"),
        ("selector: {matchLabels: {a: 'x y'}}", "RE106"),
        ("selector: {matchLabels: {a: '${object.x}'}}", "RE106"),
        ("selector: {matchLabels: {a: true}}", "RE103"),
        ("selector: {matchExpressions: [{key: a, operator: In}]}", "RE102"),
        ("selector: {matchExpressions: [{key: a, operator: Exists, values: [x]}]}", "RE108"),
        ("selector: {matchExpressions: [{key: a, operator: Has}]}", "RE104"),
        ("fieldSelector: metadata.name", "RE106"),
    ],
)
def test_selectors_that_the_server_would_refuse(selector, code):
    """Found before the server is asked."""
    text = RULE.format(rest="", kind="ClusterRule", more="").replace(
        "kind: ConfigMap}", f"kind: ConfigMap, {selector}}}"
    )
    _, found = api.rules_from(text, "f.yaml")
    assert [f.code for f in found] == [code]


def test_null_is_absent():
    """As the API server drops nulls."""
    assert findings("  applyPolicy: null\n  variables: null") == []


def test_other_objects_are_passed_over_and_near_misses_are_not():
    """A ConfigMap is nobody's business; a rule of another version or kind is."""
    text = (
        "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: rulesengine.dev/v1\nkind: Rule\n---\n"
        "apiVersion: rulesengine.dev/v1alpha1\nkind: ClusterRul\n---\n"
        "apiVersion: rulesengine.io/v1alpha1\nkind: Rule\n"
    )
    _, found = api.rules_from(text, "f.yaml")
    assert [f.code for f in found] == ["RE111", "RE111", "RE111"]


def test_the_same_rule_twice_is_found():
    """In one file, the second would silently win."""
    text = RULE.format(rest="", kind="ClusterRule", more="")
    _, found = api.rules_from(f"{text}---{text}", "f.yaml")
    assert [f.code for f in found] == ["RE109"]


def test_a_rule_from_the_cluster_keeps_server_fields_out_of_the_way():
    """managedFields, uid, status: no findings; uid and generation are there."""
    (body,) = api.load_objects(RULE.format(rest="", kind="ClusterRule", more=""), "f")
    body["metadata"] |= {
        "uid": "u", "generation": 3, "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl"}], "finalizers": ["rulesengine.dev/cleanup"],
    }  # fmt: skip
    body["status"] = {"anything": ["at", "all"]}
    model = api.rule_from_object(body)
    assert (model.uid, model.generation, model.locate(("spec",))) == ("u", 3, None)


def test_a_rule_that_nests_too_deep_raises_a_finding():
    """Whoever may write rules must not be able to stop the engine."""
    (body,) = api.load_objects(RULE.format(rest="", kind="ClusterRule", more=""), "f")
    deep = []
    for _ in range(5000):
        deep = [deep]
    body["spec"]["resources"][0]["template"]["x"] = deep
    with pytest.raises(FindingsError, match="RE005"):
        api.rule_from_object(body)


@pytest.mark.parametrize("body", [{}, {"kind": "Rule"}, {"kind": 3}, {"apiVersion": None, "kind": None}])
def test_what_is_no_rule_raises_findings(body):
    """From a cluster, too, only findings come."""
    with pytest.raises(FindingsError):
        api.rule_from_object(body)
