"""The time of a case: begins where the case says, goes on with the machine's, and jumps when told."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SPAN = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+")
_CREATED = re.compile(rb'"creationTimestamp":"([0-9TZ:-]+)"')
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")


class MovableClock:
    """The machine's clock, set to `start` (None: left as it is) and moved on by `advance`."""

    def __init__(self, start: datetime | None = None) -> None:
        self._ahead = 0.0
        self._shift = start - datetime.now(UTC) if start is not None else timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._shift + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds

    def translated(self, text: bytes) -> bytes:
        """What a server with the machine's time says, with creations in this clock's time.

        The engine compares them with its own stamps: an object that seems to be younger than its
        stamp is a restored copy.
        """
        return _CREATED.sub(self._shifted, text) if self._shift else text

    def _shifted(self, found: re.Match[bytes]) -> bytes:
        time = datetime.fromisoformat(found[1].decode()) + self._shift
        return b'"creationTimestamp":"' + time.strftime("%Y-%m-%dT%H:%M:%SZ").encode() + b'"'


def seconds_of(span: str) -> float:
    """`2h30m`, `90s` or `1d` in seconds. Raises ValueError for other text."""
    if not SPAN.fullmatch(span):
        raise ValueError("not a span of time")
    return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(span))
