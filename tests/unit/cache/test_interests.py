"""Kinds are followed while somebody needs them, once for all of them, and as much as they need."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace

import pytest

from rulesengine.cache import Cache, EventType, Interest
from rulesengine.client import Client, Unreachable
from rulesengine.core.ports import Absent, Unreadable
from tests.unit.cache.fakes import (
    CONFIG_MAP,
    CONFIG_MAPS,
    SETTINGS,
    WIDGET,
    WIDGETS,
    Bench,
    bookmark,
    claimed,
    config_map,
    down,
    line,
    names,
    settle,
    watch_tasks,
)


async def test_rules_share_a_kinds_watch(bench: Bench) -> None:
    """The second joins the first without a request, and finds everything there."""
    first = await bench.follow(config_map("a", 5))
    second = bench.cache.acquire(Interest(CONFIG_MAP, fields=frozenset({("data",)})))
    await settle()
    assert second.synced
    assert names(second.records()) == ["a"]
    assert second.store is first.store
    assert len(bench.server.asked) == 1
    assert bench.cache.watches == 1
    bench.cache.release(first)
    await settle()
    assert watch_tasks() == ["watch v1 ConfigMap"]
    bench.cache.release(second)
    await settle()
    assert watch_tasks() == []
    assert bench.server.watch.closed


async def test_nothing_is_left_when_interests_come_and_go(bench: Bench) -> None:
    """Watches, stores, handles and tasks: all gone, whatever the order."""
    for _ in range(20):
        handles = [
            bench.cache.acquire(Interest(CONFIG_MAP)),
            bench.cache.acquire(Interest(WIDGET, "target")),
            bench.cache.acquire(Interest(CONFIG_MAP, field_selector="metadata.name=a")),
            bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset({"x", "y"}))),
        ]
        await settle()
        for handle in handles[::-1]:
            bench.cache.release(handle)
            bench.cache.release(handle)
        await settle()
    assert watch_tasks() == []
    assert all(watch.closed for watch in bench.server.watches)
    cache = bench.cache
    assert (cache._informers, cache._stores, cache._handles, cache._ending) == ({}, {}, {}, set())


async def test_a_watch_outlives_its_last_user_for_the_grace_period() -> None:
    """A rule that is edited lets go and takes again within a moment."""
    bench = Bench(replace(SETTINGS, grace=3600.0))
    handle = await bench.follow(config_map("a", 5), config_map("b", 6))
    bench.cache.release(handle)
    await settle()
    await bench.send(line("MODIFIED", config_map("a", 101, data={"k": "v"})))
    again = bench.cache.acquire(Interest(CONFIG_MAP))
    assert again.synced
    assert {r.key.name: r.foreign for r in again.records()} == {"a": False, "b": False}
    assert len(bench.server.asked) == 1
    bench.cache.release(again)
    await bench.cache.close()
    assert watch_tasks() == []


async def test_who_comes_back_in_time_keeps_the_watch(bench: Bench) -> None:
    """The end that was planned for it does not come."""
    handle = await bench.follow(config_map("a", 5))
    bench.cache.release(handle)
    again = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    assert again.synced
    assert watch_tasks() == ["watch v1 ConfigMap"]
    assert not bench.server.watch.closed


async def test_closing_ends_everything_in_any_state(bench: Bench) -> None:
    """Open, waiting after a failure, parked, not started yet."""
    await bench.follow()
    bench.server.refusals = [down()]
    bench.cache.acquire(Interest(WIDGET))
    await settle()
    bench.cache.acquire(Interest(WIDGET._replace(kind="Nothing")))
    await settle()
    bench.cache.acquire(Interest(CONFIG_MAP, field_selector="x=y"))
    assert len(watch_tasks()) == 4
    await bench.cache.close()
    assert watch_tasks() == []


async def test_a_rule_over_a_few_namespaces_watches_those(bench: Bench) -> None:
    """Synced when all of them are; other namespaces are not known."""
    handle = bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset({"x", "y"})))
    await settle()
    assert [path for path, _ in bench.server.asked] == [
        "WATCH /api/v1/namespaces/x/configmaps",
        "WATCH /api/v1/namespaces/y/configmaps",
    ]
    bench.server.watches[0].send(line("ADDED", config_map("a", 5, namespace="x")), bookmark(9, end=True))
    await settle()
    assert not handle.synced
    assert isinstance(handle.read("x", "nothing"), Absent)
    assert isinstance(handle.read("y", "a"), Unreadable)
    bench.server.watches[1].send(bookmark(9, end=True))
    await settle()
    assert handle.synced
    assert names(handle.records()) == ["a"]
    other = handle.read("z", "a")
    assert isinstance(other, Unreadable)
    assert "namespace z is not watched" in other.why


async def test_no_namespaces_is_nothing_to_wait_for(bench: Bench) -> None:
    """A rule over an empty set has all there is at once, and nothing is asked."""
    handle = bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset()))
    assert handle.synced
    assert list(handle.records()) == []
    bench.cache.release(handle)
    await settle()
    assert bench.server.asked == []
    assert bench.cache._stores == {}


async def test_a_watch_on_everything_serves_those_who_need_a_few_namespaces(bench: Bench) -> None:
    """No second watch; its user sees its own namespaces."""
    wide = await bench.follow(config_map("a", 5, namespace="x"), config_map("b", 6, namespace="y"))
    narrow = bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset({"x"})))
    await settle()
    assert bench.cache.watches == 1
    assert names(narrow.records()) == ["a"]
    bench.cache.release(wide)
    await settle()
    assert bench.cache.watches == 1
    assert narrow.synced


async def test_what_only_the_wide_watch_knew_goes_with_it(bench: Bench) -> None:
    """A narrow one that was there first keeps its part."""
    narrow = bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset({"x"})))
    await settle()
    await bench.send(line("ADDED", config_map("a", 5, namespace="x")), bookmark(9, end=True))
    both = (config_map("a", 5, namespace="x"), config_map("b", 6, namespace="y"))
    wide = await bench.follow(*both)
    bench.cache.release(wide)
    await settle()
    assert names(narrow.store) == ["a"]
    assert bench.told == []


async def test_a_field_selector_is_a_part_of_its_own(bench: Bench) -> None:
    """What it leaves out looks absent to its user, and only to its user."""
    everything = await bench.follow(config_map("a", 5), config_map("b", 6))
    part = bench.cache.acquire(Interest(CONFIG_MAP, field_selector="metadata.name=a"))
    await settle()
    assert bench.server.watch.query["fieldSelector"] == "metadata.name=a"
    await bench.send(line("ADDED", config_map("a", 5)), bookmark(9, end=True))
    assert names(part.records()) == ["a"]
    assert names(everything.records()) == ["a", "b"]
    assert bench.cache.store(CONFIG_MAP, field_selector="metadata.name=a") is part.store


async def test_rules_that_read_more_ask_for_nothing_again(bench: Bench) -> None:
    """The whole is kept, so a wider projection is made from it."""
    narrow = await bench.follow(
        config_map("a", 5, data={"k": "v", "l": "w"}), fields=frozenset({("data", "k")})
    )
    record = narrow.get("ns", "a")
    assert record is not None
    assert record.fields()["data"] == {"k": "v"}
    wider = bench.cache.acquire(Interest(CONFIG_MAP, fields=frozenset({("data", "l")})))
    assert record.fields()["data"] == {"k": "v", "l": "w"}
    assert len(bench.server.asked) == 1
    bench.cache.release(wider)
    await bench.send(line("ADDED", config_map("b", 101, data={"k": "v", "l": "w"})))
    later = narrow.get("ns", "b")
    assert later is not None
    assert later.fields()["data"] == {"k": "v"}  # kept small again


async def test_a_target_kind_that_becomes_a_source_is_read_again(bench: Bench) -> None:
    """Of foreign objects only the identity was kept; until they are read it is not synced."""
    target = await bench.follow(
        config_map("a", 5, data={"k": "v"}), config_map("ours", 6, metadata=claimed()), role="target"
    )
    assert [r.key.name for r in target.records() if r.foreign] == ["a"]
    source = bench.cache.acquire(Interest(CONFIG_MAP, "source"))
    assert not source.synced
    await settle()
    await bench.send(
        line("ADDED", config_map("a", 5, data={"k": "v"})),
        line("ADDED", config_map("ours", 6, metadata=claimed())),
        bookmark(101, end=True),
    )
    assert source.synced
    found = source.get("ns", "a")
    assert found is not None
    assert found.object()["data"] == {"k": "v"}
    assert bench.told == [("MODIFIED", "a"), ("SYNCED", "")]
    assert watch_tasks() == ["watch v1 ConfigMap"]


async def test_roles_known_before_the_first_answer_cost_one_request(bench: Bench) -> None:
    """Rules that start together do not make each other's kinds be read twice."""
    bench.cache.acquire(Interest(CONFIG_MAP, "target"))
    bench.cache.acquire(Interest(CONFIG_MAP, "source"))
    await settle()
    assert len(bench.server.asked) == 1


