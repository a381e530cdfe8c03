"""The player sees what is otherwise: every expectation can fail, and says where and what."""

from __future__ import annotations

import pytest

from rulesengine.testing import embedded_stage, play, read_case
from tests.unit.testing.conftest import RULE, SOURCE, TWIN


async def test_what_holds_passes(verdict_of) -> None:
    """Every verb and every kind of expectation once, all of it true."""
    verdict = await verdict_of(f"""
steps:
- expect:
    objects: [{{{TWIN}, data: {{of: a}}}}]
    changes: {{created: 1, updated: 0, deleted: 0, status: 0}}
    rule: {{status: {{converged: 1, failed: 0}}}}
    events: [{{reason: Applied, type: Normal, note: 1 created, regarding: {{kind: ConfigMap, name: s}}, count: 1}}]
    cel: ["find('v1', 'ConfigMap', 'default', 's-twin').data.of == 'a'", "objects.exists(o, o.kind == 'ClusterRule')"]
- do: [{{patch: {{{SOURCE}, data: {{k: b}}}}}}]
  expect: {{objects: [{{{TWIN}, data: {{of: b}}}}], changes: {{created: 0, updated: 1}}}}
- do: [{{apply: {{{SOURCE}, data: {{k: c}}}}, as: somebody}}]
  expect: {{objects: [{{{TWIN}, data: {{of: c}}}}], rule: {{twins: {{status: {{matched: 1}}}}}}}}
- do: [{{replace: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: s, labels: {{team: blue}}}}, data: {{k: d}}}}}}]
  expect: {{objects: [{{{TWIN}, data: {{of: d}}}}]}}
- do: [{{restart: true}}, {{advance: 1d2h}}]
  expect: {{changes: {{created: 0, updated: 0, deleted: 0}}, events: []}}
- do:
  - {{create: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: t, labels: {{team: blue}}}}, data: {{k: z}}}}}}
  - {{status: {{apiVersion: v1, kind: Namespace, metadata: {{name: default}}, status: {{phase: Active}}}}}}
  expect: {{changes: {{created: 1}}}}
- do: [{{delete: {{{SOURCE}}}}}]
  expect: {{absent: [{{{TWIN}}}], rule: {{status: {{matched: 1}}}}}}
""")
    assert verdict.problems == ()


@pytest.mark.parametrize(
    ("expect", "path", "message"),
    [
        (f"objects: [{{{TWIN}, data: {{of: b}}}}]", ("objects", 0), "ConfigMap s-twin is otherwise"),
        (
            "objects: [{apiVersion: v1, kind: Secret, metadata: {name: q}}]",
            ("objects", 0),
            "Secret q is not there",
        ),
        (
            "objects: [{apiVersion: x.y/v1, kind: Nope, metadata: {name: q}}]",
            ("objects", 0),
            "Nope q is not there",
        ),
        (f"absent: [{{{TWIN}}}]", ("absent", 0), "ConfigMap s-twin is there"),
        ("changes: {created: 2, deleted: 0}", ("changes",), "created 1, expected 2"),
        ("changes: {status: 1}", ("changes",), "status 0, expected 1"),
        ("rule: {status: {converged: 2}}", ("rule",), "ClusterRule twins is otherwise"),
        ("rule: {twins: {status: {converged: 2}}}", ("rule", "twins"), "ClusterRule twins is otherwise"),
        ("events: [{reason: Applied, count: 2}]", ("events", 0), "1 events are like that, expected 2"),
        ("events: [{reason: Deleted}]", ("events", 0), "0 events are like that, expected any"),
        ("events: [{note: 7 created}]", ("events", 0), "0 events are like that, expected any"),
        ("cel: ['size(objects) == 0']", ("cel", 0), "size(objects) == 0\nis false"),
        ("cel: ['1']", ("cel", 0), "1\nyields int, not true"),
        ("cel: ['nothing.x']", ("cel", 0), "nothing.x\nundeclared reference to 'nothing'"),
        ("cel: ['1 +']", ("cel", 0), None),
        ("cel: [\"find('v1', 'ConfigMap', '', 'q').data.k == ''\"]", ("cel", 0), None),
    ],
)
async def test_what_is_otherwise_fails(verdict_of, expect: str, path: tuple, message: str | None) -> None:
    """At its place in the file, with what the engine did in that step."""
    verdict = await verdict_of(f"steps:\n- expect:\n    {expect}\n")
    (problem,) = verdict.problems
    assert problem.path == ("steps", 0, "expect", *path)
    assert message is None or problem.message == message
    assert verdict.step == 0
    assert verdict.did == ("create ConfigMap default/s-twin",)
    assert verdict.why == ("ClusterRule twins: matched 1, converged 1",)


async def test_everything_wrong_in_a_step_is_said_and_nothing_of_later_ones(verdict_of) -> None:
    verdict = await verdict_of(
        f"steps:\n- expect: {{absent: [{{{TWIN}}}], changes: {{created: 7}}}}\n- expect: {{changes: {{created: 8}}}}\n"
    )
    assert [problem.path for problem in verdict.problems] == [
        ("steps", 0, "expect", "absent", 0),
        ("steps", 0, "expect", "changes"),
    ]


async def test_a_difference_is_shown_as_a_diff(verdict_of) -> None:
    verdict = await verdict_of(f"steps:\n- expect: {{objects: [{{{TWIN}, data: {{of: b}}}}]}}\n")
    lines = verdict.problems[0].detail.splitlines()
    assert "-  of: b" in lines
    assert "+  of: a" in lines
    assert " kind: ConfigMap" in lines


