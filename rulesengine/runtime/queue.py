"""Which work item is looked at next: each once, one run at a time, rules in turn.

Keys come in from events, timers and workers, and go out to workers. An item is ready, running
or delayed. Added while running it runs exactly once more afterwards; added while delayed it is
ready at once and the delay is off.

Two levels: events are normal; initial lists, resyncs and repetitions are low. Rules take turns
within a level, so that a rule with 100,000 items costs another rule's single item one round.
Low items age by being passed over: after seven normal items one of them goes first.

No polling and no task of its own: one loop timer stands for the earliest delay. Time comes
from the clock that is given; whoever makes it jump calls `wake`.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict, deque
from enum import IntEnum

from rulesengine.core.clock import Clock
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.measure import Histogram

BACKOFF_FIRST = 0.005  # seconds; doubles with every failure of the same item
BACKOFF_LONGEST = 1000.0
PASSED_OVER = 7  # normal items that may go before a waiting low one
STALE_TIMERS = 64  # timers of delays that are off, kept beyond the number of live ones


class Priority(IntEnum):
    """The lower goes first."""

    NORMAL = 0
    LOW = 1


class _Level:
    """The ready items of one priority: a ring of rules, each with its items in order."""

    __slots__ = ("_items", "_ring", "size")

    def __init__(self) -> None:
        self._items: dict[RuleKey, OrderedDict[Request, None]] = {}
        self._ring: deque[RuleKey] = deque()
        self.size = 0

    def add(self, key: Request) -> None:
        items = self._items.get(key.rule)
        if items is None:
            items = self._items[key.rule] = OrderedDict()
            self._ring.append(key.rule)
        items[key] = None
        self.size += 1

    def discard(self, key: Request) -> None:
        del self._items[key.rule][key]  # a rule left without items leaves the ring at its turn
        self.size -= 1

    def pop(self) -> Request:
        """The next rule's oldest item; there must be one."""
        while True:
            rule = self._ring.popleft()
            items = self._items[rule]
            if not items:
                del self._items[rule]
                continue
            key, _ = items.popitem(last=False)
            if items:
                self._ring.append(rule)
            else:
                del self._items[rule]
            self.size -= 1
            return key

    def forget(self, rule: RuleKey) -> list[Request]:
        items = self._items.get(rule)
        dropped = list(items or ())
        if items:
            items.clear()
        self.size -= len(dropped)
        return dropped


