"""The fast tier says what the exact tier says, or nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulesengine import cel
from rulesengine.cel import costs, exact, fast, loops, source
from rulesengine.cel.check import check
from rulesengine.cel.parse import parse
from rulesengine.cel.tokens import SyntaxProblem
from rulesengine.cel.types import Type
from rulesengine.cel.values import equals
from rulesengine.core.errors import EvaluationError, Waiting
from tests.expressions import Generator

SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 2, 7, 2**63 - 1, -(2**63), 2**53])
    | st.sampled_from([0.0, 1.0, -0.5, 2.0**53, float("nan"), float("inf")])
    | st.integers(-(2**63), 2**63 - 1)
    | st.text("ab1é", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("abc"), v, max_size=3),
    max_leaves=8,
)
ATOMS = st.sampled_from(
    [
        *("x", "y", "x.a", "y.b", "x.a.b", "x.?a.orValue(y)", "x[?'b'].orValue(1)"),
        *("x.?a[?'c'].orValue('d')", "optional.of(x)"),
        *("1", "0", "-3", "2.0", "1u", "'a'", "''", "true", "null", "has(x.a)", "has(x.a.b)", "[]", "{}"),
        *("size(y)", "string(x)", "x['a']", "x[0]", "x[y]", "[x, 1]", "{'a': y}", "x.?a", "x[?0]", "x.?a.b"),
        *("x.?a.optMap(o, o)", "x.?a.optFlatMap(o, y.?b)", "x.?a.or(y.?b)", "x.?a.hasValue()"),
        *("x.?a.or(y.?b).orValue(0)", "'a' in x", "x in ['a', 'b']", "x in [1, 2]", "y.size()", "int(x)"),
    ]
)  # fmt: skip
BINARY = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"])
MACROS = st.sampled_from(
    ["all(i, {0})", "exists(i, {0})", "exists_one(i, {0})", "filter(i, {0})", "map(i, {0})", "map(i, {0}, i)",
     "all(k, i, {0})", "transformList(k, i, {0})", "transformMap(k, i, {0})", "transformMap(k, i, {0}, k)"]
)  # fmt: skip
MEMBERS = st.sampled_from(["startsWith", "endsWith", "contains", "matches", "split", "indexOf"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda e: (
        st.builds("({} {} {})".format, e, BINARY, e)
        | st.builds("({} ? {} : {})".format, e, e, e)
        | st.builds("(!{})".format, e)
        | st.builds(
            lambda over, macro, body: f"{over}.{macro.format(body.replace('x', 'i'))}", ATOMS, MACROS, e
        )
        | st.builds("{}.{}({})".format, ATOMS, MEMBERS, e)
        | st.builds("cel.bind(y, {}, {})".format, e, e)
        | st.builds("{}.orValue({})".format, ATOMS, e)
    ),
    max_leaves=7,
)
ANY = cel.types.DYN
TYPES = st.sampled_from(
    [ANY, ANY, cel.types.INT, cel.types.STRING, cel.types.DOUBLE, cel.types.BOOL, cel.types.list_of(ANY)]
    + [cel.types.map_of(cel.types.STRING, each) for each in (ANY, cel.types.DOUBLE, cel.types.list_of(ANY))]
)


@settings(max_examples=500, deadline=None)
@given(EXPRESSIONS, VALUES, VALUES, TYPES)
def test_fast_is_exact_or_silent(text: str, x: Any, y: Any, kind: Type) -> None:
    """Whatever the fast tier returns is what the exact tier returns, with the same types.

    Whatever type was declared and whatever the value really is.
    """
    try:
        checked = check(parse(text), cel.Env({"x": kind, "y": ANY}))
    except SyntaxProblem:
        return
    quick, bound = fast.compiled(checked)
    if quick is None:
        return
    names = {"x": x, "y": y}
    try:
        found = quick(names)
    except NameError:  # a mistake of ours in the generated source
        raise
    except Exception:  # noqa: BLE001 - unusual: the exact tier decides
        return
    expected, cost = exact.compiled(checked)(names)
    assert same(found, expected), text
    assert bound is None or cost <= bound, text


@pytest.mark.parametrize("limit", [20, 60, 200])
def test_the_fast_tier_stops_where_the_exact_one_does(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget so small that most expressions are near it, nothing over it gets through."""
    for module in (exact, loops, costs, fast):
        monkeypatch.setattr(module, "LIMIT", limit)
    monkeypatch.setattr(source, "LONGEST_OUTSIDE", 20)
    monkeypatch.setattr(source, "LONGEST_IN_LOOPS", 10)
    generator = Generator(random.Random(limit))
    answered = 0
    for _ in range(600):
        text, names = generator.expression(), generator.names()
        checked = check(parse(text), cel.Env(dict.fromkeys(names, cel.types.DYN)))
        quick, _bound = fast.compiled(checked)
        if checked.problems or quick is None:
            continue
        try:
            found = quick(names)
        except Exception:  # noqa: BLE001 - unusual: the exact tier decides
            continue
        assert same(found, exact.compiled(checked)(names)[0]), text
        answered += 1
    assert answered > 50


