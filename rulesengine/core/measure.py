"""A histogram of plain numbers, cheap enough for every work item; who shows it reads it later."""

from __future__ import annotations

from bisect import bisect_left

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Histogram:
    """Counts of values up to each bound, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def buckets(self) -> list[tuple[str, float]]:
        """As Prometheus wants them: how many were at most each bound, the last one without bound."""
        total, found = 0, []
        for bound, count in zip((*self.bounds, None), tuple(self.counts), strict=True):
            total += count
            found.append(("+Inf" if bound is None else str(bound), float(total)))
        return found
