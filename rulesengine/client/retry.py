"""When a refused request is sent again, and after how long.

429 is always safe to repeat: the server did nothing. Other failures are repeated only where a
second execution cannot harm (reads, applies, deletes, replaces; not creations). Patience is
short: the queue behind the client knows better what to do with an object that fails, and a
request that waits holds up a worker.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from rulesengine.client.errors import APIError, ServerError, TimedOut, TooManyRequests, Unreachable


@dataclass(frozen=True, slots=True)
class Retries:
    """`attempts` counts all of them (1 switches repeating off); times are seconds."""

    attempts: int = 4
    first: float = 0.1  # doubles each time; the server's Retry-After goes before it
    longest: float = 10.0  # a Retry-After beyond this is the caller's business
    jitter: Callable[[], float] = random.random

    def delay(self, error: APIError, attempt: int, *, repeatable: bool) -> float | None:
        """Seconds until the next attempt, None for none; `attempt` counts from 1."""
        if attempt >= self.attempts or not _worth_it(error, repeatable=repeatable):
            return None
        backoff = self.first * 2 ** (attempt - 1)
        wait = error.retry_after if error.retry_after is not None else backoff
        if wait > self.longest:
            return None
        return float(wait + backoff * self.jitter())


def _worth_it(error: APIError, *, repeatable: bool) -> bool:
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, TimedOut):
        return False  # it has cost its whole time already
    if isinstance(error, Unreachable):
        return repeatable and error.sent  # a connection that the server closed just then
    if isinstance(error, ServerError):
        # a plain 500 is an answer ("duplicate entries"), not an overload
        return repeatable and (error.status in (502, 503, 504) or error.retry_after is not None)
    return False
