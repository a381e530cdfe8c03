"""Which Events are sent, and their sending.

They are told to people, nothing depends on them: they are sent by a task of their own, off
the way of the writes, bounded, and a failure to send one is forgotten. Since each costs the
API server a write, a rule that converges 500 sources must not send 500: every rule has a few
at once and then one in a while, and what got none is summed up on the rule.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Protocol

from rulesengine.apply.events import EVENTS, Note, event, micro_time, notes, place_of, summed, tally
from rulesengine.apply.ports import Client
from rulesengine.client import APIError
from rulesengine.core.clock import Clock
from rulesengine.core.json import Object
from rulesengine.core.keys import RuleKey
from rulesengine.reconcile.plan import Result

NAME_LIMIT = 253
MANAGER = "rulesengine"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EventSettings:
    """How many Events a rule may send. Off: `burst` 0 and `interval` 0."""

    burst: int = 10  # at once, for each of Normal and Warning: enough to follow a small rule by hand
    interval: float = 10.0  # seconds until one more: 500 sources converging cost about ten writes
    series: float = 360.0  # seconds in which the same Event again only raises its count, as Kubernetes does
    waiting: int = 1000  # Events not yet sent; beyond, the oldest are dropped


class Subject(Protocol):
    """A rule as Events name it; a CompiledRule is one."""

    @property
    def key(self) -> RuleKey: ...
    @property
    def uid(self) -> str: ...


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class _Series:
    name: str
    count: int = 1
    told: int = 1
    first: float = 0.0


@dataclass(slots=True)
class _Sum:
    """What got no Event of its own, of one rule."""

    uid: str
    counts: Counter[str] = field(default_factory=Counter)
    sources: int = 0


@dataclass(frozen=True, slots=True)
class _New:
    """An Event to be created."""

    namespace: str
    body: Object


@dataclass(frozen=True, slots=True)
class _More:
    """An Event that was sent before happened again: its series to be written."""

    namespace: str
    name: str
    body: Object


class Recorder:
    """Takes results, decides which become Events, and sends those from `run`."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        settings: EventSettings | None = None,
        *,
        instance: str = "rulesengine",
    ) -> None:
        self._client = client
        self._clock = clock
        self._settings = settings or EventSettings()
        self._instance = instance
        self._buckets: dict[tuple[RuleKey, bool], _Bucket] = {}
        self._sums: dict[RuleKey, _Sum] = {}
        self._series: OrderedDict[Note, _Series] = OrderedDict()
        self._queue: deque[_New | _More] = deque(maxlen=self._settings.waiting)
        self._wake = asyncio.Event()
        self._number = 0

    @property
    def off(self) -> bool:
        return self._settings.burst == 0 and self._settings.interval == 0

    def record(self, subject: Subject, result: Result) -> None:
        """Notes what became of a plan; cheap, never waits, never raises."""
        if self.off or not result.done:
            return
        untold = result.plan.source is None and result.wrote  # nowhere to tell it but on the rule
        for note in notes(result):
            if self._is_repeated(note):
                continue
            if self._may_send(subject.key, warning=note.warning):
                self._enqueue(note)
            else:
                untold = True
        if untold:
            if subject.key not in self._sums:
                self._wake.set()
            total = self._sums.setdefault(subject.key, _Sum(subject.uid))
            total.counts += tally(result)
            total.sources += 1

    def forget(self, rule: RuleKey) -> None:
        """The rule is gone."""
        self._sums.pop(rule, None)
        for warning in (False, True):
            self._buckets.pop((rule, warning), None)

    def flush(self) -> float | None:
        """Turns sums that may be told by now into Events; seconds until the next may be."""
        soonest: float | None = None
        for rule, total in list(self._sums.items()):
            warning = bool(total.counts["failed"])
            if self._may_send(rule, warning=warning):
                del self._sums[rule]
                self._enqueue(summed(rule, total.uid, total.counts, total.sources))
            else:
                wait = self._until_next(rule, warning=warning)
                soonest = wait if soonest is None else min(soonest, wait)
        return soonest

    async def run(self) -> None:
        """Sends until cancelled."""
        while True:
            wait = self.flush()
            while self._queue:
                await self._try(self._queue.popleft())
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), wait)

    # --- which ---

    def _may_send(self, rule: RuleKey, *, warning: bool) -> bool:
        bucket = self._bucket(rule, warning=warning)
        if bucket.tokens < 1.0:
            return False
        bucket.tokens -= 1.0
        return True

    def _bucket(self, rule: RuleKey, *, warning: bool) -> _Bucket:
        now, burst = self._clock.monotonic(), float(self._settings.burst)
        bucket = self._buckets.get((rule, warning))
        if bucket is None:
            bucket = self._buckets[rule, warning] = _Bucket(burst, now)
        if self._settings.interval > 0:
            bucket.tokens = min(max(burst, 1.0), bucket.tokens + (now - bucket.at) / self._settings.interval)
        bucket.at = now
        return bucket

    def _until_next(self, rule: RuleKey, *, warning: bool) -> float:
        return max(0.05, (1.0 - self._bucket(rule, warning=warning).tokens) * self._settings.interval)

    def _is_repeated(self, note: Note) -> bool:
        """Whether this is an Event of a moment ago again: then only its count goes up, seldom told."""
        series = self._series.get(note)
        now = self._clock.monotonic()
        if series is None or now - series.first > self._settings.series:
            return False
        series.count += 1
        if series.count >= 2 * series.told:  # told at 2, 4, 8, …: a loop does not write for ever
            series.told = series.count
            body = {"series": {"count": series.count, "lastObservedTime": micro_time(self._clock.now())}}
            self._queue.append(_More(place_of(note), series.name, body))
            self._wake.set()
        return True

    def _enqueue(self, note: Note) -> None:
        self._number += 1
        now = self._clock.now()
        suffix = f".{int(now.timestamp() * 1e6):x}{self._number:x}"
        name = note.regarding[3][: NAME_LIMIT - len(suffix)] + suffix
        self._series[note] = _Series(name, first=self._clock.monotonic())
        self._series.move_to_end(note)
        while len(self._series) > self._settings.waiting:
            self._series.popitem(last=False)
        self._queue.append(_New(place_of(note), event(note, name, now, self._instance)))
        self._wake.set()

    async def _try(self, item: _New | _More) -> None:
        try:
            await self._send(item)
        except APIError as error:
            logger.debug("an event was not sent", extra={"status": error.status, "reason": error.reason})
        except Exception:
            # a defect in telling must not end the telling, let alone the doing
            logger.exception("an event could not be sent")

    async def _send(self, item: _New | _More) -> None:
        match item:
            case _New(namespace, body):
                await self._client.create(EVENTS, namespace, body, field_manager=MANAGER)
            case _More(namespace, name, body):
                await self._client.patch(EVENTS, namespace, name, body, field_manager=MANAGER)
