"""Events: what they say, and that there are few of them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rulesengine.apply.events import event, notes
from rulesengine.apply.recorder import EventSettings, Recorder
from rulesengine.client import APIError
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Done,
    Failed,
    Held,
    Outcome,
    Plan,
    Released,
    Result,
    SourceRef,
    Unchanged,
    Updated,
)
from tests.unit.apply.fakes import CONFIG_MAP, WIDGET, FakeClock, key

RULE = RuleKey("ClusterRule", "", "r")


@dataclass
class Subject:
    key: RuleKey = RULE
    uid: str = "uid-rule"


@dataclass
class Sink:
    """A client that keeps events; `fail` times it refuses."""

    sent: list[dict[str, Any]] = field(default_factory=list)
    patched: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    fail: int = 0
    defect: bool = False

    async def create(
        self, resource: Any, namespace: str, body: dict[str, Any], *, field_manager: str
    ) -> bytes:
        if self.fail:
            self.fail -= 1
            raise APIError(403, "Forbidden")
        if self.defect:
            self.defect = False
            raise ZeroDivisionError
        assert body["metadata"]["namespace"] == namespace
        self.sent.append(body)
        return b"{}"

    async def patch(
        self, resource: Any, namespace: str, name: str, body: dict[str, Any], *, field_manager: str
    ) -> bytes:
        self.patched.append((name, body))
        return b"{}"


def result(*outcomes: Outcome, source: str = "w", namespace: str = "default") -> Result:
    plan = Plan(Request(RULE, namespace, source), SourceRef(WIDGET, namespace, source, f"uid-{source}"), True)
    return Result(
        plan, tuple(Done(f"e{i}", CONFIG_MAP, key(), outcome) for i, outcome in enumerate(outcomes))
    )


async def drained(recorder: Recorder) -> None:
    """Lets the sending task come to rest."""
    task = asyncio.ensure_future(recorder.run())
    for _ in range(200):
        await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def recorder(sink: Sink, clock: FakeClock, **settings: Any) -> Recorder:
    return Recorder(sink, clock, EventSettings(**settings), instance="engine-0")


def test_one_pass_is_counted_in_one_sentence_a_kind() -> None:
    """Creations and updates together, removals together, each trouble for itself."""
    found = notes(
        result(
            Created(), Created(), Updated(), Deleted(), Released(), Failed(Reason.CONFLICT, "owned by helm")
        )
    )
    assert [(note.reason, note.text, note.warning) for note in found] == [
        ("Applied", "2 created, 1 updated", False),
        ("Deleted", "1 deleted, 1 released", False),
        ("Conflict", "e5: Conflict: owned by helm", True),
    ]


def test_a_settled_or_waiting_pass_says_nothing() -> None:
    """Quiet at rest; waiting is told on the rule's status."""
    assert notes(result(Unchanged("verdict"), Held(Reason.WAITING, "x"))) == []


def test_a_release_that_left_values_is_said() -> None:
    """Somebody may wonder why they are still there."""
    assert [note.reason for note in notes(result(Released(as_is=True)))] == ["ReleasedAsIs"]


def test_an_event_is_one_the_server_takes() -> None:
    """Required fields, lengths, and the namespace of cluster-scoped objects."""
    (note,) = notes(result(Created(), namespace="", source="w" * 300))
    made = event(note, "w.1", FakeClock().now(), "engine-0")
    assert made["metadata"]["namespace"] == "default"
    assert "namespace" not in made["regarding"]
    assert made["eventTime"] == "2026-01-05T08:00:00.000000Z"
    assert made["reportingController"]
    assert made["action"]
    (long,) = notes(result(Failed(Reason.INVALID, "ä" * 2000)))
    assert len(event(long, "x", FakeClock().now(), "engine-0")["note"].encode()) <= 1024


async def test_a_converging_rule_sends_few_and_sums_the_rest() -> None:
    """500 sources: ten events of their own, then one on the rule every ten seconds."""
    sink, clock = Sink(), FakeClock()
    events = recorder(sink, clock)
    for index in range(500):
        events.record(Subject(), result(Created(), Created(), Created(), source=f"w{index}"))
    await drained(events)
    assert len(sink.sent) == 10
    clock.advance(10)
    await drained(events)
    assert len(sink.sent) == 11
    last = sink.sent[-1]
    assert last["regarding"]["kind"] == "ClusterRule"
    assert last["regarding"]["uid"] == "uid-rule"
    assert last["note"] == "1470 created for 490 sources"
    clock.advance(1000)
    await drained(events)
    assert len(sink.sent) == 11


