"""The loop breaker: writes of one child that undo each other are slowed down and named.

Pure bookkeeping over a given clock. Counted in a sliding minute: writes of any kind, and
those that look like a fight: the same desired had to be written again onto the same object
(somebody took our fields, or the write does not stick), or a desired came back that was
written before another one. When either count is reached the child rests; afterwards one
write is tried, and if the fight goes on the next rest is longer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from rulesengine.apply.memory import Child

WINDOW = 60.0  # seconds
FIGHTS = 5  # per window
WRITES = 30  # per window, of any kind
LONGEST_REST = 16  # windows; the first rest is one window long, each further one twice the last
REMEMBERED = 8  # digests of earlier desireds a child is compared with


@dataclass(frozen=True, slots=True)
class Open:
    """The child rests for `seconds` more. `manager` is who undoes our writes, "" if unknown."""

    seconds: float
    manager: str


@dataclass(slots=True)
class _History:
    writes: deque[float] = field(default_factory=deque)
    fights: deque[float] = field(default_factory=deque)
    digests: deque[bytes] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    uid: str = ""
    rest: float = 0.0  # the length of the last rest
    until: float = 0.0
    manager: str = ""


class Breaker:
    """Histories of the children that were written lately."""

    def __init__(self, fights: int = FIGHTS, window: float = WINDOW, writes: int = WRITES) -> None:
        self._limits = fights, writes
        self._window = window
        self._histories: dict[Child, _History] = {}
        self._sweep_at = 1024

    def check(self, child: Child, now: float) -> Open | None:
        """Whether the child rests at present."""
        history = self._histories.get(child)
        if history is None or history.until <= now:
            return None
        return Open(history.until - now, history.manager)

    def wrote(self, child: Child, uid: str, digest: bytes | None, now: float, manager: str = "") -> None:
        """Counts a write that moved the object. `uid`: of the object before, "" when it was absent.
        `digest`: of the desired, None for a removal. `manager`: whose fields it took over, if known.
        """
        history = self._histories.get(child)
        if history is None:
            self._sweep(now)
            history = self._histories[child] = _History()
        self._age(history, now)
        history.writes.append(now)
        if digest is not None:
            if uid and history.uid in ("", uid) and digest in history.digests:
                history.fights.append(now)
            if not history.digests or history.digests[-1] != digest:
                history.digests.append(digest)
        history.uid = uid
        history.manager = manager or history.manager
        fights, writes = self._limits
        tried_after_rest = history.rest > 0.0 and bool(history.fights)
        if len(history.fights) >= fights or len(history.writes) >= writes or tried_after_rest:
            history.rest = min(max(history.rest * 2, self._window), LONGEST_REST * self._window)
            history.until = now + history.rest
            history.writes.clear()
            history.fights.clear()

    def contested(self, child: Child, now: float, manager: str = "") -> None:
        """Counts a write that another manager's ownership refused."""
        history = self._histories.setdefault(child, _History())
        self._age(history, now)
        history.fights.append(now)
        history.manager = manager or history.manager
        if len(history.fights) >= self._limits[0]:
            history.until = now + self._window
            history.fights.clear()

    def _age(self, history: _History, now: float) -> None:
        for times in (history.writes, history.fights):
            while times and times[0] <= now - self._window:
                times.popleft()
        if history.rest and now - history.until > max(history.rest, self._window):
            history.rest = 0.0  # quiet for long enough after the last rest: forgiven
        if not history.writes and not history.rest:
            history.digests = deque(list(history.digests)[-1:], maxlen=REMEMBERED)

    def _sweep(self, now: float) -> None:
        """Forgets quiet children, at a cost that each newly noted one pays a share of."""
        if len(self._histories) < self._sweep_at:
            return
        quiet = now - 2 * self._window
        for child, history in list(self._histories.items()):
            newest = max((*list(history.writes)[-1:], *list(history.fights)[-1:]), default=0.0)
            if newest <= quiet and history.until + max(history.rest, self._window) <= now:
                del self._histories[child]
        self._sweep_at = max(1024, 2 * len(self._histories))
