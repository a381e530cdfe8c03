"""Where an expression in a text ends, although CEL has braces and quotes itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulesengine.compiler.splices import Splice, Unclosed, parts_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("plain", ["plain"]),
        ("${a}", [Splice("a", 2)]),
        ("x${a}y${b}", ["x", Splice("a", 3), "y", Splice("b", 8)]),
        ("$${a}", ["${a}"]),
        ("$$${a}", ["$${a}"]),
        ("$${a}${b}", ["${a}", Splice("b", 7)]),
        ("$a {b} $", ["$a {b} $"]),
        ("${ {'a': {'b': 1}} }", [Splice(" {'a': {'b': 1}} ", 2)]),
        ("${'}'}", [Splice("'}'", 2)]),
        ('${"}\\"}"}', [Splice('"}\\"}"', 2)]),
        ("${'''}'\\''}'''}", [Splice("'''}'\\''}'''", 2)]),
        ("${r'\\'}", [Splice("r'\\'", 2)]),
        ("${bar'}'}", [Splice("bar'}'", 2)]),
        ("${a.`}`}", [Splice("a.`}`", 2)]),
        ("${a // }\n}", [Splice("a // }\n", 2)]),
        ("${'${x}'}", [Splice("'${x}'", 2)]),
        ("${}", [Splice("", 2)]),
    ],
)
def test_parts(text, expected):
    """Strings of every kind, back-ticks, comments and maps are stepped over."""
    assert list(parts_of(text)) == expected


@pytest.mark.parametrize(("text", "offset"), [("${", 0), ("a ${'}", 2), ("${{}", 0), ("${a} ${'''}'}", 5)])
def test_what_is_not_closed_says_where_it_begins(text, offset):
    """The place is that of the `${`."""
    with pytest.raises(Unclosed) as error:
        parts_of(text)
    assert error.value.offset == offset


@given(st.text(alphabet="${}'\"\\ar`/\n", max_size=24))
def test_any_text_has_parts_or_is_not_closed(text):
    """And the expressions are where they say."""
    try:
        parts = parts_of(text)
    except Unclosed:
        return
    for part in parts:
        if isinstance(part, Splice):
            assert text[part.offset : part.offset + len(part.text)] == part.text
