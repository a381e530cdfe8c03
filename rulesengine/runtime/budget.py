"""How many requests a second one rule may cause: what it does too much of, it waits for itself.

A bucket for each rule that fills with time. A pass is never cut short; what it sent is charged
afterwards, and while a rule owes, its work items are put off, each to a moment of its own, and
no worker waits for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from rulesengine.core.clock import Clock
from rulesengine.core.keys import RuleKey


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float
    promised: int = 0  # work items that were put off and have not come back


class Budget:
    """`rate` requests a second, of which `burst` may be saved up. A rate of 0 bounds nothing."""

    def __init__(self, clock: Clock, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._buckets: dict[RuleKey, _Bucket] = {}

    def owed(self, rule: RuleKey) -> float:
        """Seconds that a work item of the rule has to wait; 0.0: it may be looked at now."""
        bucket = self._buckets.get(rule)
        if bucket is None:
            return 0.0
        self._fill(bucket)
        if bucket.left > 0:
            bucket.promised = max(bucket.promised - 1, 0)
            return 0.0
        bucket.promised += 1
        return (bucket.promised - bucket.left) / self._rate

    def charge(self, rule: RuleKey, requests: int) -> None:
        """The rule caused so many requests."""
        if not requests or not self._rate:
            return
        bucket = self._buckets.get(rule)
        if bucket is None:
            bucket = self._buckets[rule] = _Bucket(self._burst, self._clock.monotonic())
        self._fill(bucket)
        bucket.left -= requests

    def forget(self, rule: RuleKey) -> None:
        self._buckets.pop(rule, None)

    def _fill(self, bucket: _Bucket) -> None:
        now = self._clock.monotonic()
        bucket.left = min(bucket.left + (now - bucket.at) * self._rate, self._burst)
        bucket.at = now
