"""Fakes for the runtime: a clock that is moved by hand, and names that are short to write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rulesengine.core.keys import Request, RuleKey


class FakeClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.start = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.seconds - 1000.0)

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


def item(name: str = "a", rule: str = "r") -> Request:
    return Request(RuleKey("ClusterRule", "", rule), "ns", name)