async def test_our_own_writes_are_seen_at_once(bench: Bench) -> None:
    """The answer goes into the store and is told as own; the watch's later word is nothing new."""
    handle = await bench.follow(config_map("a", 5))
    record = bench.cache.put(CONFIG_MAPS, json.dumps(config_map("a", 101, data={"k": "v"})).encode())
    assert handle.get("ns", "a") is record
    assert [(e.type, e.own) for e in bench.events] == [(EventType.MODIFIED, True)]
    await bench.send(line("MODIFIED", config_map("a", 101, data={"k": "v"})))
    assert len(bench.events) == 1
    await bench.send(line("MODIFIED", config_map("a", 102)))
    assert [e.own for e in bench.events] == [True, False]


async def test_our_own_writes_are_ours_even_when_the_watch_is_quicker(bench: Bench) -> None:
    """Around a write the watch waits until its sender had the answer, even if that failed."""
    handle = await bench.follow(config_map("a", 5), config_map("b", 6))
    with bench.cache.writing(CONFIG_MAPS, "ns", "a"):
        await bench.send(line("MODIFIED", config_map("a", 101)), line("MODIFIED", config_map("b", 102)))
        assert bench.told == [("MODIFIED", "b")]
    bench.cache.put(CONFIG_MAPS, json.dumps(config_map("a", 101)).encode())
    await settle()
    assert [(e.record.key.name, e.own) for e in bench.events if e.record] == [("b", False), ("a", True)]
    with suppress(ZeroDivisionError), bench.cache.writing(CONFIG_MAPS, "ns", "a"):
        await bench.send(line("MODIFIED", config_map("a", 103)))
        raise ZeroDivisionError
    await settle()
    found = handle.get("ns", "a")
    assert found is not None
    assert found.version == 103
    with bench.cache.writing(WIDGETS, "ns", "a"):
        pass  # nobody follows them


