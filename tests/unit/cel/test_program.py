"""What a compiled expression says of itself: problems with places, reads, references."""

from __future__ import annotations

import pytest

from rulesengine import cel
from rulesengine.core.errors import EvaluationError
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import builtin

DEPLOYMENT = cel.types.from_schema(builtin.schema(GroupVersionKind("apps", "v1", "Deployment")))
ENV = cel.Env({"object": DEPLOYMENT, "resources": cel.types.DYN, "x": cel.types.DYN})


@pytest.mark.parametrize(
    ("text", "code", "offset", "hint"),
    [
        ("object.spec.replica", "RE203", 11, "replicas"),
        ("objct.spec", "RE202", 0, "object"),
        ("1 + 'a'", "RE204", 2, "string("),
        ("object.spec.replicas &&", "RE201", 22, ""),
        ("x.y(", "RE201", 3, ""),
        ("'abc", "RE201", 0, ""),
        ("x.foo()", "RE202", 2, ""),
        ("9223372036854775808", "RE201", 0, ""),
        ("object.metadata.name.startWith('a')", "RE202", 21, "startsWith"),
    ],
)
def test_a_mistake_is_found_at_its_character(text: str, code: str, offset: int, hint: str) -> None:
    """With what to do, where that can be guessed."""
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(text, ENV)
    problem = caught.value.problems[0]
    assert (problem.code, problem.offset) == (code, offset)
    assert hint in problem.hint


def test_all_problems_come_at_once() -> None:
    """One run shows everything."""
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("a + b + object.c", ENV)
    assert len(caught.value.problems) == 3


def test_a_predicate_yields_bool() -> None:
    """Anything else is a mistake where a condition stands."""
    with pytest.raises(cel.CompileError):
        cel.compile("object.spec.replicas", ENV, expect=cel.types.BOOL)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("object.spec.replicas > 1", {("object", "spec", "replicas")}),
        ("has(object.metadata.labels)", {("object", "metadata", "labels")}),
        ("object.metadata.?labels[?'a'].orValue('')", {("object", "metadata", "labels", "a")}),
        ("object.metadata.labels[x]", {("object", "metadata", "labels", "*"), ("x",)}),
        (
            "object.spec.template.spec.containers.all(c, c.image == '')",
            {
                ("object", "spec", "template", "spec", "containers"),
                ("object", "spec", "template", "spec", "containers", "*", "image"),
            },
        ),
        ("[1].map(object, object + 1)", set()),
        ("cel.bind(o, object.spec, o.replicas)", {("object", "spec"), ("object", "spec", "replicas")}),
    ],
)
def test_reads_are_the_paths_from_a_declared_name(text: str, reads: set[tuple[str, ...]]) -> None:
    """Through macros and bindings; shadowed names are nobody's."""
    assert cel.compile(text, ENV).reads == reads


def test_references_tell_waiting_from_looking() -> None:
    """A plain read waits, `.?`, `[?]` and has() only look."""
    found = cel.compile("resources.a.b == 1 || resources.?c.hasValue() || has(resources.d)", ENV).references(
        "resources"
    )
    assert found.plain == {"a"}
    assert found.observed == {"c", "d"}


def test_an_error_names_the_path_and_no_value() -> None:
    """The path says what was missing; messages never quote data."""
    program = cel.compile("x.secret[0].key == 'a'", ENV)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"x": {"secret": [{"other": "hunter2"}]}})
    assert caught.value.path == ("x", "secret", "*", "key")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "a" * 200_000,
        "!" * 5000 + "true",
        "[" * 400 + "]" * 400,
        "x" + ".a" * 5000,
        "1" + "+1" * 5000,
    ],
)
def test_nonsense_of_any_depth_is_a_finding(text: str) -> None:
    """Never a crash of the parser, whatever is typed."""
    with pytest.raises(cel.CompileError):
        cel.compile(text, ENV)


def test_an_expression_cannot_hang_the_engine() -> None:
    """Nested loops over many items stop at the budget."""
    program = cel.compile("x.all(a, x.all(b, x.all(c, a + b + c >= 0)))", ENV)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"x": list(range(2000))})
    assert caught.value.reason == "cost"


def test_celpy_is_the_door() -> None:
    """celpy's Environment with our runner behind it evaluates plain values."""
    from rulesengine.cel.environment import Environment, Runner

    env = Environment(annotations={"object": None}, runner_class=Runner)
    program = env.program(env.compile("string(object.a) + string(true)"))
    assert program.evaluate({"object": {"a": 1}}) == "1true"