async def test_lists_are_compared_whole(verdict_of) -> None:
    """As long and in the same order; items contain."""
    state = "- {apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 1, name: a}, {port: 2, name: b}]}}\n"
    service = "apiVersion: v1, kind: Service, metadata: {name: x}"
    for ports, holds in (
        ("[{port: 1}, {port: 2}]", True),
        ("[{port: 2}, {port: 1}]", False),
        ("[{port: 1}]", False),
        ("[{port: 1}, {port: true}]", False),
    ):
        steps = f"steps:\n- expect: {{objects: [{{{service}, spec: {{ports: {ports}}}}}]}}\n"
        assert (await verdict_of(steps, head=RULE + state)).passed is holds


async def test_what_the_server_refuses_is_said_at_its_place(verdict_of) -> None:
    verdict = await verdict_of(
        "steps:\n- do: [{patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: q}, data: {}}}]\n"
    )
    (problem,) = verdict.problems
    assert problem.path == ("steps", 0, "do", 0)
    assert problem.message == 'the server refused: 404 NotFound: configmaps "q" not found'


async def test_a_rule_that_is_no_good_says_what_is_wrong_at_once(verdict_of) -> None:
    """Without waiting for what cannot come."""
    head = RULE.replace("object.data.k", "objekt.data.k")
    verdict = await verdict_of(f"steps:\n- expect: {{objects: [{{{TWIN}}}]}}\n", head=head)
    assert not verdict.passed
    assert any("undeclared reference to 'objekt'" in line for line in verdict.why)
    assert verdict.seconds < 1.5


async def test_rules_that_shall_be_refused(verdict_of) -> None:
    """Exactly the given codes; a rule that is accepted fails."""
    bad = RULE.replace("object.data.k", "objekt.data.k")
    assert (await verdict_of("rejects: [RE202]\n", head=bad)).passed
    other = await verdict_of("rejects: [RE104]\n", head=bad)
    assert other.problems[0].message == "expected RE104, found RE202"
    accepted = await verdict_of("rejects: [RE202]\n")
    assert accepted.problems[0].message == "expected RE202, found nothing"


@pytest.mark.parametrize(("settled", "problems"), [("true", 1), ("false", 0)])
async def test_what_does_not_stay_settled_fails(settled: str, problems: int) -> None:
    """A write after the last step, here because somebody interferes before the restart."""
    case = read_case(
        RULE + f"steps:\n- expect: {{changes: {{created: 1}}}}\nsettled: {settled}\n", "case.yaml"
    )
    async with embedded_stage(case) as stage:
        restart = stage.running.restart

        async def interfered() -> None:
            await stage.user.remove({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s-twin"}})
            await restart()

        stage.running.restart = interfered
        verdict = await play(case, stage)
    messages = [problem.message for problem in verdict.problems]
    assert messages == ["it is not settled: 1 more writes after a restart"] * problems


async def test_faults(verdict_of) -> None:
    """Watches that end, or forget, and writes that are refused: the engine comes through."""
    verdict = await verdict_of(f"""
steps:
- expect: {{changes: {{created: 1}}}}
- do: [{{fault: {{watch: drop}}}}, {{patch: {{{SOURCE}, data: {{k: b}}}}}}]
  expect: {{objects: [{{{TWIN}, data: {{of: b}}}}], changes: {{updated: 1}}}}
- do: [{{fault: {{watch: expire, times: 2}}}}, {{patch: {{{SOURCE}, data: {{k: c}}}}}}]
  expect: {{objects: [{{{TWIN}, data: {{of: c}}}}], changes: {{updated: 1}}}}
- do: [{{fault: {{write: 500, times: 2}}}}, {{patch: {{{SOURCE}, data: {{k: d}}}}}}]
  expect: {{objects: [{{{TWIN}, data: {{of: d}}}}], changes: {{updated: 1}}}}
- do: [{{fault: {{write: 429}}}}, {{patch: {{{SOURCE}, data: {{k: e}}}}}}]
  expect: {{objects: [{{{TWIN}, data: {{of: e}}}}], changes: {{updated: 1}}}}
- do: [{{fault: {{write: 409}}}}, {{patch: {{{SOURCE}, data: {{k: f}}}}}}]
  expect: {{objects: [{{{TWIN}, data: {{of: f}}}}], changes: {{updated: 1}}}}
""")
    assert verdict.problems == ()


async def test_a_refused_write_is_told(verdict_of) -> None:
    verdict = await verdict_of(f"""
steps:
- expect: {{}}
- do: [{{fault: {{write: 500}}}}, {{patch: {{{SOURCE}, data: {{k: d}}}}}}]
  expect: {{changes: {{updated: 2}}}}
""")
    assert verdict.did == (
        "update configmaps default/s-twin: refused with 500 InternalError",
        "update ConfigMap default/s-twin",
    )


async def test_time_is_where_the_case_says(verdict_of) -> None:
    when = '    - name: twin\n      includeWhen: ["now.getHours() < 10"]'
    head = 'clock: "2026-01-05T08:00:00Z"\n' + RULE.replace("    - name: twin", when)
    steps = f"""
steps:
- expect: {{objects: [{{{TWIN}}}]}}
- do: [{{advance: 2h}}]
  expect: {{absent: [{{{TWIN}}}], changes: {{deleted: 1}}}}
"""
    assert (await verdict_of(steps, head=head)).problems == ()
