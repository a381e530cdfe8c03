"""`spec.resync`: when a work item is looked at although nothing changed. Pure: a time to the next one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TypeAlias

_UNIT = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    ("day of week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FAR = 366 * 8  # days after which every date that exists has come, 29 February included


class NoSchedule(ValueError):
    """The text is no schedule; the message says what of it is wrong, without a full stop."""


@dataclass(frozen=True, slots=True)
class Every:
    """At a fixed distance. Work items are spread over it, so that they do not come all at once."""

    seconds: float

    def after(self, when: datetime, spread: int) -> datetime:
        """The next time strictly after `when`, of a work item that is told apart by `spread`."""
        span = timedelta(seconds=self.seconds)
        first = _EPOCH + span * ((spread % 1_000_003) / 1_000_003)
        return first + ((when - first) // span + 1) * span


@dataclass(frozen=True, slots=True)
class Cron:
    """At the minutes that five fields of cron name, by the clocks of a zone.

    A time that does not exist because clocks are put forward comes right behind the gap; one that
    exists twice comes the first time only.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    either: bool  # both day fields are restricted: one of them has to fit, as cron has it
    zone: tzinfo = UTC

    def after(self, when: datetime, spread: int) -> datetime:
        """The next time strictly after `when`; the same for every work item."""
        del spread
        day = when.astimezone(self.zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
        for _ in range(_FAR):
            if self._fits(day):
                for hour in self.hours:
                    for minute in self.minutes:
                        local = day.replace(hour=hour, minute=minute, tzinfo=self.zone)
                        if (found := local.astimezone(UTC)) > when:
                            return found
            day += timedelta(days=1)
        raise AssertionError("every schedule that was read comes within eight years")

    def _fits(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month or of_week if self.either else of_month and of_week


Schedule: TypeAlias = Every | Cron
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def every(text: str) -> Every:
    """A duration like 1h30m. Raises NoSchedule below a second."""
    total = sum(float(amount) * _UNIT[unit] for amount, unit in _PART.findall(text)) / 1000
    if not 1 <= total <= 10 * 366 * 86400:
        raise NoSchedule("an interval is at least 1s and at most ten years")
    return Every(total)


def cron(text: str, zone: tzinfo = UTC) -> Cron:
    """Five fields: numbers, names, *, lists, ranges and steps; or @daily and its kin. Raises NoSchedule."""
    fields = _NAMED.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        raise NoSchedule(f"a schedule has five fields (minute hour day month weekday), not {len(fields)}")
    minutes, hours, days, months, weekdays = (
        _values(part, *about) for part, about in zip(fields, _FIELDS, strict=True)
    )
    weekdays = {number % 7 for number in weekdays}
    if all((month, day) in _NEVER for month in months for day in days) and fields[4].startswith("*"):
        raise NoSchedule("no month has such a day")
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    found = tuple(sorted(minutes)), tuple(sorted(hours)), frozenset(days), frozenset(months)
    return Cron(*found, frozenset(weekdays), either, zone)


_NEVER = frozenset({(2, 30), (2, 31), (4, 31), (6, 31), (9, 31), (11, 31)})


def _values(text: str, name: str, low: int, high: int, words: tuple[str, ...]) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if step and (not step.isdecimal() or not int(step)):
            raise NoSchedule(f"the step of {name} is a number above 0")
        if span in ("*", "?"):
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, name, low, high, words)
            last = _number(end, name, low, high, words) if dash else high if step else first
        if last < first:
            raise NoSchedule(f"a range of {name} goes upwards")
        found |= set(range(first, last + 1, int(step or 1)))
    return found


def _number(text: str, name: str, low: int, high: int, words: tuple[str, ...]) -> int:
    if text.lower() in words:
        return words.index(text.lower()) + low
    if not (text.isascii() and text.isdecimal()) or not low <= int(text) <= high:
        raise NoSchedule(f"{name} is a number from {low} to {high}" + (f", or {words[0]} …" if words else ""))
    return int(text)