class Queue:
    """For one event loop. `backoff` is (first, longest) delay after failures, in seconds."""

    def __init__(
        self, clock: Clock, *, backoff: tuple[float, float] = (BACKOFF_FIRST, BACKOFF_LONGEST)
    ) -> None:
        self._clock = clock
        self._monotonic = clock.monotonic  # looked up once: it is asked twice an item
        self._backoff = backoff
        self._levels = (_Level(), _Level())
        self._ready: dict[Request, tuple[Priority, float]] = {}  # and since when
        self._running: set[Request] = set()
        self._again: dict[Request, Priority] = {}  # added while running
        self._failures: dict[Request, int] = {}
        self._due: dict[Request, float] = {}
        self._timers: list[tuple[float, Request]] = []  # those that differ from _due are off
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")
        self._takers: deque[asyncio.Future[None]] = deque()
        self._passed_over = 0
        self._closed = False
        self.adds = 0
        self.retries = 0
        self.waited = Histogram()

    # --- in ---

    def add(self, key: Request, priority: Priority = Priority.NORMAL) -> None:
        """Something about the item may have changed: it is looked at (once more)."""
        if key in self._running:
            before = self._again.get(key, priority)
            self._again[key] = min(before, priority)
            return
        known = self._ready.get(key)
        if known is None:
            if self._due:
                self._due.pop(key, None)
            self._enter(key, priority)
        elif priority < known[0]:
            self._levels[known[0]].discard(key)
            self._ready[key] = (priority, known[1])
            self._levels[priority].add(key)

    def add_after(self, key: Request, seconds: float) -> None:
        """Looked at after so long, unless it is looked at before; of two delays the shorter holds."""
        if key in self._running or key in self._ready:
            return  # whoever runs it says at its end when to look again
        self._delay(key, seconds)

    # --- out ---

    async def take(self) -> Request:
        """The next item, which is running from now on; waits for one. Call `done` for each."""
        while not self._ready:
            taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker in self._takers:
                    self._takers.remove(taker)
                elif self._ready:
                    self._call_taker()  # the call that was meant for this one goes on to another
                raise
        return self._pop()

    def done(self, key: Request, *, after: float | None = None, failed: bool = False) -> None:
        """The run is over. `failed`: again with backoff, which any other end resets.

        `after`: again after so many seconds (with `failed`, whichever is sooner). If it was
        added meanwhile it is ready at once.
        """
        self._running.discard(key)
        again = self._again.pop(key, None) if self._again else None
        if failed:
            self.retries += 1
            count = self._failures.get(key, 0)
            self._failures[key] = count + 1
            first, longest = self._backoff
            delay = min(first * 2.0 ** min(count, 60), longest)
            after = delay if after is None else min(after, delay)
        elif self._failures:
            self._failures.pop(key, None)
        if again is not None:
            self._enter(key, again)
        elif after is not None:
            self._delay(key, after)

    # --- about ---

    def failures(self, key: Request) -> int:
        """How often in a row the item failed."""
        return self._failures.get(key, 0)

    def is_running(self, rule: RuleKey) -> bool:
        """Whether some item of the rule is running."""
        return any(key.rule == rule for key in self._running)

    def forget(self, rule: RuleKey) -> None:
        """Drops all of a rule's items and their backoff; those running end, and run no more."""
        for level in self._levels:
            for key in level.forget(rule):
                del self._ready[key]
        for known in (self._again, self._due, self._failures):
            for key in [key for key in known if key.rule == rule]:
                del known[key]

    @property
    def idle(self) -> bool:
        """Nothing is ready or running; delays may be pending."""
        return not self._ready and not self._running

    @property
    def ready(self) -> int:
        return len(self._ready)

    @property
    def delayed(self) -> int:
        return len(self._due)

    def state(self, key: Request) -> tuple[str, float]:
        """Whether an item is running, ready (for so long), delayed (for so long yet) or idle."""
        now = self._clock.monotonic()
        if key in self._running:
            return "running", 0.0
        if key in self._ready:
            return "ready", now - self._ready[key][1]
        if key in self._due:
            return "delayed", max(self._due[key] - now, 0.0)
        return "idle", 0.0

    @property
    def due_in(self) -> float | None:
        """Seconds until the next delay is over; None when none is pending."""
        at = min(self._due.values(), default=None)
        return None if at is None else max(at - self._clock.monotonic(), 0.0)

    def __contains__(self, key: Request) -> bool:
        """Whether the item is ready or running."""
        return key in self._ready or key in self._running

    def wake(self) -> None:
        """Makes ready what is due by the clock; for whoever moves the clock."""
        now = self._clock.monotonic()
        while self._timers and self._timers[0][0] <= now:
            at, key = heapq.heappop(self._timers)
            if self._due.get(key) == at:
                del self._due[key]
                self._enter(key, Priority.LOW)
        self._arm()

    def close(self) -> None:
        """No timer stays behind."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- inside ---

    def _enter(self, key: Request, priority: Priority) -> None:
        self._ready[key] = (priority, self._monotonic())
        self._levels[priority].add(key)
        self.adds += 1
        if self._takers:
            self._call_taker()

    def _call_taker(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _pop(self) -> Request:
        normal, low = self._levels
        if normal.size and (not low.size or self._passed_over < PASSED_OVER):
            self._passed_over += bool(low.size)
            key = normal.pop()
        else:
            self._passed_over = 0
            key = low.pop()
        _, since = self._ready.pop(key)
        self._running.add(key)
        self.waited.observe(self._monotonic() - since)
        return key

    def _delay(self, key: Request, seconds: float) -> None:
        at = self._clock.monotonic() + max(seconds, 0.0)
        if self._due.get(key, at + 1.0) <= at:
            return
        self._due[key] = at
        heapq.heappush(self._timers, (at, key))
        if len(self._timers) > 2 * len(self._due) + STALE_TIMERS:
            self._timers = [(due, key) for key, due in self._due.items()]
            heapq.heapify(self._timers)
        if at < self._timer_at:
            self._arm()

    def _arm(self) -> None:
        """One loop timer, for the earliest delay."""
        at = self._timers[0][0] if self._timers else float("inf")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = at
        if self._timers and not self._closed:
            wait = max(at - self._clock.monotonic(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(wait, self.wake)
