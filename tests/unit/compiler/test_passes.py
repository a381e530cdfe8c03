"""From models to frozen rules: order, reads, policies, and every mistake at its place."""

import pytest

from rulesengine.compiler.rule import Adopt, Conflicts, Deletion, Mode, Owner
from tests.unit.compiler.rules import HEAD, MAP, compiled, data, problems


def entry(name, value="x", kind="ConfigMap", more=""):
    return (
        f"  - name: {name}\n{more}    template:\n      apiVersion: v1\n      kind: {kind}\n"
        f'      metadata: {{name: {name}, annotations: {{a: "{value}"}}}}\n'
    )


def order(*entries):
    rule = compiled("  resources:\n" + "".join(entries))
    return [resource.name for resource in rule.resources], {r.name: set(r.waits_on) for r in rule.resources}


def test_entries_come_after_what_they_read():
    """Otherwise they stay as declared."""
    names, waits = order(
        entry("a", "${resources.c.metadata.name}"),
        entry("b"),
        entry("c", "${resources.d.metadata.name}"),
        entry("d"),
    )
    assert names == ["b", "d", "c", "a"]
    assert waits == {"a": {"c"}, "b": set(), "c": {"d"}, "d": set()}


def test_reading_through_a_variable_counts():
    """A variable hides no dependency."""
    spec = "  variables:\n  - {name: x, expression: resources.b.metadata.name}\n"
    spec += "  - {name: z, expression: variables.x}\n"
    rule = compiled(spec + "  resources:\n" + entry("a", "${variables.z}") + entry("b"))
    assert [(r.name, set(r.waits_on)) for r in rule.resources] == [("b", set()), ("a", {"b"})]


def test_observing_makes_no_dependency_but_comes_after_where_it_can():
    """`resources.?X` never waits, not even for itself; what is seen is what this pass decided."""
    names, waits = order(
        entry("a", "${resources.?b.?metadata.?name.orValue('')}"),
        entry("b", "${resources.?a.?metadata.?name.orValue('')}"),
        entry("c", "${resources.?c.?metadata.?name.orValue('')}${resources.?d.hasValue()}"),
        entry("d"),
    )
    assert not any(waits.values())
    assert names.index("d") < names.index("c")


def test_conditions_of_an_entry_count_as_its_own():
    """includeWhen reads, so the entry comes after."""
    names, waits = order(entry("a", more='    includeWhen: ["has(resources.b.metadata)"]\n'), entry("b"))
    assert (names, waits["a"]) == (["b", "a"], {"b"})


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            [entry("a", "${resources.b.metadata.name}"), entry("b", "${resources.a.metadata.name}")],
            "a → b → a",
        ),
        ([entry("a", "${resources.a.metadata.name}")], "a reads itself"),
        (
            [
                entry("x", "${resources.a.metadata.name}"),
                entry("a", "${resources.b.metadata.name}"),
                entry("b", "${resources.c.metadata.name}"),
                entry("c", "${resources.a.metadata.name}"),
            ],
            "a → b → c → a",
        ),
    ],
)
def test_cycles_are_listed(entries, said):
    """The message names everyone on the cycle, and nobody else."""
    _, (finding,) = problems("  resources:\n" + "".join(entries))
    assert finding.code == "RE324"
    assert said in finding.message


def test_what_is_read_of_the_source_is_known_through_variables():
    """Shorter paths cover longer ones."""
    spec = (
        "  matchConditions:\n  - {name: a, expression: has(object.spec.nodeName)}\n"
        "  variables:\n  - {name: m, expression: object.metadata.labels}\n"
        '  - {name: sum, expression: "variables.m.size() + object.spec.containers.size()"}\n'
        "  - {name: unused, expression: namespaceObject.metadata.name}\n"
        "  resources:\n" + entry("a", "${variables.sum}${object.metadata.labels['x']}")
    )
    rule = compiled(spec)
    assert rule.source_reads >= {("metadata", "labels"), ("spec", "nodeName")}
    assert ("metadata", "labels", "x") not in rule.source_reads
    assert rule.reads_namespace


def test_reading_the_whole_source_is_the_empty_path():
    """The cache then keeps all of it."""
    assert compiled(data("{a: '${json.marshal(object)}'}")).source_reads == {()}


def test_policies_of_an_entry_stand_over_the_rules():
    """And both over the defaults."""
    spec = (
        "  applyPolicy: {adopt: Always, conflicts: Fail}\n  resources:\n"
        + entry("a", more="    applyPolicy: {adopt: Never, owner: None}\n".replace("None", '"None"'))
        + entry("b")
    )
    a, b = (resource.policy for resource in compiled(spec).resources)
    assert (a.adopt, a.conflicts, a.owner) == (Adopt.NEVER, Conflicts.FAIL, Owner.NONE)
    assert (b.adopt, b.conflicts, b.owner) == (Adopt.ALWAYS, Conflicts.FAIL, Owner.AUTO)


