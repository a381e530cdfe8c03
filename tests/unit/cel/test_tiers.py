"""The fast tier says what the exact tier says, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulesengine.cel import exact, fast
from rulesengine.cel.parse import parse
from rulesengine.cel.values import equals
from rulesengine.core.errors import EvaluationError, Waiting

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text("ab1", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("abc"), v, max_size=3),
    max_leaves=8,
)
ATOMS = st.sampled_from(
    [
        *("x", "y", "x.a", "y.b", "x.?a.orValue(y)", "x[?'b'].orValue(1)", "x.?a[?'c'].orValue('d')"),
        *(
            "1",
            "2.0",
            "'a'",
            "true",
            "null",
            "has(x.a)",
            "size(y)",
            "string(x)",
            "x['a']",
            "[x, 1]",
            "{'a': y}",
        ),
    ]
)
BINARY = st.sampled_from(["+", "-", "==", "!=", "<", ">=", "&&", "||", "in"])
MACROS = st.sampled_from(["all(i, {0})", "exists(i, {0})", "filter(i, {0})", "map(i, {0})", "map(i, {0}, i)"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda e: (
        st.builds("({} {} {})".format, e, BINARY, e)
        | st.builds("({} ? {} : {})".format, e, e, e)
        | st.builds("(!{})".format, e)
        | st.builds(
            lambda over, macro, body: f"{over}.{macro.format(body.replace('x', 'i'))}", ATOMS, MACROS, e
        )
        | st.builds("{}.startsWith({})".format, ATOMS, e)
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, VALUES, VALUES)
def test_fast_is_exact_or_silent(text: str, x: Any, y: Any) -> None:
    """Whatever the fast tier returns is what the exact tier returns, with the same types."""
    names = {"x": x, "y": y}
    try:
        node = parse(text)
    except Exception:  # noqa: BLE001 - not every composition is in the grammar
        return
    quick = fast.compiled(node)
    if quick is None:
        return
    try:
        found = quick(names)
    except Exception:  # noqa: BLE001 - unusual: the exact tier decides
        return
    expected = exact.compiled(node)(names)
    assert equals(found, expected) or (found != found and expected != expected), text  # noqa: PLR0124 - NaN
    assert type(found) is type(expected), text


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("x == 1", True, False),
        ("x == true", 1, False),
        ("x == 1", 1.0, True),
        ("x + 1", 2**63 - 1, EvaluationError),
        ("x[-1]", [1], EvaluationError),
        ("1 in x", {"a": 1}, False),
        ("x.a", {}, EvaluationError),
        ("has(x.a.b)", {}, EvaluationError),
        ("has(x.a)", {}, False),
        ("x || true", 1, True),
        ("x && false", 1, False),
        ("x || false", 1, EvaluationError),
        ("string(x)", 5242880.0, "5242880"),
        ("string(x)", True, "true"),
        ("[1, 'a'].all(i, i == 1 || x)", True, True),
        ("x.exists(i, i.a == 1)", [{}, {"a": 1}], True),
        ("7 / 2 * x", 2, 6),
        ("-7 % 3", 0, -1),
        ("{1: 'a'}[1.0]", 0, "a"),
        ("'é'.size() + x", 1, 2),
        ("x.?a.orValue(5)", {"a": None}, None),
    ],
)
def test_semantics_that_break_naive_implementations(text: str, x: Any, expected: Any) -> None:
    """Through both tiers, as a rule evaluates."""
    from rulesengine import cel

    program = cel.compile(text, cel.Env({"x": cel.types.DYN}))
    if expected is EvaluationError:
        with pytest.raises(EvaluationError):
            program.evaluate({"x": x})
    else:
        found = program.evaluate({"x": x})
        assert (found, type(found)) == (expected, type(expected))


class Waits(dict[str, Any]):
    """A lazy mapping whose one value is not there yet."""

    def __missing__(self, key: str) -> Any:
        raise Waiting(f"resource {key}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.db || true", True),
        ("x.db && false", False),
        ("x.db || false", None),
        ("x.db == 1 || x.a.b.c", None),
    ],
)
def test_waiting_is_absorbed_like_an_error_and_wins_over_one(text: str, expected: bool | None) -> None:
    """Where the other side decides, nobody waits; else waiting is what is reported."""
    from rulesengine import cel

    program = cel.compile(text, cel.Env({"x": cel.types.DYN}))
    if expected is None:
        with pytest.raises(Waiting):
            program.evaluate({"x": Waits(a={})})
    else:
        assert program.evaluate({"x": Waits()}) is expected
