"""Findings point at the character that is wrong, whatever way the YAML is written."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rulesengine import api

WRITTEN = [
    ("a: abc X def", 1, 8),
    ("a: 'it''s X'", 1, 11),
    (r'a: "t\u0041b\n X"', 1, 16),
    ('a: "x\n  y X"', 2, 5),
    ("a: plain\n  over lines X", 2, 14),
    ("a: |\n  foo\n    bar X\n  baz", 3, 9),
    ("a: |2-\n   foo\n  bar X\n", 3, 7),
    ("a: >\n  foo\n  bar\n\n  baz X\n", 5, 7),
    ("a: >-\n  foo\n    more\n  bar X", 4, 7),
    ('a: "é𝄞 X"', 1, 8),
    ("# c\r\na: |\r\n  x\r\n  X\r\n", 4, 3),
    ('{"a": "\\"X"}', 1, 10),
    ("--- {a: X}", 1, 9),
    ("- {a: &n [b, X]}\n", None, None),
]


@pytest.mark.parametrize(("text", "line", "column"), WRITTEN)
def test_a_character_of_a_value_has_its_place(text, line, column):
    """The X is found in every style of scalar."""
    (document,) = api.load(text, "f.yaml").documents
    if line is None:
        assert document.locate((0, "a", 1)).column == 14
        return
    span = document.character(("a",), document.value["a"].index("X"), 1)
    assert (span.line, span.column, span.length) == (line, column, 1)


BODY = st.text(alphabet="ab 'X\"\\\n$:#", min_size=1, max_size=20)


@given(BODY)
def test_places_hold_for_dumped_text(body):
    """Whatever style the dumper chose, the marked character is where the place says."""
    assume("X" in body)
    (document,) = api.load(api.dump({"a": {"b": body}}), "f.yaml").documents
    offset = document.value["a"]["b"].index("X")
    span = document.character(("a", "b"), offset, 1)
    assert span.text[span.column - 1] == "X"


def test_keys_values_and_what_is_not_there():
    """A key, a leaf, a collection (its key), a field that is absent (None)."""
    (document,) = api.load("a:\n  b: 12\n  c: [x]\n  d:\n", "f.yaml").documents
    assert document.key(("a", "b")).column == 3
    assert (document.locate(("a", "b")).column, document.locate(("a", "b")).length) == (6, 2)
    assert document.locate(("a", "c")).column == 3
    assert document.locate(("a", "d")).line == 4
    assert document.locate(("a", "x")) is None
