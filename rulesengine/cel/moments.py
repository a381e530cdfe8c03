"""When an answer about the present would be another: noted while an expression is evaluated.

`Moments.now` is the timestamp that an evaluation is given as its present. What is computed from
it by adding and subtracting remembers how fast it moves with time; comparing it notes the moment
at which the comparison turns, reading its hour, day or month notes the next one. So that
whoever evaluates knows exactly when to evaluate again, and nothing has to be polled.

What is only computed with (`int(now)`, `string(now)`) notes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MICROSECOND = 1000  # nanoseconds; a clock shows no less
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """How a value moves: `pace` nanoseconds for each one that passes."""

    moments: Moments
    pace: int

    def crossing(self, distance: int, pace: int) -> None:
        """Notes when a difference that is `distance` now and changes by `pace` is zero, or leaves it."""
        if distance == 0:
            self.moments.note(MICROSECOND)
        elif (distance < 0) != (pace < 0):
            self.moments.note(-(-abs(distance) // abs(pace)))

    def boundary(self, ns: int, unit: int) -> None:
        """Notes when the number of whole `unit`s in a span of `ns` is another."""
        rising = ns if self.pace > 0 else -ns  # truncation toward zero is symmetric
        if rising >= 0:
            left, behind = unit - rising % unit, 0
        else:  # counted toward zero: it changes right behind the boundary
            left, behind = -rising % unit, MICROSECOND
        self.moments.note(-(-left // abs(self.pace)) + behind)


class Moments:
    """Of one evaluation, or of several that belong together, at the moment `when`."""

    __slots__ = ("_ns", "_soonest", "course", "when")

    def __init__(self, when: datetime) -> None:
        self.when = when
        delta = when.astimezone(UTC) - _EPOCH
        self._ns = (delta.days * 86400 + delta.seconds) * 1_000_000_000 + delta.microseconds * 1000
        self._soonest: int | None = None
        self.course = Course(self, 1)

    @property
    def ns(self) -> int:
        """Nanoseconds since 1970."""
        return self._ns

    def note(self, after: int) -> None:
        """An answer may be another so many nanoseconds from now."""
        if after > 0 and (self._soonest is None or after < self._soonest):
            self._soonest = after

    @property
    def soonest(self) -> datetime | None:
        """The first moment at which an answer may be another; None when none depends on time."""
        if self._soonest is None:
            return None
        try:
            return _EPOCH + timedelta(microseconds=-(-(self._ns + self._soonest) // MICROSECOND))
        except OverflowError:  # beyond the year 9999
            return None


def joined(one: Course | None, other: Course | None, sign: int) -> Course | None:
    """The course of a sum (`sign` 1) or difference (-1)."""
    pace = (one.pace if one else 0) + sign * (other.pace if other else 0)
    found = one or other
    return Course(found.moments, pace) if found is not None and pace else None
