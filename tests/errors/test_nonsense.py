"""Nonsense gives findings, never an exception: 2,000 documents, and what hypothesis thinks of."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulesengine import api, compiler, schema
from rulesengine.core import json
from rulesengine.core.errors import EvaluationError, FindingsError
from rulesengine.core.findings import Finding

ROOT = Path(__file__).parents[2]
RULES = [path.read_text() for path in sorted(ROOT.glob("examples/*/rule.yaml"))]
RULES += [path.read_text() for path in sorted(ROOT.glob("tests/errors/RE[13]*/rule.yaml"))]
KINDS = {resource.gvk: resource for resource in schema.builtin.resources()}
SEED, DOCUMENTS = 20261201, 2000

PIECES = [
    "${", "}", "${}", "$${", "'", '"', "'''", "\\", "{", "[", "]", ": ", "- ", "\n", "\n  ", "\t", "|", ">",
    "&a ", "*a", "!!int ", "<<: ", "? ", "#", "null", "~", "yes", "0x", "1e999", ".inf", "-1", "9" * 30,
    "é", "\u202e", "\x00", "\ud800", "\ufeff", "object", "variables.x", "resources.a.b", "resources", "ready",
    "now", "lookups.x", "self", "omit()", "optional.none()", " + ", " && ", "==", "?", "[?", ".?", "has(",
    ")", "(", "in", "1/0", "[1,2].map(x, x)", "r'", "b'", "`", "//", "metadata", "template", "kind",
    "name", "spec", "for", "---\n", "a" * 300, "{" * 50, "(" * 50,
]  # fmt: skip
VALUES = [
    None, True, 0, -1, 1.5, 10**30, "", "${", "${object}", "${x.}", "x ${1} y", [], {}, [None], {"": None},
    {"a": {"b": []}},
]  # fmt: skip


NAMES = [
    {
        "object": found,
        "namespaceObject": None,
        "variables": {},
        "resources": {"a": found},
        "ready": {},
        "rule": found,
    }
    for found in (
        {},
        {"metadata": {"name": "a", "labels": {"x": None}}, "spec": {"replicas": 10**20}},
        None,
        [1.5],
    )
]


def render(rule, names):
    """Templates of rules that did compile give objects or evaluation errors, whatever the source is."""
    for resource in rule.resources:
        try:
            body = resource.template.render(names)
        except EvaluationError:
            continue
        assert json.decode(json.encode(body))["metadata"]["name"]


def check(text):
    models, findings = api.rules_from(text, "rule.yaml")
    for model in models:
        try:
            rule = compiler.compile_rule(model, schemas=schema.builtin.schema, resources=KINDS.get)
        except FindingsError as error:
            findings += error.findings
            continue
        findings += rule.warnings
        for names in NAMES:
            render(rule, names)
    for finding in findings:
        assert isinstance(finding, Finding)
        assert finding.span is not None
        assert finding.render()
    return findings


def broken_text(rng, text):
    """A rule with a few pieces put in, taken out or doubled."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice([0, 0, 1, 5, 40]))
        text = text[:at] + rng.choice(PIECES) + text[end:]
    return text


def broken_tree(rng, value):
    """A rule with some value or key replaced."""
    if rng.random() < 0.15:
        return rng.choice(VALUES)
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        changed = {**value, key: broken_tree(rng, value[key])}
        if rng.random() < 0.1:
            changed[rng.choice(["x", "", "name", "${a}", "é" * 80])] = changed.pop(key)
        return changed
    if isinstance(value, list) and value:
        index = rng.randrange(len(value))
        return [*value[:index], broken_tree(rng, value[index]), *value[index + rng.randint(0, 1) :]]
    if isinstance(value, str) and rng.random() < 0.7:
        return broken_text(rng, value)
    return rng.choice(VALUES)


@pytest.mark.parametrize("part", range(8))
def test_two_thousand_pieces_of_nonsense_give_findings(part):
    """Text and trees of real rules, broken at random (the same ones each time)."""
    rng = random.Random(SEED + part)
    found = 0
    for number in range(DOCUMENTS // 8):
        text = rng.choice(RULES)
        if number % 2:
            text = broken_text(rng, text)
        else:
            documents = [d.value for d in api.load(text, "rule.yaml").documents]
            if documents:
                text = "---\n".join(api.dump(broken_tree(rng, document)) for document in documents)
        found += bool(check(text))
    assert found > DOCUMENTS // 16


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(RULES), st.lists(st.tuples(st.integers(0, 4000), st.sampled_from(PIECES)), max_size=4))
def test_what_hypothesis_breaks_gives_findings(text, edits):
    """And shrinks, where it finds something."""
    for at, piece in edits:
        text = text[: at % (len(text) + 1)] + piece + text[at % (len(text) + 1) :]
    check(text)


BODY = st.recursive(
    st.sampled_from([value for value in VALUES if not isinstance(value, list | dict)])
    | st.sampled_from(PIECES).map(lambda piece: "${" + piece.replace("\ud800", "") + "}"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "name", "metadata", "x", "${a}"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(BODY)
def test_any_spec_from_a_cluster_gives_findings(body):
    """The engine reads rules that no file was checked for."""
    rule = {"apiVersion": api.API_VERSION, "kind": "ClusterRule", "metadata": {"name": "a"}}
    for spec in (body, {"for": body}, {"for": {"apiVersion": "v1", "kind": "Pod"}, "resources": body}):
        try:
            model = api.rule_from_object({**rule, "spec": spec})
            compiler.compile_rule(model, schemas=schema.builtin.schema)
        except FindingsError as error:
            shown = [finding.render() for finding in error.findings]
        else:
            continue
        assert shown
