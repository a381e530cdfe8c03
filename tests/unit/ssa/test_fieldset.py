"""Sets of field paths in the form of fieldsV1."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rulesengine.ssa.fieldset import FieldSet, Tree, lost, named, settled
from tests.unit.ssa.shapes import TEXT, THING, structural

elements = st.sampled_from(["f:a", "f:b", 'k:{"id":"x"}', 'v:"y"'])
paths = st.lists(elements, min_size=1, max_size=3).map(tuple)
path_sets = st.frozensets(paths, max_size=8)


def made(members: Any) -> FieldSet:
    return FieldSet.of(*members)


@given(path_sets, path_sets)
def test_operations_are_those_of_sets(left: Any, right: Any) -> None:
    """Union, intersection and difference, path by path."""
    one, two = made(left), made(right)
    assert set(one) == left
    assert set(one | two) == left | right
    assert set(one & two) == left & right
    assert set(one - two) == left - right


@given(path_sets, path_sets)
def test_equal_sets_have_one_form(left: Any, right: Any) -> None:
    """However they were made: that is what makes comparing with an entry a dict comparison."""
    assert (made(left) | made(right)).tree == made(left | right).tree
    assert (made(left) - made(right)).tree == made(left - right).tree
    assert (made(left) & made(right)).tree == made(left & right).tree


@given(path_sets, path_sets)
def test_without_takes_what_is_below_too(left: Any, right: Any) -> None:
    """A field that is ignored is ignored with everything in it."""
    below = {path for path in left if any(path[: len(each)] == each for each in right)}
    assert set(made(left).without(made(right))) == left - below


def test_membership_is_of_the_path_itself() -> None:
    """A path that only leads to members is none; neither is the root."""
    fields = made([("f:a", "f:b")])
    assert ("f:a", "f:b") in fields
    assert ("f:a",) not in fields
    assert () not in fields


def test_paths_come_members_first_and_sorted() -> None:
    """The order in which the server lists conflicts."""
    fields = made([("f:b", "f:x"), ("f:b",), ("f:a", 'k:{"id":2}'), ("f:a", 'k:{"id":10}'), ("f:c",)])
    assert list(fields) == [
        ("f:b",),
        ("f:c",),
        ("f:a", 'k:{"id":2}'),
        ("f:a", 'k:{"id":10}'),
        ("f:b", "f:x"),
    ]


def test_declared_fields_on_the_way_become_members() -> None:
    """A struct goes with the last thing in it; a key of a map and an item do not."""
    tree: Tree = {"f:spec": {"f:map": {"f:x": {}}, "f:keyed": {'k:{"id":"a"}': {"f:n": {}}}}}
    assert named(THING, tree) == {
        "f:spec": {
            ".": {},
            "f:map": {".": {}, "f:x": {}},
            "f:keyed": {".": {}, 'k:{"id":"a"}': {"f:n": {}}},
        }
    }


@given(path_sets, path_sets)
def test_lost_is_the_difference_of_named_sets(left: Any, right: Any) -> None:
    """Computed in one walk."""
    schema = THING
    one, two = made(left), made(right)
    assert FieldSet(lost(schema, one.tree, two.tree)) == FieldSet(named(schema, one.tree)) - FieldSet(
        named(schema, two.tree)
    )


def test_what_became_atomic_is_owned_as_a_whole() -> None:
    """A schema may change under an entry; granular parts become the whole."""
    tree: Tree = {"f:spec": {"f:map": {"f:x": {}}, "f:set": {'v:"a"': {}}, "f:text": {}}}
    changed = structural.version_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "map": {
                            "type": "object",
                            "additionalProperties": TEXT,
                            "x-kubernetes-map-type": "atomic",
                        },
                        "set": {"type": "array", "items": TEXT},
                        "text": TEXT,
                    },
                }
            },
        }
    )
    assert settled(THING, tree) is tree
    assert settled(changed, tree) == {"f:spec": {"f:map": {}, "f:set": {}, "f:text": {}}}
