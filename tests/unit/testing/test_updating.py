"""What came out is written into the file, and nothing else of it changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulesengine import api
from rulesengine.testing import embedded_stage, play, read_case
from rulesengine.testing.updating import flow, updated
from rulesengine.testing.verdicts import Add, Remove, Replace
from tests.unit.testing.conftest import RULE, SOURCE, TWIN


@pytest.mark.parametrize(
    ("text", "correction", "expected"),
    [
        ("a: 1  # why\nb: 2\n", Replace(("a",), 7), "a: 7  # why\nb: 2\n"),
        ("a: {b: 1, c: 2}\n", Replace(("a", "c"), "x, y"), 'a: {b: 1, c: "x, y"}\n'),
        ("a:\n  b:\n  - 1\n  - 2\n# end\nc: 1\n", Replace(("a", "b"), [3]), "a:\n  b: [3]\n# end\nc: 1\n"),
        ("a: |\n  text\n  more\nb: 1\n", Replace(("a",), "new"), "a: new\nb: 1\n"),
        ("a: [1, 2, 3]\n", Remove(("a", 0)), "a: [2, 3]\n"),
        ("a: [1, 2, 3]\n", Remove(("a", 2)), "a: [1, 2]\n"),
        ("a: {b: 1, c: 2}\n", Remove(("a", "b")), "a: {c: 2}\n"),
        ("a:\n- x: 1\n  w: 2\n- z: 3 # z\n# end\n", Remove(("a", 0)), "a:\n- z: 3 # z\n# end\n"),
        ("a:\n- x: 1\n  w: 2\n", Remove(("a", 0, "w")), "a:\n- x: 1\n"),
        ("a: 1\nb: 2\n", Remove(("a",)), "b: 2\n"),
        ("a:\n- {b: 1}\n", Add(("a", 0), "c", {"d": 1}), "a:\n- {b: 1, c: {d: 1}}\n"),
        ("a:\n- b: 1 # b\n- e: 1\n", Add(("a", 0), "c", {"d": 1}), "a:\n- b: 1 # b\n  c:\n    d: 1\n- e: 1\n"),
        ("a:\n- b: 1", Add(("a", 0), "c", 2), "a:\n- b: 1\n  c: 2\n"),
        ("a:\n- b: 1\n  c:\n", Add(("a", 0), "c", {"d": 1}), "a:\n- b: 1\n  c: {d: 1}\n"),
        # no place of its own in the text: left as it is
        ("x: &x {b: 1}\na:\n  <<: *x\n", Replace(("a", "b"), 2), "x: &x {b: 1}\na:\n  <<: *x\n"),
        ("a: [&x {b: 1}, *x]\n", Replace(("a", 1, "b"), 2), "a: [&x {b: 1}, *x]\n"),
        ("a:\n- x: 1\n  w: 2\n", Remove(("a", 0, "x")), "a:\n- x: 1\n  w: 2\n"),
    ],
)  # fmt: skip
def test_one_correction(text: str, correction: object, expected: str) -> None:
    assert updated(text, [correction]) == expected


def test_several_corrections_do_not_move_each_other() -> None:
    text = "a: [1, 2, 3]\nb: {c: 1, d: 2}\n"
    given = [Remove(("a", 0)), Replace(("b", "c"), 9), Replace(("a", 1), 7), Remove(("b", "d"))]
    assert updated(text, given) == "a: [7, 3]\nb: {c: 9}\n"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs", "S"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc: ,{}#-'\"", min_size=1), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(VALUES)
def test_flow_style_reads_back(value: object) -> None:
    """Whatever the value, within a flow collection and a block one."""
    (document,) = api.load(f"a: {{b: {flow(value)}, c: 1}}\nd: {flow(value)}\n", "x").documents
    assert document.value == {"a": {"b": value, "c": 1}, "d": value}


async def test_a_case_that_was_updated_holds() -> None:
    """Whatever was wrong in it, and what a silent step came to stands in it."""
    text = (
        RULE
        + f"""\
steps:
- expect:   # what comes first
    objects: [{{{TWIN}, data: {{of: x}}}}, {{apiVersion: v1, kind: Secret, metadata: {{name: q}}}}]
    absent: [{{{TWIN}}}]
    changes: {{created: 7}}
    rule: {{status: {{converged: 3}}}}
    events: [{{reason: Applied, count: 9}}]
- do: [{{patch: {{{SOURCE}, data: {{k: b}}}}}}]
"""
    )
    case = read_case(text, "case.yaml")
    async with embedded_stage(case) as stage:
        verdict = await play(case, stage, all_steps=True)
    assert not verdict.passed
    better = updated(text, verdict.corrections)
    assert better.startswith(text[: text.index("    objects:")])
    case = read_case(better, "case.yaml")
    assert case.steps[0].expect is not None
    assert case.steps[0].expect.changes == {"created": 1}
    assert case.steps[1].expect is not None
    assert case.steps[1].expect.changes == {"created": 0, "updated": 1, "deleted": 0}
    assert case.steps[1].expect.objects[0]["data"] == {"of": "b"}
    async with embedded_stage(case) as stage:
        assert (await play(case, stage)).problems == ()