def same(found: Any, expected: Any) -> bool:
    """Equality with types, at any depth; NaN is NaN."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, dict):
        return list(found) == list(expected) and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, cel.values.Optional):
        return found.has == expected.has and same(found.value, expected.value)
    return equals(found, expected) or (found != found and expected != expected)  # noqa: PLR0124 - NaN


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("x == 1", True, False),
        ("x == true", 1, False),
        ("x == 1", 1.0, True),
        ("x == 0", False, False),
        ("x == 9007199254740993", 9007199254740992.0, True),
        ("x + 1", 2**63 - 1, EvaluationError),
        ("x * 2", 2**62, EvaluationError),
        ("x + 1.0", 1, EvaluationError),
        ("x[-1]", [1], EvaluationError),
        ("x[1]", {True: "a"}, EvaluationError),
        ("1 in x", {"a": 1}, False),
        ("1 in x", [True], False),
        ("'a' in x", "abc", EvaluationError),
        ("x.contains('a')", ["a"], EvaluationError),
        ("x.a", {}, EvaluationError),
        ("has(x.a.b)", {}, EvaluationError),
        ("has(x.a)", {}, False),
        ("has(x.a)", "a", False),
        ("x || true", 1, True),
        ("x && false", 1, False),
        ("x || false", 1, EvaluationError),
        ("!x", 1, EvaluationError),
        ("x ? 1 : 2", 1, EvaluationError),
        ("x < 2", True, EvaluationError),
        ("x < 2", 1.5, True),
        ("string(x)", 5242880, "5242880"),
        ("string(x)", 5242880.0, "5.24288e+06"),
        ("string(x)", True, "true"),
        ("[1, 'a'].all(i, i == 1 || x)", True, True),
        ("x.exists(i, i.a == 1)", [{}, {"a": 1}], True),
        ("x.all(i, i > 1)", [True, 0], False),
        ("7 / 2 * x", 2, 6),
        ("x / 2", -7, -3),
        ("x % 3", -7, -1),
        ("-7 % 3 + x", 0, -1),
        ("{1: 'a'}[dyn(1.0)]", 0, "a"),
        ("'é'.size() + x", 1, 2),
        ("x.?a.orValue(5)", {"a": None}, None),
        ("x.?a.orValue(5)", [], EvaluationError),
        ("x.map(i, i)", {"a": 1}, ["a"]),
        ("x.map(i, i)", "ab", EvaluationError),
        ("x.size()", "日本", 2),
    ],
)
def test_semantics_that_break_naive_implementations(text: str, x: Any, expected: Any) -> None:
    """Through both tiers, as a rule evaluates."""
    program = cel.compile(text, cel.Env({"x": cel.types.DYN}))
    if expected is EvaluationError:
        with pytest.raises(EvaluationError):
            program.evaluate({"x": x})
    else:
        found = program.evaluate({"x": x})
        assert (found, type(found)) == (expected, type(expected))


def test_true_and_one_are_two_keys() -> None:
    """Python takes them for one; maps that have both stay right wherever they are read."""
    made = cel.compile("{1: 'one', true: 'yes', 0: 'zero'}", cel.Env({})).evaluate({})
    env = cel.Env({"m": cel.types.DYN})
    for text, expected in {
        "m[true] + m[1] + m[1u] + m[0]": "yesoneonezero",
        "m.map(k, m[k])": ["one", "yes", "zero"],
        "m.transformList(k, v, v)": ["one", "yes", "zero"],
        "m == {true: 'yes', 0: 'zero', 1: 'one'}": True,
        "false in m": False,
        "m.exists(k, k == true)": True,
        "size(m)": 3,
    }.items():
        assert cel.compile(text, env).evaluate({"m": made}) == expected, text
    assert cel.to_json(made) == {"1": "one", "true": "yes", "0": "zero"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))", True),
        ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", True),
        ("ip('::ffff:c0a8:1') == ip('192.168.0.1')", True),
        ("string(cidr('2001:DB8::/32'))", "2001:db8::/32"),
        (
            "isIP('10.0.0.256') || isIP('fe80::1%eth0') || isCIDR('10.0.0.0/33') || isCIDR('10.0.0.0/08')",
            False,
        ),
        ("string(timestamp('1969-12-31T22:00:00-05:30') + duration('1s'))", "1969-12-31T22:00:01-05:30"),
        ("timestamp('2020-01-01T01:00:00+01:00') == timestamp('2020-01-01T00:00:00Z')", True),
        ("timestamp('2020-01-01T01:00:00+01:00').getHours()", 0),
        ("string(duration('1h30m') - duration('100ms'))", "5399.9s"),
        ("type(ip('::1')) == net.IP && ip('::1').isLoopback()", True),
        ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
    ],
)
def test_what_libraries_yield(text: str, expected: Any) -> None:
    """As Kubernetes' libraries have them."""
    assert cel.compile(text, cel.Env({})).evaluate({}) == expected


