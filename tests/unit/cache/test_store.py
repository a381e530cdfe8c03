"""A store never goes backwards, knows who made what, and remembers what went."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulesengine.cache import Event, Store
from rulesengine.cache.store import REMEMBERED
from rulesengine.core.keys import RuleKey
from tests.unit.cache.fakes import CONFIG_MAP, OWNER, Time, claimed, config_map, names

RULE = RuleKey("ClusterRule", "", "r")


class Shelf:
    """A store and what it told."""

    def __init__(self, *, sources: bool = True) -> None:
        self.events: list[Event] = []
        self.time = Time()
        self.store = Store(CONFIG_MAP, self.time, self.events.append)
        self.store.maker.sources = sources

    def put(self, name: str, version: int, *, own: bool = False, **more: Any) -> bool:
        return self.store.put(self.record(name, version, **more), own=own)

    def record(self, name: str, version: int, **more: Any) -> Any:
        return self.store.maker.make(json.dumps(config_map(name, version, **more)).encode())

    @property
    def told(self) -> list[str]:
        return [e.type.value for e in self.events]


def test_of_two_states_the_later_stays() -> None:
    """Versions are numbers: 10 is later than 9."""
    shelf = Shelf()
    assert shelf.put("a", 9)
    assert shelf.put("a", 10)
    assert not shelf.put("a", 10)
    assert not shelf.put("a", 9)
    assert shelf.told == ["ADDED", "MODIFIED"]
    assert (shelf.events[1].old.version, shelf.events[1].new.version) == (9, 10)  # type: ignore[union-attr]


def test_an_own_write_is_told_once() -> None:
    """By the answer, marked as own; the watch's event of the same version is nothing new."""
    shelf = Shelf()
    shelf.put("a", 9)
    shelf.put("a", 10, own=True)
    shelf.put("a", 10)
    assert [(e.type.value, e.own) for e in shelf.events] == [("ADDED", False), ("MODIFIED", True)]


def test_a_recreated_object_is_two_events() -> None:
    """Another uid under the same name: the old one went, whoever missed it."""
    shelf = Shelf()
    shelf.put("a", 9)
    assert shelf.put("a", 12, uid="other")
    assert not shelf.put("a", 11)
    assert shelf.told == ["ADDED", "DELETED", "ADDED"]
    assert not shelf.store.delete(shelf.record("a", 11))
    found = shelf.store.get("ns", "a")
    assert found is not None
    assert found.uid == "other"


def test_a_delete_of_ours_is_final() -> None:
    """Late events of the dropped object do not bring it back; its successor comes."""
    shelf = Shelf()
    shelf.put("a", 9)
    assert shelf.store.drop("ns", "a", "uid-a")
    assert shelf.events[-1].own
    assert not shelf.put("a", 10)
    assert shelf.store.get("ns", "a") is None
    assert not shelf.store.delete(shelf.record("a", 11))
    assert shelf.put("a", 12, uid="other")
    assert shelf.told == ["ADDED", "DELETED", "ADDED"]
    assert not shelf.store.drop("ns", "a", "uid-a")  # answered late: not the one that is there now


def test_when_an_object_went_is_known() -> None:
    """Until it comes again; what was never there has no time."""
    shelf = Shelf()
    assert shelf.store.gone_since("ns", "a") is None
    shelf.put("a", 9)
    assert shelf.store.gone_since("ns", "a") is None
    shelf.time.seconds = 5
    shelf.store.delete(shelf.record("a", 10))
    assert shelf.store.gone_since("ns", "a") == shelf.time.now()
    shelf.put("a", 12, uid="other")
    assert shelf.store.gone_since("ns", "a") is None


def test_memory_of_what_went_is_bounded() -> None:
    """The oldest are forgotten."""
    shelf = Shelf()
    for n in range(REMEMBERED + 5):
        shelf.put(f"a{n}", 2 * n + 1)
        shelf.store.drop("ns", f"a{n}", f"uid-a{n}")
    assert shelf.store.gone_since("ns", "a4") is None
    assert shelf.store.gone_since("ns", "a5") is not None


def test_a_listing_removes_what_it_lacks() -> None:
    """Except what our own writes brought after it was made."""
    shelf = Shelf()
    shelf.put("kept", 5)
    shelf.put("gone", 6)
    shelf.put("ours", 12, own=True)
    shelf.put("elsewhere", 5, namespace="other")
    shelf.store.retain({("ns", "kept")}, 10, "ns")
    assert names(shelf.store) == ["elsewhere", "kept", "ours"]
    assert shelf.told[-1] == "DELETED"


