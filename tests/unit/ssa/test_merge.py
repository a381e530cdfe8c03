"""How a configuration is merged into what is there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from rulesengine.core.json import decode, encode
from rulesengine.ssa.merge import merged, removed
from tests.unit.ssa.shapes import THING, things

SPEC = THING.properties["spec"]


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        ("abc", "ca", "bca"),
        ("abc", "zbq", "azbcq"),
        ("abc", "", "abc"),
        ("", "ab", "ab"),
        ("abc", "abc", "abc"),
        ("abc", "cba", "cba"),
        ("abcd", "db", "acdb"),
        ("ab", "xy", "abxy"),
        ("abcde", "eb", "acdeb"),
    ],
)
def test_shared_items_follow_the_configuration_and_others_stay(live: str, config: str, expected: str) -> None:
    """The server's order, seen there."""
    assert merged(SPEC.properties["set"], list(live), list(config)) == list(expected)


def test_items_that_live_has_twice_are_taken_from_the_configuration_once() -> None:
    """Duplicates are tolerated only as long as nobody applies that item."""
    live = [{"id": "a", "n": 1}, {"id": "b"}, {"id": "a", "n": 2}]
    keyed = SPEC.properties["keyed"]
    assert merged(keyed, live, [{"id": "b", "n": 5}]) == [
        {"id": "a", "n": 1},
        {"id": "b", "n": 5},
        {"id": "a", "n": 2},
    ]
    assert merged(keyed, live, [{"id": "a"}]) == [{"id": "a"}, {"id": "b"}]


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        ({"map": {"a": "1"}}, {"map": {"b": "2"}}, {"map": {"a": "1", "b": "2"}}),
        ({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
        ({"atomic": [{"id": "a"}]}, {"atomic": [{"n": 1}]}, {"atomic": [{"n": 1}]}),
        ({"map": {"a": "1"}}, {"map": None}, {"map": {"a": "1"}}),
        ({"map": {"a": "1"}}, {"map": {}}, {"map": {"a": "1"}}),
        ({"text": "a"}, {"text": None}, {"text": None}),
        ({"free": {"x": [1]}}, {"free": {"x": {"y": 1}}}, {"free": {"x": {"y": 1}}}),
        ({"free": {"x": {"a": 1}}}, {"free": {"x": {"b": [1]}}}, {"free": {"x": {"a": 1, "b": [1]}}}),
        ({}, {"keyed": []}, {"keyed": []}),
    ],
)
def test_containers_merge_by_their_sharing(live: Any, config: Any, expected: Any) -> None:
    """Granular ones key by key, atomic ones as a whole; a null takes nothing from a shared one."""
    assert merged(SPEC, live, config) == expected


@given(things, things)
def test_merging_changes_neither_side_and_is_done_after_once(live: Any, config: Any) -> None:
    """A second merge of the same finds nothing to do, and says so by identity."""
    before = encode(live), encode(config)
    once = merged(THING, live, config)
    assert (encode(live), encode(config)) == before
    assert merged(THING, once, decode(encode(config))) is once


def test_removing_takes_keys_and_items_and_what_is_empty_then() -> None:
    """Members go with all that is in them."""
    value = {"map": {"a": "1"}, "set": ["a", "b"], "keyed": [{"id": "a", "n": 1}, {"id": "b"}], "text": "t"}
    fields = {
        "f:map": {"f:a": {}},
        "f:set": {'v:"a"': {}},
        "f:keyed": {'k:{"id":"a"}': {"f:n": {}}, 'k:{"id":"b"}': {}},
        "f:text": {},
    }
    assert removed(SPEC, value, fields) == {"map": None, "set": ["b"], "keyed": [{"id": "a"}]}
    assert removed(SPEC, {"text": "t"}, {"f:text": {}}) is None
    assert removed(SPEC, {"map": {}}, {"f:map": {"f:a": {}}}) == {"map": {}}