def test_a_text_cannot_grow_without_end() -> None:
    """What replace() puts in can be what it made before."""
    text = "cel.bind(a, s.replace('', s), cel.bind(b, a.replace('', a), b.size()))"
    with pytest.raises(EvaluationError) as caught:
        cel.compile(text, cel.Env({"s": cel.types.STRING})).evaluate({"s": "x" * 3000})
    assert caught.value.reason == "cost"


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
        ("[1, 2].all(i, i > 1 && x.db)", False),
        ("[1].exists(i, x.db == i)", None),
        ("has(x.db)", False),
        ("x.?db.hasValue()", False),
        ("x.db ? 1 : 2", None),
        ("[1].map(i, x.db)", None),
    ],
)
def test_waiting_is_absorbed_like_an_error_and_wins_over_one(text: str, expected: bool | None) -> None:
    """Where the other side decides, nobody waits; else waiting is what is reported."""
    program = cel.compile(text, cel.Env({"x": cel.types.DYN}))
    if expected is None:
        with pytest.raises(Waiting):
            program.evaluate({"x": Waits(a={})})
    else:
        assert program.evaluate({"x": Waits()}) is expected


@pytest.mark.parametrize(
    "text",
    [
        "object.spec.replicas > 1 && has(object.metadata.labels) && 'app' in object.metadata.labels",
        "object.metadata.?labels[?'app'].orValue('') == 'web'",
        "object.spec.containers.all(c, c.image.startsWith('reg/') && !c.image.endsWith(':latest'))",
        "object.items.filter(p, p.status.phase == 'Running').map(p, p.metadata.name)",
        "{'name': object.metadata.name + '-x', 'n': object.spec.replicas * 2}",
        "object.metadata.name.matches('^[a-z]+$') ? 'yes' : 'no'",
        "object.a.split(',').size() > int(object.b)",
        "cel.bind(a, object.metadata, a.name == a.namespace)",
        "object.?a.optMap(v, v + 1).orValue(0)",
    ],
)
def test_what_rules_are_made_of_is_fast(text: str) -> None:
    """A change that sends everyday expressions to the exact tier is noticed."""
    checked = check(parse(text), cel.Env({"object": ANY}))
    assert fast.compiled(checked)[0] is not None