@pytest.mark.parametrize(
    ("rule", "own", "expected"),
    [("", "", Deletion.ORPHAN), ("Delete", "", Deletion.ORPHAN), ("", "Delete", Deletion.DELETE)],
)
def test_namespaces_are_kept_unless_their_entry_says_delete(rule, own, expected):
    """A rule-wide Delete is not about what takes everything else with it."""
    spec = f"  applyPolicy: {{deletion: {rule}}}\n" if rule else ""
    more = f"    applyPolicy: {{deletion: {own}}}\n" if own else ""
    (resource,) = compiled(spec + "  resources:\n" + entry("a", kind="Namespace", more=more)).resources
    assert resource.policy.deletion is expected


def test_the_rest_of_a_rule():
    """Mode, source, metadata, digest."""
    head = HEAD.replace("example", "example, labels: {a: b}, uid: u, generation: 4, resourceVersion: '1'")
    rule = compiled("  mode: DryRun\n", head=head)
    assert (rule.mode, rule.uid, rule.generation) == (Mode.DRY_RUN, "u", 4)
    assert rule.metadata == {"name": "example", "labels": {"a": "b"}, "uid": "u", "generation": 4}
    assert rule.digest == compiled("  mode: DryRun\n").digest != compiled("").digest


def test_a_namespaced_rule_has_its_own_namespace_only():
    """Whatever its file says of namespaces."""
    head = HEAD.replace("ClusterRule", "Rule").replace("example", "example, namespace: shop")
    rule = compiled("", head=head)
    assert rule.source.namespaces == {"shop"}
    assert rule.metadata["namespace"] == "shop"


def test_all_mistakes_come_at_once_in_the_files_order():
    """Syntax, names and fields of several entries."""
    spec = (
        "  matchConditions:\n  - {name: a, expression: object.metadata.name}\n"
        "  variables:\n  - {name: x, expression: 1 +}\n"
        "  resources:\n" + entry("a", "${nope}") + "      dat: {}\n"
    )
    found, _ = problems(spec)
    assert [(code[:3], line) for code, line, _ in found] == [("RE2", 7), ("RE2", 9), ("RE2", 15), ("RE3", 16)]


def test_a_problem_within_a_block_is_at_its_character():
    """The place is computed through YAML's own escapes and indentation."""
    spec = f"  resources:\n{MAP}      data:\n        a: |\n          first\n            host: ${{ nope }}\n"
    found, _ = problems(spec)
    assert [(line, column) for _, line, column in found] == [(15, 22)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("object.metadata.name", True),
        ("object.metadata.?labels['a'].size()", True),
        ("resources.made.data", True),
        ("variables.x", True),
        ("resources.example.com", False),
        ("object.example.com", False),
        ("variables.io", False),
        ("the object.metadata.name", False),
    ],
)
def test_text_that_reads_like_cel_is_refused_and_host_names_are_not(text, found):
    """Somebody forgot `${}`; the message shows how it is written."""
    spec = "  variables: [{name: x, expression: '1'}]\n" + data(f'{{a: "{text}"}}')
    _, findings = problems(spec)
    assert [f.code for f in findings] == (["RE303"] if found else [])
    assert all(f"${{{text}}}" in f.hint for f in findings)


def test_a_name_of_a_later_version_says_so():
    """`event` and `lookups` are no unknown names."""
    _, (finding,) = problems(data("{a: '${string(event)}'}"))
    assert finding.code == "RE110"
    assert "event" in finding.message


def test_unknown_kinds_are_not_held_against_a_template():
    """Their schema may come later."""
    template = "{apiVersion: x.io/v1, kind: Foo, metadata: {name: a, namespace: b}, any: [1]}"
    spec = f"  resources:\n  - name: a\n    template: {template}\n"
    assert compiled(spec).resources[0].gvk.kind == "Foo"


def test_source_status_has_one_template_per_field():
    """And three per condition; the message may be left out."""
    spec = (
        '  sourceStatus:\n    value: {phase: "${object.status.phase}", message: x}\n'
        '    conditions: [{type: Ready, status: "${ready.all(r, ready[r])}", reason: Yes}]\n'
    ).replace("Yes", '"Yes"')
    status = compiled(spec).source_status
    assert set(status.value) == {"phase", "message"}
    assert status.value["message"].render({}) == "x"
    (condition,) = status.conditions
    assert condition.status.render({"ready": {"a": True}}) is True
    assert condition.message.render({}) == ""
