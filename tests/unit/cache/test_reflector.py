"""How a kind is followed: one request, no gaps, no relists without need, patience with trouble."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rulesengine.cache import EventType, Interest, Phase
from rulesengine.client import TimedOut, Unreachable
from tests.unit.cache.fakes import (
    CONFIG_MAP,
    CONFIG_MAPS,
    SETTINGS,
    WIDGET,
    Bench,
    bookmark,
    config_map,
    data_of,
    down,
    line,
    names,
    refusal,
    settle,
    too_old,
)


async def test_a_kind_costs_one_request(bench: Bench) -> None:
    """The watch that streams what exists is the one that goes on with changes."""
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    assert handle.status.phase is Phase.SYNCING
    await bench.send(line("ADDED", config_map("a", 5)), line("ADDED", config_map("b", 7)))
    assert not handle.synced
    await bench.send(bookmark(9, end=True))
    assert handle.synced
    await bench.send(
        line("MODIFIED", config_map("a", 10, data={"k": "v"})), line("DELETED", config_map("b", 11))
    )
    assert bench.told == [("ADDED", "a"), ("ADDED", "b"), ("SYNCED", ""), ("MODIFIED", "a"), ("DELETED", "b")]
    assert [e.initial for e in bench.events] == [True, True, False, False, False]
    path, query = bench.server.asked[0]
    assert path == "WATCH /api/v1/configmaps"
    assert query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "450",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert len(bench.server.asked) == 1


async def test_a_watch_that_the_server_ends_goes_on_where_it_was(bench: Bench) -> None:
    """From the last resourceVersion, bookmarks included, without a listing or a pause."""
    await bench.follow(config_map("a", 5), version=9)
    await bench.send(line("MODIFIED", config_map("a", 12)), bookmark(30))
    bench.time.seconds = 400.0
    bench.server.watch.end()
    await settle()
    assert len(bench.server.asked) == 2
    assert bench.server.watch.query["resourceVersion"] == "30"
    assert "sendInitialEvents" not in bench.server.watch.query
    assert bench.time.waits == []


async def test_without_bookmarks_the_last_event_says_where_it_was(bench: Bench) -> None:
    """Deletions too."""
    await bench.follow(config_map("a", 5), version=9)
    for event in (line("MODIFIED", config_map("a", 12)), line("DELETED", config_map("a", 15))):
        await bench.send(event)
        bench.server.watch.end()
        await settle()
        bench.time.go()
        await settle()
    assert [query.get("resourceVersion") for _, query in bench.server.asked] == [None, "12", "15"]


async def test_a_watch_that_ends_at_once_is_not_opened_in_a_tight_loop(bench: Bench) -> None:
    """Ending sooner than a second counts as a failure and backs off."""
    await bench.follow()
    for _ in range(3):
        bench.server.watch.end()
        await settle()
        bench.time.go()
        await settle()
    assert bench.time.waits == [0.1, 0.2, 0.4]


async def test_a_broken_connection_backs_off_and_does_not_list_again(bench: Bench) -> None:
    """Refused connections and overload: doubling pauses, same resourceVersion, objects stay readable."""
    handle = await bench.follow(config_map("a", 5), version=9)
    bench.server.refusals = [down(), down(), refusal(429, "TooManyRequests"), refusal(503)]
    bench.server.watch.end(Unreachable("cut"))
    for _ in range(5):
        await settle()
        bench.time.go()
    await settle()
    assert bench.time.waits == [0.1, 0.2, 0.4, 0.8, 1.6]
    assert {query.get("resourceVersion") for _, query in bench.server.asked[1:]} == {"9"}
    assert handle.synced
    assert names(handle.records()) == ["a"]
    assert bench.told == []


async def test_pauses_have_an_end_and_an_event_starts_them_anew(bench: Bench) -> None:
    """They double up to eight seconds; news from the server ends the doubling."""
    await bench.follow()
    bench.server.refusals = [down() for _ in range(9)]
    bench.server.watch.end(Unreachable("cut"))
    for _ in range(10):
        await settle()
        bench.time.go()
    await settle()
    assert max(bench.time.waits) == 8.0
    await bench.send(line("ADDED", config_map("a", 200)))
    bench.server.watch.end(Unreachable("cut"))
    await settle()
    assert bench.time.waits[-1] == 0.1


async def test_a_server_that_says_when_is_not_asked_before(bench: Bench) -> None:
    """Retry-After beats a shorter pause."""
    bench.server.refusals = [refusal(429, "TooManyRequests", **{"retry-after": "7"})]
    bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    assert bench.time.waits == [7.0]


async def test_a_silent_connection_is_given_up(bench: Bench) -> None:
    """The idle time is told to the transport; its end means a new watch from the same place."""
    await bench.follow(version=9)
    assert bench.server.watch.idle == 150.0
    bench.server.watch.end(TimedOut("no answer in time"))
    await settle()
    bench.time.go()
    await settle()
    assert bench.server.watch.query["resourceVersion"] == "9"


@pytest.mark.parametrize("inside", [True, False])
async def test_too_old_means_a_new_listing_and_a_comparison(bench: Bench, inside: bool) -> None:
    """410, as an answer or inside the stream: what changed in the gap comes out as events."""
    handle = await bench.follow(
        config_map("same", 5), config_map("changed", 6), config_map("gone", 7), config_map("new-uid", 8)
    )
    if inside:
        await bench.send(too_old())
    else:
        bench.server.refusals = [refusal(410, "Expired")]
        bench.server.watch.end(Unreachable("cut"))
        await settle()
        bench.time.go()
    await settle()
    bench.time.go()
    await settle()
    assert bench.server.watch.query["sendInitialEvents"] == "true"
    assert handle.synced  # what was known stays readable meanwhile
    await bench.send(
        line("ADDED", config_map("same", 5)),
        line("ADDED", config_map("changed", 16, data={"k": "v"})),
        line("ADDED", config_map("new-uid", 18, uid="other")),
        line("ADDED", config_map("new", 19)),
        bookmark(20, end=True),
    )
    assert bench.told == [
        ("MODIFIED", "changed"),
        ("DELETED", "new-uid"),
        ("ADDED", "new-uid"),
        ("ADDED", "new"),
        ("DELETED", "gone"),
    ]
    assert names(handle.records()) == ["changed", "new", "new-uid", "same"]


async def test_what_goes_while_it_is_listed_is_gone(bench: Bench) -> None:
    """A streaming list may already carry changes before its closing bookmark."""
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    await bench.send(line("ADDED", config_map("a", 5)), bookmark(6), line("ADDED", config_map("b", 7)))
    await bench.send(line("DELETED", config_map("a", 8)), bookmark(9, end=True))
    assert names(handle.records()) == ["b"]


async def test_a_break_before_the_closing_bookmark_starts_over(bench: Bench) -> None:
    """Half a listing must not make anything absent."""
    handle = await bench.follow(config_map("a", 5), config_map("b", 6))
    await bench.send(too_old())
    bench.time.go()
    await settle()
    bench.server.watch.send(line("ADDED", config_map("a", 5)))
    bench.server.watch.end()
    await settle()
    bench.time.go()
    await settle()
    assert names(handle.records()) == ["a", "b"]
    assert bench.server.watch.query["sendInitialEvents"] == "true"


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_without_streaming_lists_is_listed_page_by_page(bench: Bench, status: int) -> None:
    """And watched from the listing's version; the refusal is remembered for the kind."""
    bench.server.refusals = [refusal(status, "Invalid")]
    bench.server.pages = [
        {"metadata": {"resourceVersion": "50", "continue": "more"}, "items": [bare(config_map("a", 5))]},
        {"metadata": {"resourceVersion": "50"}, "items": [bare(config_map("b", 6))]},
    ]
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    bench.time.go()
    await settle()
    assert handle.synced
    assert bench.told == [("ADDED", "a"), ("ADDED", "b"), ("SYNCED", "")]
    assert [path for path, _ in bench.server.asked] == [
        "WATCH /api/v1/configmaps",
        "GET /api/v1/configmaps",
        "GET /api/v1/configmaps",
        "WATCH /api/v1/configmaps",
    ]
    assert bench.server.asked[2][1] == {"limit": "500", "continue": "more"}
    assert bench.server.watch.query["resourceVersion"] == "50"
    found = handle.get("ns", "a")
    assert found is not None
    assert found.object()["kind"] == "ConfigMap"  # items of lists come without it
    bench.server.pages = [{"metadata": {"resourceVersion": "60"}, "items": None}]
    await bench.send(too_old())
    bench.time.go()
    await settle()
    assert bench.server.asked[4][0] == "GET /api/v1/configmaps"
    assert names(handle.records()) == []


