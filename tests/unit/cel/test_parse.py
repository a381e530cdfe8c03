"""Text to trees: what the grammar takes, and what is said of everything else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulesengine import cel
from rulesengine.cel.parse import MAX_DEPTH, parse
from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, MapOf, Name, Node, Select, children
from rulesengine.cel.tokens import SyntaxProblem


def shown(node: Node) -> str:
    """A tree in one line, for comparing."""
    match node:
        case Literal(value=value):
            return repr(value)
        case Name(name=name):
            return name
        case Select():
            dot = ".?" if node.optional else "?." if node.test else "."
            return f"{shown(node.operand)}{dot}{node.field}"
        case Index():
            return f"{shown(node.operand)}[{'?' if node.optional else ''}{shown(node.key)}]"
        case Fold():
            parts = [*node.names, *(shown(each) for each in (node.condition, node.body) if each is not None)]
            return f"{shown(node.range)}.{node.kind}!({', '.join(parts)})"
        case ListOf():
            return f"[{', '.join(('?' if o else '') + shown(each) for each, o in node.items)}]"
        case MapOf():
            entries = [f"{'?' if o else ''}{shown(k)}: {shown(v)}" for k, v, o in node.entries]
            return f"{{{', '.join(entries)}}}"
        case Call():
            target = f"{shown(node.target)}." if node.target is not None else ""
            return f"{target}{node.function}({', '.join(map(shown, node.arguments))})"
        case _:
            return "?"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", "_+_(1, _*_(2, 3))"),
        ("1 - 2 - 3", "_-_(_-_(1, 2), 3)"),
        ("a || b && c", "_||_(a, _&&_(b, c))"),
        ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
        ("!a.b", "!_(a.b)"),
        ("-1", "-1"),
        ("-a", "-_(a)"),
        ("--1", "-_(-1)"),
        ("a == b in c", "@in(_==_(a, b), c)"),
        ("a.?b[?c].d", "a.?b[?c].d"),
        ("[1, ?a.?b, 2,]", "[1, ?a.?b, 2]"),
        ("{'a': 1, ?b: c,}", "{'a': 1, ?b: c}"),
        ("a.`b-c/d.e`", "a.b-c/d.e"),
        (".a.b", ".a.b"),
        ("has(a.b)", "a?.b"),
        ("a.all(i, i > 0)", "a.all!(i, _>_(i, 0))"),
        ("a.map(i, i > 0, i)", "a.map!(i, _>_(i, 0), i)"),
        ("a.exists_one(k, v, v)", "a.exists_one!(k, v, v)"),
        ("a.existsOne(v, v)", "a.exists_one!(v, v)"),
        ("a.transformMap(k, v, v > 1, v)", "a.transformMap!(k, v, _>_(v, 1), v)"),
        ("cel.bind(a, 1, a)", "1.bind!(a, a)"),
        ("a.b.map(c, d)", "a.b.map!(c, d)"),
        ("a.map(b)", "a.map(b)"),
        ("math.ceil(1.5)", "math.ceil(1.5)"),
        ("0x1F + 3u", "_+_(31, UInt(3))"),
        ("1e3 + .5", "_+_(1000.0, 0.5)"),
        (r"r'\d' + '\u00e9\x41\101\n'", r"_+_('\\d', 'éAA\n')"),
        (r"b'\xff\101'", r"b'\xffA'"),
        ("'''a\nb'''", r"'a\nb'"),
        ("a // rest\n + b", "_+_(a, b)"),
        ("a.in_ + namespaces", "_+_(a.in_, namespaces)"),
        ("object.metadata.namespace", "object.metadata.namespace"),
    ],
)
def test_the_grammar_is_cels(text: str, tree: str) -> None:
    """Precedence, optionals, macros, literals, as the specification and Kubernetes have them."""
    assert shown(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "at", "length", "message"),
    [
        ("1 +", 3, 1, "the expression ends where a value is expected"),
        ("1 + )", 4, 1, "found ')' where a value is expected"),
        ("a.(b)", 2, 1, "found '(' where the name of a field is expected"),
        ("[1 2]", 3, 1, "found '2' where ']' is expected"),
        ("{1}", 2, 1, "found '}' where ':' is expected"),
        ("a b", 2, 1, "'b' is too much here"),
        ("a = b", 2, 1, "operators are &&, || and =="),
        ("a & b", 2, 1, "operators are &&, || and =="),
        ("'abc", 0, 1, "does not end"),
        (r"'é' + '\q'", 7, 2, "unknown escape"),
        ("while + 1", 0, 5, "'while' is a reserved word"),
        ("has(a)", 0, 6, "has() takes a field"),
        ("has(a.?b)", 0, 9, "has() takes a field"),
        ("a.map(b.c, 1)", 7, 2, "must be a simple name"),
        ("a.all(i, i, true)", 9, 1, "two variables 'i'"),
        ("9223372036854775808", 0, 19, "does not fit into 64 bits"),
        ("18446744073709551616u", 0, 21, "does not fit into 64 bits"),
        ("1" * 5000, 0, 5000, "does not fit into 64 bits"),
        ("1e999", 0, 5, "too large"),
        ("a # b", 2, 1, "has no meaning here"),
    ],
)
def test_a_mistake_says_where_what_and_what_was_expected(
    text: str, at: int, length: int, message: str
) -> None:
    """One problem, at its character, counted in code points."""
    with pytest.raises(SyntaxProblem) as caught:
        parse(text)
    assert (caught.value.at, caught.value.length) == (at, length)
    assert message in caught.value.message


def test_places_are_those_of_the_text() -> None:
    """Every node lies inside its text and starts with what it is."""
    text = "'é' + object.spec.name.startsWith('a') ? [1] : {'k': x[0]}"
    nodes = [parse(text)]
    for node in nodes:
        nodes += children(node)
        assert 0 <= node.at < node.at + node.length <= len(text)
    names = [node for node in nodes if isinstance(node, Name)]
    assert {text[node.at : node.at + node.length] for node in names} == {"object", "x"}


def test_nesting_has_an_end() -> None:
    """Just below the limit is an expression, just above is a finding; neither is a crash."""
    deep = MAX_DEPTH - 2
    env = cel.Env({"x": cel.types.DYN})
    assert cel.compile("(" * deep + "x" + ")" * deep, env).evaluate({"x": 1}) == 1
    assert cel.compile("x" + " + 1" * deep, env).evaluate({"x": 1}) == deep + 1
    assert cel.compile("!" * deep + "x", env).evaluate({"x": True}) is True
    for text in ("(" * 300 + "x" + ")" * 300, "x" + " + 1" * 300, "x" + ".a" * 300, "!" * 300 + "x"):
        with pytest.raises(cel.CompileError) as caught:
            cel.compile(text, env)
        assert caught.value.problems[0].code == "RE206"


PIECES = st.sampled_from(
    [
        *"()[]{}.,:?!-+*/%<>=&|'\"`\\#@é0x1ue",
        *("&&", "||", "==", "in", "a", "b", " ", "'a'", "r'", "has(", ".all(i,", ".map(x, ", "cel.bind("),
        *("true", "null", "'''", "\n", "1.5", "0x", "9" * 30, "while", ".?", "[?", "{?", "//", "b'\\xff'"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=30))
def test_nonsense_is_a_finding_inside_the_text(text: str) -> None:
    """Whatever is typed: a program or problems with a place, never another exception."""
    problems: tuple[cel.Problem, ...] = ()
    try:
        cel.compile(text, cel.Env({"a": cel.types.DYN, "b": cel.types.INT}))
    except cel.CompileError as error:
        problems = error.problems or (cel.Problem("", "", -1),)
    for problem in problems:
        assert 0 <= problem.offset <= len(text)
        assert problem.message
