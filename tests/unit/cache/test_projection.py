"""What rules read is kept ready and comparable; everything else is skipped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulesengine.cache.projection import ABSENT, Projection, at, differ
from rulesengine.core import json

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "annotations": {"rules/skip": "true", "b": "c"}},
    "spec": {"containers": [{"name": "x", "image": "i"}], "nodeName": "n", "big": 9007199254740993, "f": 1.0},
    "status": {"phase": "Running"},
}


def project(paths: list[tuple[str, ...]], value: Any = POD) -> Any:
    found = Projection(paths).project(json.encode(value))
    return json.decode(found) if found else None


@pytest.mark.parametrize(
    ("paths", "kept"),
    [
        ([("spec", "nodeName")], {"spec": {"nodeName": "n"}}),
        ([("metadata", "annotations", "rules/skip")], {"metadata": {"annotations": {"rules/skip": "true"}}}),
        ([("spec", "containers", "*", "image")], {"spec": {"containers": POD["spec"]["containers"]}}),  # type: ignore[index]
        ([("spec",), ("spec", "nodeName")], {"spec": POD["spec"]}),
        ([("spec", "missing"), ("nothing", "at", "all")], {"spec": {}}),
        ([("spec", "big")], {"spec": {"big": 9007199254740993}}),
        ([], None),
        ([(), ("spec",)], None),
    ],
)
def test_only_what_the_paths_name_is_kept(paths: list[tuple[str, ...]], kept: Any) -> None:
    """Keys need not be identifiers, a "*" keeps the whole list, absent fields stay absent."""
    assert project(paths) == kept


@pytest.mark.parametrize("odd", ["text", 7, [1], [], True])
def test_a_shape_that_contradicts_the_paths_is_kept_as_it_is(odd: Any) -> None:
    """The server may serve anything under a name; nothing is refused or lost."""
    assert project([("spec", "a", "b")], {"spec": {"a": odd}}) == {"spec": {"a": odd}}
    assert project([("spec", "a", "b")], {"spec": odd}) == {"spec": odd}


def test_null_is_not_absent() -> None:
    """A null on the way stays null."""
    assert project([("spec", "a", "b")], {"spec": {"a": None}}) == {"spec": {"a": None}}
    assert project([("spec", "a")], {"spec": {"a": None}}) == {"spec": {"a": None}}


def test_numbers_keep_their_kind() -> None:
    """1.0 is not 1 in the bytes that are compared."""
    assert Projection([("spec", "f")]).project(json.encode(POD)) == b'{"spec":{"f":1.0}}'


@pytest.mark.parametrize(
    ("kept", "asked", "covered"),
    [
        ([("spec",)], [("spec", "a"), ("spec", "a", "*", "b")], True),
        ([("spec", "a")], [("spec",)], False),
        ([("spec", "a")], [("spec", "a", "*")], True),
        ([("spec", "a", "*", "x")], [("spec", "a", "*", "y")], True),
        ([()], [("spec",)], True),
        ([("spec",)], [()], False),
        ([], [], True),
        ([], [("a",)], False),
    ],
)
def test_covering_is_about_what_is_kept(
    kept: list[tuple[str, ...]], asked: list[tuple[str, ...]], covered: bool
) -> None:
    """A path is covered by itself or by anything above it."""
    assert Projection(kept).covers(asked) is covered


@pytest.mark.parametrize(
    ("old", "new", "path", "changed"),
    [
        ({"a": 1}, {"a": 1}, ("a",), False),
        ({"a": 1}, {"a": 2}, ("a",), True),
        ({"a": 1}, {"a": True}, ("a",), True),
        ({"a": 1}, {"a": 1.0}, ("a",), True),
        ({"a": 1}, {}, ("a",), True),
        ({"a": None}, {}, ("a",), True),
        ({}, {}, ("a", "b"), False),
        ({"a": "x"}, {}, ("a", "b"), False),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}, ("a",), False),
        ({"l": [{"x": 1, "y": 1}]}, {"l": [{"x": 1, "y": 2}]}, ("l", "*", "x"), False),
        ({"l": [{"x": 1}]}, {"l": [{"x": 2}]}, ("l", "*", "x"), True),
        ({"l": [{"x": 1}]}, {"l": [{"x": 1}, {}]}, ("l", "*", "x"), True),
        ({"l": [{"x": 1}, {}]}, {"l": [{}, {"x": 1}]}, ("l", "*", "x"), True),
        ({"l": [{"x": None}]}, {"l": [{}]}, ("l", "*", "x"), True),
        ({"m": {"a": {"x": 1, "y": 1}}}, {"m": {"a": {"x": 1, "y": 2}}}, ("m", "*", "x"), False),
        ({"m": {"a": {"x": 1}}}, {"m": {"b": {"x": 1}}}, ("m", "*", "x"), True),
        ({"l": [1]}, {"l": {"0": 1}}, ("l", "*"), True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 1}}, (), True),
    ],
)
def test_a_difference_is_one_at_a_path(old: Any, new: Any, path: tuple[str, ...], changed: bool) -> None:
    """Beside the path anything may change; kinds of numbers and absence count."""
    assert differ(old, new, [path]) is changed
    assert differ(new, old, [path]) is changed


def test_what_moves_with_every_write_is_no_difference_of_the_whole() -> None:
    """resourceVersion and managedFields move whatever was written."""
    old = {"metadata": {"name": "a", "resourceVersion": "1", "managedFields": [1]}}
    new = {"metadata": {"name": "a", "resourceVersion": "2"}}
    assert not differ(old, new, [()])
    assert differ(old, new, [("metadata", "resourceVersion")])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc*"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
PATHS = st.lists(st.lists(st.sampled_from("abc*"), min_size=1, max_size=3).map(tuple), min_size=1, max_size=4)


@given(OBJECTS, PATHS)
def test_reading_a_projection_is_reading_the_object(value: Any, paths: list[tuple[str, ...]]) -> None:
    """At every path that was asked for, however odd the object."""
    projection = Projection(paths)
    kept = value if projection.whole else json.decode(projection.project(json.encode(value)))
    for path in paths:
        whole, part = at(value, path), at(kept, path)
        assert (whole is ABSENT) == (part is ABSENT)
        assert whole is ABSENT or json.same(whole, part)