def bare(body: dict[str, object]) -> dict[str, object]:
    """As in a list of built-in kinds."""
    return {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}


async def test_pages_that_grow_old_are_read_at_once(bench: Bench) -> None:
    """410 to a continuation: the listing starts over without pages."""
    bench.server.refusals = [refusal(400)]
    bench.server.pages = [
        {"metadata": {"resourceVersion": "50", "continue": "more"}, "items": [config_map("a", 5)]},
        refusal(410, "Expired"),
        {"metadata": {"resourceVersion": "60"}, "items": [config_map("b", 6)]},
    ]
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    bench.time.go()
    await settle()
    assert handle.synced
    assert names(handle.records()) == ["b"]
    assert bench.server.asked[3][1] == {}


async def test_a_server_that_never_closes_its_initial_events_is_listed() -> None:
    """Old servers ignore the parameter and just watch; silence shows it."""
    bench = Bench(replace(SETTINGS, initial_silence=0.0))
    bench.server.pages = [{"metadata": {"resourceVersion": "50"}, "items": [config_map("a", 5)]}]
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    bench.time.go()
    await settle()
    assert handle.synced
    assert [path for path, _ in bench.server.asked][1:] == [
        "GET /api/v1/configmaps",
        "WATCH /api/v1/configmaps",
    ]
    await bench.cache.close()