async def test_a_flood_of_successes_does_not_hide_a_failure() -> None:
    """Warnings have a bucket of their own."""
    sink, clock = Sink(), FakeClock()
    events = recorder(sink, clock)
    for index in range(100):
        events.record(Subject(), result(Created(), source=f"w{index}"))
    events.record(Subject(), result(Failed(Reason.FORBIDDEN, "no"), source="bad"))
    await drained(events)
    assert [sent["regarding"]["name"] for sent in sink.sent if sent["type"] == "Warning"] == ["bad"]


async def test_the_same_event_again_only_raises_its_count() -> None:
    """Told at 2, 4, 8 …: a failure every few seconds does not fill the cluster."""
    sink, clock = Sink(), FakeClock()
    events = recorder(sink, clock)
    for _ in range(9):
        events.record(Subject(), result(Failed(Reason.FORBIDDEN, "no")))
    await drained(events)
    assert len(sink.sent) == 1
    assert [body["series"]["count"] for _, body in sink.patched] == [2, 4, 8]
    assert {name for name, _ in sink.patched} == {sink.sent[0]["metadata"]["name"]}
    clock.advance(400)
    events.record(Subject(), result(Failed(Reason.FORBIDDEN, "no")))
    await drained(events)
    assert len(sink.sent) == 2


async def test_an_event_that_cannot_be_sent_disturbs_nothing() -> None:
    """The next one goes out."""
    sink, clock = Sink(fail=1), FakeClock()
    events = recorder(sink, clock)
    events.record(Subject(), result(Created()))
    events.record(Subject(), result(Deleted()))
    await drained(events)
    assert [sent["reason"] for sent in sink.sent] == ["Deleted"]


async def test_what_went_with_its_source_is_told_on_the_rule() -> None:
    """There is no source left to say it on."""
    sink = Sink()
    events = recorder(sink, FakeClock())
    gone = result(Deleted(), Deleted())
    events.record(Subject(), replace(gone, plan=replace(gone.plan, source=None)))
    await drained(events)
    assert [(sent["regarding"]["kind"], sent["note"]) for sent in sink.sent] == [
        ("ClusterRule", "2 deleted for 1 source")
    ]


async def test_a_defect_in_sending_is_logged_and_the_next_one_goes_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Telling goes on, whatever happens."""
    sink = Sink()
    events = recorder(sink, FakeClock())
    sink.defect = True
    events.record(Subject(), result(Created()))
    events.record(Subject(), result(Deleted()))
    await drained(events)
    assert "an event could not be sent" in caplog.text
    assert [sent["reason"] for sent in sink.sent] == ["Deleted"]


async def test_events_can_be_switched_off() -> None:
    """Both settings 0."""
    sink = Sink()
    events = recorder(sink, FakeClock(), burst=0, interval=0.0)
    events.record(Subject(), result(Created()))
    await drained(events)
    assert sink.sent == []


async def test_a_rule_that_is_gone_leaves_nothing_behind() -> None:
    """Neither buckets nor sums."""
    events = recorder(Sink(), FakeClock(), burst=1)
    for index in range(5):
        events.record(Subject(), result(Created(), source=f"w{index}"))
    events.forget(RULE)
    assert events.flush() is None
    assert not events._buckets


def test_names_of_long_sources_fit() -> None:
    """The server's limit on names holds with the suffix."""
    sink = Sink()
    events = recorder(sink, FakeClock())
    events.record(Subject(), result(Created(), source="s" * 253))
    (queued,) = events._queue
    assert len(queued.body["metadata"]["name"]) <= 253


def test_kinds_of_events_are_those_of_the_api() -> None:
    """events.k8s.io/v1, not the older core/v1."""
    (note,) = notes(result(Created()))
    made = event(note, "x", FakeClock().now(), "i")
    assert GroupVersionKind.parse(made["apiVersion"], made["kind"]) == GroupVersionKind(
        "events.k8s.io", "v1", "Event"
    )
