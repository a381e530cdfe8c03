"""Broken case files: one message for each mistake, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulesengine.core.errors import FindingsError
from rulesengine.testing import may_be_case, read_case
from tests.unit.testing.conftest import RULE


def mistakes(text: str, file: str = "case.yaml") -> list[str]:
    with pytest.raises(FindingsError) as caught:
        read_case(text, file)
    found = caught.value.findings
    return [
        f"{f.code} {f.span.line}:{f.span.column} {f.message}" + (f" = {f.hint}" if f.hint else "")
        for f in found
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stepps: []", "RE101 16:1 unknown field 'stepps' = did you mean steps?"),
        ("steps: {}", "RE103 16:1 expected a list, found a mapping"),
        ("steps: [{doo: []}]", "RE101 16:10 unknown field 'doo' = did you mean do?"),
        ("steps: [{do: [{}]}]", "RE107 16:15 expected exactly one verb, found 0 = known: apply, create, replace, patch, delete, status, restart, advance, fault"),
        ("steps: [{do: [{restart: 1}]}]", "RE104 16:25 expected true"),
        ("steps: [{do: [{advance: soon}]}]", "RE106 16:25 expected a span of time = write it like 90s, 2h30m or 1d"),
        ("steps: [{do: [{fault: {write: 418}}]}]", "RE104 16:31 expected one of 409, 429, 500"),
        ("steps: [{do: [{fault: {watch: cut}}]}]", "RE104 16:31 expected one of drop, expire"),
        ("steps: [{do: [{fault: {times: 3}}]}]", "RE107 16:16 expected exactly one of watch and write"),
        ("steps: [{do: [{delete: {kind: A, metadata: {name: x}}}]}]", "RE102 16:16 an object needs apiVersion"),
        ("steps: [{do: [{delete: {apiVersion: v1, kind: A}}]}]", "RE102 16:16 an object needs metadata.name"),
        ("steps: [{do: [{delete: x}]}]", "RE103 16:24 expected an object, found text"),
        ("steps: [{expect: {changes: {created: -1}}}]", "RE103 16:38 expected a count, found an integer"),
        ("steps: [{expect: {changes: {made: 1}}}]", "RE101 16:29 unknown field 'made' = known: created, updated, deleted, status"),
        ("steps: [{expect: {rule: {tvins: {status: {}}}}}]", "RE101 16:26 unknown field 'tvins' = did you mean twins?"),
        ("steps: [{expect: {cel: [1]}}]", "RE103 16:25 expected text, found an integer"),
        ("steps: [{expect: {events: [{raeson: x}]}}]", "RE101 16:29 unknown field 'raeson' = did you mean reason?"),
        ("steps: []\nclock: noon", 'RE106 17:8 expected a time = write it like "2026-01-05T08:00:00Z"'),
        ("steps: []\nsettled: 1", "RE103 17:10 expected true or false, found an integer"),
        ("steps: []\ncrds: [no.yaml]", "RE106 17:8 file no.yaml cannot be read: No such file or directory = names are relative to the case's own file"),
        ("steps: []\ncrds: [{}]", None),
    ],
)  # fmt: skip
def test_one_mistake_is_one_message(text: str, message: str | None) -> None:
    found = mistakes(RULE + text + "\n")
    if text.startswith("stepps"):
        assert found.pop(0).startswith("RE107 1:1 expected either steps or rejects")
    assert message is None or found == [message]


def test_all_mistakes_are_said_at_once() -> None:
    assert len(mistakes(RULE + "steps: [{doo: 1}, {do: [{advance: 1}]}]\nclock: x\n")) == 3


def test_a_case_needs_steps_or_rejects_and_not_both() -> None:
    assert mistakes(RULE)[0].startswith("RE107")
    assert mistakes(RULE + "steps: []\nrejects: [RE104]\n")[0].startswith("RE107")


def test_text_that_is_no_yaml_and_several_documents() -> None:
    assert mistakes("rules: [")[0].startswith("RE002")
    with pytest.raises(FindingsError, match="expected one document with a case, found 2"):
        read_case("steps: []\n---\nsteps: []\n", "case.yaml")


def test_rules_crds_and_state_come_from_files(tmp_path: Path) -> None:
    """Relative to the case; a folder means all in it; the rule beside the cases is the default."""
    cases = tmp_path / "cases"
    cases.mkdir()
    rule = "apiVersion: rulesengine.dev/v1alpha1\nkind: ClusterRule\nmetadata: {name: %s}\nspec: {}\n"
    (tmp_path / "rule.yaml").write_text(rule % "one" + "---\n" + rule % "two")
    state = cases / "state"
    state.mkdir()
    (state / "a.yaml").write_text("apiVersion: v1\nkind: A\nmetadata: {name: a}\n")
    (state / "b.json").write_text('{"apiVersion": "v1", "kind": "A", "metadata": {"name": "b"}}')
    case = read_case("steps: []\nstate: [state, state/a.yaml]\n", str(cases / "c.yaml"))
    assert [rule.value["metadata"]["name"] for rule in case.rules] == ["one", "two"]
    assert [body["metadata"]["name"] for body in case.state] == ["a", "b", "a"]


def test_what_is_no_rule_is_not_taken_for_one() -> None:
    text = "rules: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}]\nsteps: []\n"
    assert mistakes(text) == ["RE111 1:39 expected a ClusterRule or a Rule here"] or mistakes(text)[
        0
    ].startswith("RE111")


def test_which_files_of_a_folder_are_cases() -> None:
    assert may_be_case("steps: []", "x.yaml")
    assert may_be_case("rejects: []", "x.yaml")
    assert not may_be_case("kind: ConfigMap\nsteps: []", "x.yaml")
    assert not may_be_case("a: b", "x.yaml")
    assert not may_be_case("[1", "rules/x.yaml")
    assert may_be_case("[1", "rules/cases/x.yaml")