async def test_a_kind_that_is_not_served_parks_until_it_comes(bench: Bench) -> None:
    """Waiting grows long; whoever sees the CRD come ends it."""
    del bench.resources.served[CONFIG_MAP]
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    assert handle.status.phase is Phase.UNSERVED
    assert "v1 ConfigMap is not served" in handle.status.why
    assert [e.type for e in bench.events] == [EventType.STATUS]
    bench.time.go()
    await settle()
    assert bench.time.waits == [5.0, 10.0]
    assert bench.server.asked == []
    bench.resources.served[CONFIG_MAP] = CONFIG_MAPS
    bench.cache.recheck(CONFIG_MAP)
    await settle()
    assert set(bench.resources.forgotten) == {CONFIG_MAP}
    await bench.send(bookmark(9, end=True))
    assert handle.synced
    assert bench.events[-1].type is EventType.SYNCED


async def test_a_recheck_that_comes_a_moment_too_early_is_repeated_soon(bench: Bench) -> None:
    """A CRD says Established before the server serves its kind: look again quickly, then slower."""
    del bench.resources.served[CONFIG_MAP]
    bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    bench.cache.recheck(CONFIG_MAP)
    for _ in range(3):
        await settle()
        bench.time.go()
    await settle()
    assert bench.time.waits == [5.0, 0.1, 0.2, 0.4, 0.8]
    assert bench.resources.asked == 5
    assert len(bench.resources.forgotten) == 5  # each of them asked the server


async def test_a_kind_that_goes_and_comes_back_is_read_anew(bench: Bench) -> None:
    """404 to a watch: the kind is unserved, and what comes back is compared with what was."""
    handle = await bench.follow(config_map("a", 5), version=9)
    bench.server.refusals = [refusal(404)]
    bench.server.watch.end()
    await settle()
    bench.time.go()
    await settle()
    assert handle.status.phase is Phase.UNSERVED
    assert bench.resources.forgotten == [CONFIG_MAP]
    bench.cache.recheck(CONFIG_MAP)
    await settle()
    assert bench.server.watch.query["sendInitialEvents"] == "true"
    await bench.send(bookmark(50, end=True))
    assert handle.synced
    assert bench.told[-2:] == [("DELETED", "a"), ("SYNCED", "")]


