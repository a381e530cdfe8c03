"""Time as something that is given, so that tests can move it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Wall time, with time zone UTC: for stamps and for `now` in expressions."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward: for delays and timeouts."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