async def test_an_answer_that_comes_after_the_watch_changes_nothing(bench: Bench) -> None:
    """The watch may be quicker than the answer."""
    handle = await bench.follow(config_map("a", 5))
    await bench.send(line("MODIFIED", config_map("a", 101)), line("MODIFIED", config_map("a", 102)))
    bench.cache.put(CONFIG_MAPS, json.dumps(config_map("a", 101)).encode())
    found = handle.get("ns", "a")
    assert found is not None
    assert found.version == 102
    assert len(bench.events) == 2


async def test_our_own_deletes_are_seen_at_once(bench: Bench) -> None:
    """And late events of the object do not bring it back."""
    handle = await bench.follow(config_map("a", 5))
    bench.cache.drop(CONFIG_MAPS, "ns", "a", "uid-a")
    await bench.send(line("MODIFIED", config_map("a", 101)), line("DELETED", config_map("a", 102)))
    assert handle.get("ns", "a") is None
    assert bench.told == [("DELETED", "a")]
    assert handle.read("ns", "a") == Absent(bench.time.now())


async def test_answers_about_kinds_that_nobody_follows_go_nowhere(bench: Bench) -> None:
    """Nor those of namespaces that nobody watches, nor garbage."""
    raw = json.dumps(config_map("a", 101)).encode()
    assert bench.cache.put(CONFIG_MAPS, raw) is None
    bench.cache.drop(CONFIG_MAPS, "ns", "a", "u")
    handle = bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset({"other"})))
    bench.cache.put(CONFIG_MAPS, raw)
    assert list(handle.store) == []
    assert bench.cache.put(CONFIG_MAPS, b"{") is None