async def test_a_kind_without_watch_is_refused(bench: Bench) -> None:
    """It is said, and nothing is sent."""
    bench.resources.served[CONFIG_MAP] = replace(CONFIG_MAPS, verbs=frozenset({"get", "create"}))
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    assert handle.status.why == "configmaps cannot be listed and watched"
    assert bench.server.asked == []


async def test_forbidden_is_said_and_heals(bench: Bench) -> None:
    """With long pauses; rights that come back go on from where it was."""
    bench.server.refusals = [refusal(403, "Forbidden")]
    handle = bench.cache.acquire(Interest(CONFIG_MAP, namespaces=frozenset({"ns"})))
    await settle()
    assert handle.status.phase is Phase.FORBIDDEN
    assert handle.status.why == "v1 ConfigMap: reading is forbidden in namespace ns"
    assert bench.time.waits == [5.0]
    bench.time.go()
    await settle()
    await bench.send(bookmark(9, end=True))
    assert handle.synced
    bench.server.refusals = [refusal(403, "Forbidden")]
    bench.server.watch.end(Unreachable("cut"))
    await settle()
    bench.time.go()
    await settle()
    assert not handle.synced
    bench.time.go()
    await settle()
    assert handle.synced
    assert bench.server.watch.query["resourceVersion"] == "9"
    assert bench.time.waits == [5.0, 0.1, 5.0]  # patience begins anew


async def test_a_selector_that_the_server_refuses_is_said(bench: Bench) -> None:
    """Not every kind can be selected by every field."""
    bench.server.refusals = [refusal(400, "BadRequest")]
    bench.server.pages = [refusal(400, "BadRequest")]
    handle = bench.cache.acquire(Interest(CONFIG_MAP, field_selector="data.x=1"))
    await settle()
    bench.time.go()
    await settle()
    assert handle.status.phase is Phase.REFUSED
    assert "field selector data.x=1" in handle.status.why


async def test_an_unreachable_server_is_said_until_it_answers(bench: Bench) -> None:
    """Before the first listing the reason is the server's absence, not a missing kind."""
    bench.resources.error = Unreachable("cannot connect to https://x", sent=False)
    handle = bench.cache.acquire(Interest(CONFIG_MAP))
    await settle()
    assert handle.status.phase is Phase.SYNCING
    assert "cannot connect to https://x" in handle.status.why
    bench.resources.error = None
    bench.time.go()
    await settle()
    await bench.send(bookmark(9, end=True))
    assert handle.synced


async def test_an_object_that_cannot_be_decoded_is_left_out_and_told(bench: Bench) -> None:
    """The others go on."""
    handle = await bench.follow()
    broken = config_map("a", 101)
    broken["metadata"]["name"] = 7
    await bench.send(line("ADDED", broken), line("ADDED", config_map("b", 102)))
    assert [e.type for e in bench.events] == [EventType.UNREADABLE, EventType.ADDED]
    assert names(handle.records()) == ["b"]


@pytest.mark.parametrize("garbage", [b"<html>", b'{"type":"ADDED"}', b'{"type":"ADD', b"[]", b"\xff"])
async def test_a_line_that_is_no_event_breaks_that_watch_only(bench: Bench, garbage: bytes) -> None:
    """A proxy's page in the stream means a new watch, not a crash and not a lost kind."""
    handle = await bench.follow(config_map("a", 5), version=9)
    await bench.send(garbage)
    bench.time.go()
    await settle()
    assert bench.server.watch.query["resourceVersion"] == "9"
    await bench.send(line("MODIFIED", config_map("a", 10, data={"k": "v"})))
    assert data_of(handle.get("ns", "a")) == {"k": "v"}


async def test_a_bug_in_following_a_kind_stays_in_that_kind(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, that kind starts over, others do not notice."""
    widgets = bench.cache.acquire(Interest(WIDGET))
    await settle()
    other = bench.server.watch
    await bench.follow(version=9)
    await bench.send(line("BOOKMARK", {"metadata": 7}))
    assert "following a kind failed" in caplog.text
    bench.time.go()
    await settle()
    assert bench.server.watch.query["sendInitialEvents"] == "true"
    other.send(bookmark(9, end=True))
    await settle()
    assert widgets.synced
