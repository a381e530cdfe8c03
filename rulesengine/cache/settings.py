"""Times and sizes of the cache: unit, reason for the default, how to switch off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """All times are seconds."""

    # How long a watch nobody needs any more is kept: a rule that is edited is released and
    # acquired within a moment. 0 stops at once.
    grace: float = 30.0
    # A server that knows streaming lists sends them without a break. After this silence
    # before the closing bookmark, objects are listed the old way.
    initial_silence: float = 10.0
    # The server ends a watch after a random time between these, so that watches of many
    # engines do not all reconnect at once.
    watch_shortest: int = 300
    watch_longest: int = 600
    # Bookmarks come about every minute; two may be late before a silent connection counts as dead.
    idle: float = 150.0
    # After failures: first · 2ⁿ up to longest, each times 0.5 to 1.5 at random.
    backoff_first: float = 0.1
    backoff_longest: float = 8.0
    # Rights and kinds come back rarely and by somebody's hand; recheck() does not wait for this.
    patience_first: float = 5.0
    patience_longest: float = 300.0
    # After recheck(): a kind is served up to a second or two later than its CRD says Established.
    eager_first: float = 0.1
    # A watch that ends sooner than this counts as a failure, else it would be opened in a tight loop.
    watch_too_short: float = 1.0
    page: int = 500


class Backoff:
    """Doubling waits. `random` gives 0 to 1."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self.reset()

    def reset(self, first: float | None = None) -> None:
        """Begins anew, with `first` from another first wait on."""
        self._failures = 0
        self._begin = self._first if first is None else first

    def next(self, random: float) -> float:
        wait = min(self._begin * 2 ** min(self._failures, 30), self._longest)
        self._failures += 1
        return float(wait * (0.5 + random))