async def test_absent_is_only_what_would_be_known(bench: Bench) -> None:
    """Before the first listing nothing is absent; afterwards even an outage does not matter."""
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    assert isinstance(handle.read("ns", "a"), Unreadable)
    await settle()
    bench.cache.put(CONFIG_MAPS, json.dumps(config_map("a", 5)).encode())
    assert isinstance(handle.read("ns", "a"), Unreadable)
    await bench.send(line("ADDED", config_map("a", 5)), bookmark(9, end=True))
    assert handle.read("ns", "a") is handle.get("ns", "a")
    assert handle.read("ns", "b") == Absent(None)
    bench.server.watch.end(Unreachable("cut"))
    await settle()
    assert handle.read("ns", "b") == Absent(None)


async def test_a_listener_hears_of_its_own_part(bench: Bench) -> None:
    """Until it lets go; events of other kinds, parts and namespaces are not its business."""
    heard: list[str] = []

    def listen(event: object) -> None:
        heard.append(event.record.key.name if event.record else event.type.value)  # type: ignore[attr-defined]

    handle = bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset({"x"})), listen)
    await settle()
    await bench.send(bookmark(9, end=True))
    narrow = bench.server.watch
    await bench.follow(config_map("b", 6, namespace="y"))
    narrow.send(line("ADDED", config_map("a", 101, namespace="x")))
    await settle()
    assert heard == ["SYNCED", "a"]
    bench.cache.release(handle)
    await bench.send(line("MODIFIED", config_map("a", 102, namespace="x")))
    assert heard == ["SYNCED", "a"]


async def test_a_listener_that_fails_harms_nobody(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The store has the change, the others hear of it, the log has the bug."""

    def fail(_: object) -> None:
        raise ZeroDivisionError

    handle = bench.cache.acquire(Interest(CONFIG_MAP), fail)
    end = bench.cache.subscribe(fail)
    await bench.follow(config_map("a", 5))
    assert names(handle.records()) == ["a"]
    assert "a listener failed" in caplog.text
    end()
    end()


async def test_a_long_listing_lets_others_run(bench: Bench) -> None:
    """Thousands of objects at once do not hold up the loop until the last."""
    handle = await bench.follow()
    bench.server.watch.send(*(line("ADDED", config_map(f"a{n}", 200 + n)) for n in range(1000)))
    rounds = 0
    while len(handle.store) < 1000:
        await asyncio.sleep(0)
        rounds += 1
    assert rounds > 5


async def test_the_state_of_a_kind_can_be_asked_for() -> None:
    """For metrics and for why a rule waits."""
    bench = Bench()
    assert bench.cache.status(CONFIG_MAP) is None
    assert bench.cache.store(CONFIG_MAP) is None
    await bench.follow(config_map("a", 5))
    status = bench.cache.status(CONFIG_MAP)
    assert status is not None
    assert status.synced
    assert [len(store) for store in bench.cache.stores] == [1]
    await bench.cache.close()


async def test_defaults_need_only_a_client(bench: Bench) -> None:
    """Settings, randomness and pauses have their own."""
    cache = Cache(Client(bench.server), bench.resources, bench.time)
    bench.server.refusals = [down()]
    handle = cache.acquire(Interest(CONFIG_MAP))
    await settle()
    assert not handle.synced
    cache.recheck(CONFIG_MAP)  # ends the pause
    await settle()
    await bench.send(bookmark(9, end=True))
    assert handle.synced
    await cache.close()