def test_what_a_rule_made_is_found_by_its_claim() -> None:
    """By rule and source, and by rule alone; following every change of the claim."""
    shelf = Shelf()
    shelf.put("b", 1, metadata=claimed("r", "s"))
    shelf.put("a", 2, metadata=claimed("r", "s"))
    shelf.put("c", 3, metadata=claimed("r", "t"))
    shelf.put("d", 4, metadata=claimed("other", "s"))
    assert [r.key.name for r in shelf.store.by_claim(RULE, "ns", "s")] == ["a", "b"]
    assert names(shelf.store.claimed(RULE)) == ["a", "b", "c"]
    shelf.put("a", 5, metadata=claimed("r", "t"))
    shelf.put("b", 6)
    shelf.store.delete(shelf.record("c", 7))
    assert shelf.store.by_claim(RULE, "ns", "s") == ()
    assert names(shelf.store.by_claim(RULE, "ns", "t")) == ["a"]
    shelf.store.drop("ns", "a", "uid-a")
    assert shelf.store.claimed(RULE) == ()
    assert RULE not in shelf.store._claims


@pytest.mark.parametrize(
    "claim",
    [
        "",
        "text",
        "{}",
        '{"rule":[],"source":[]}',
        '{"rule":["a","b","c"],"source":1}',
        "[" * 5000,
        '{"rule":[1,2,3,4],"source":[1,2,3,4,5]}',
    ],
)
def test_a_claim_is_anybodys_text(claim: str) -> None:
    """Nonsense in the annotation is no claim of anything and harms nothing."""
    shelf = Shelf()
    assert shelf.put("a", 1, metadata={"annotations": {OWNER: claim}})
    assert shelf.put("a", 2)
    assert shelf.store._claims == {}


def test_a_foreign_record_gives_way_to_the_whole_one() -> None:
    """When a target kind becomes a source kind, the same version is read again, whole."""
    shelf = Shelf(sources=False)
    shelf.put("a", 5, data={"k": "v"})
    assert not shelf.put("a", 5, data={"k": "v"})
    shelf.store.maker.sources = True
    assert shelf.put("a", 5, data={"k": "v"})
    found = shelf.store.get("ns", "a")
    assert found is not None
    assert not found.foreign


def test_what_the_watch_says_waits_for_the_answer() -> None:
    """While a write is on its way its event may come first; it is our own all the same."""
    shelf = Shelf()
    shelf.put("a", 9)
    shelf.store.hold("ns", "a")
    assert not shelf.put("a", 10)
    assert not shelf.put("a", 11)
    assert shelf.told == ["ADDED"]
    shelf.put("a", 10, own=True)
    shelf.store.resume("ns", "a")
    assert [(e.type.value, e.own) for e in shelf.events[1:]] == [("MODIFIED", True), ("MODIFIED", False)]
    assert shelf.store._held == {}


def test_a_write_that_failed_hides_nothing() -> None:
    """Without an answer the watch's word is taken as it came, deletions too; others were never held."""
    shelf = Shelf()
    shelf.put("a", 9)
    shelf.store.hold("ns", "a")
    shelf.store.hold("ns", "a")  # two rules write the same object
    shelf.put("a", 10)
    shelf.store.delete(shelf.record("a", 11))
    shelf.put("b", 12)
    shelf.store.resume("ns", "a")
    assert shelf.told == ["ADDED", "ADDED"]
    shelf.store.resume("ns", "a")
    assert shelf.told == ["ADDED", "ADDED", "MODIFIED", "DELETED"]
    assert not shelf.store._writers


def test_what_was_held_is_older_than_a_listing() -> None:
    """It must not bring back what the listing lacks."""
    shelf = Shelf()
    shelf.put("a", 9)
    shelf.store.hold("ns", "a")
    shelf.put("a", 10)
    shelf.store.retain(set(), 20)
    shelf.store.resume("ns", "a")
    assert shelf.store.get("ns", "a") is None


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["put", "own", "delete", "drop"]), st.sampled_from("ab"), st.integers(1, 4)),
    max_size=12,
)


@given(OPERATIONS)
def test_whatever_comes_the_events_tell_the_store(operations: list[tuple[str, str, int]]) -> None:
    """Replaying the events gives exactly what the store holds, and indexes never dangle."""
    shelf = Shelf()
    for what, name, number in operations:
        uid = f"{name}{number // 3}"
        if what == "drop":
            shelf.store.drop("ns", name, uid)
        elif what == "delete":
            shelf.store.delete(shelf.record(name, number, uid=uid))
        else:
            shelf.put(name, number, own=what == "own", uid=uid, metadata=claimed("r", str(number)))
    replayed: dict[str, Any] = {}
    for event in shelf.events:
        assert event.record is not None
        assert replayed.get(event.record.key.name) is event.old
        if event.new is None:
            del replayed[event.record.key.name]
        else:
            replayed[event.new.key.name] = event.new
    assert replayed == {r.key.name: r for r in shelf.store}
    assert names(shelf.store.claimed(RULE)) == sorted(replayed)
