"""Timestamps and durations to the nanosecond, and what can be asked of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rulesengine.cel.library.registry import bad, enter, function, want
from rulesengine.cel.moments import Course
from rulesengine.cel.values import INT_MAX, INT_MIN, SECOND, Duration, Timestamp

_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")
_SPAN = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND - 1


def timestamp_of(ns: int, zone: int = 0, course: Course | None = None) -> Timestamp:
    if not _FIRST <= ns <= _LAST:
        raise bad("timestamp overflow", "overflow")
    return Timestamp(ns, zone, course)


def duration_of(ns: int, course: Course | None = None) -> Duration:
    if not INT_MIN <= ns <= INT_MAX:
        raise bad("duration overflow", "overflow")
    return Duration(ns, course)


@function("timestamp", "timestamp")
def to_timestamp(value: Any) -> Timestamp:
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        return timestamp_of(value * SECOND)
    match = _STAMP.fullmatch(want(value, str))
    if match is None:
        raise bad("the text is no RFC 3339 time")
    *parts, fraction, zone = match.groups()
    try:
        when = datetime(*map(int, parts), tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError:
        raise bad("the text is no RFC 3339 time") from None
    ns = Timestamp.of(when).ns + int((fraction or "0").ljust(9, "0"))
    east = 0
    if zone != "Z":
        east = (int(zone[1:3]) * 60 + int(zone[4:6])) * (60 if zone[0] == "+" else -60)
    return timestamp_of(ns - east * SECOND, east)


@function("duration", "duration")
def to_duration(value: Any) -> Duration:
    if type(value) is Duration:
        return value
    if type(value) is int:
        return duration_of(value)
    text = want(value, str)
    sign = -1 if text[:1] == "-" else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    parts = _SPAN.findall(rest)
    if rest != "0" and (not parts or "".join(a + b for a, b in parts) != rest):
        raise bad("the text is no duration")
    total = 0
    for amount, unit in parts:
        whole, _, fraction = amount.partition(".")
        total += int(whole or "0") * _UNITS[unit]
        total += int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction) if fraction else 0
    return duration_of(sign * total)


def _local(value: Timestamp, zone: str | None) -> datetime:
    return value.when.astimezone(_zone(zone)) if zone is not None else value.when


def _zone(name: str) -> tzinfo:
    match = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", want(name, str))
    if match:
        delta = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-delta if match[1] == "-" else delta)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise bad("unknown time zone") from None


def _accessor(
    name: str,
    of_time: Callable[[datetime], int],
    turns: Callable[[datetime], datetime] | None,
    of_span: int = 0,
) -> None:
    """`turns`: from a time of a zone, without the zone, to the next one that answers differently;
    `of_span`: nanoseconds of the unit that spans are counted in, 0: they are not.
    """

    def get(value: Any, zone: str | None = None) -> int:
        if type(value) is Duration and of_span and zone is None:
            if value.course is not None and turns is not None:
                value.course.boundary(value.ns, of_span)
            return _toward_zero(value.ns, of_span)
        local = _local(want(value, Timestamp), zone)
        if value.course is not None and turns is not None:
            _note(value, local, turns)
        return of_time(local)

    enter(f".{name}", get, "int")


def _toward_zero(ns: int, unit: int) -> int:
    return ns // unit if ns >= 0 else -(-ns // unit)


def _note(value: Timestamp, local: datetime, turns: Callable[[datetime], datetime]) -> None:
    """Notes the next boundary of the zone, and the next change of its offset if that is sooner:
    clocks that are put forward or back change the answer, too.
    """
    assert value.course is not None
    try:
        wanted = [turns(local.replace(tzinfo=None, fold=0))]
        wanted += [_shift(local)] if local.utcoffset() != _after(local).utcoffset() else []
    except OverflowError:  # the end of time
        return
    for naive in wanted:
        for fold in (0, 1):
            at = naive.replace(tzinfo=local.tzinfo, fold=fold).astimezone(UTC)
            value.course.crossing(value.ns - Timestamp.of(at).ns, value.course.pace)


def _after(local: datetime) -> datetime:
    """A day later by the clock of the world: offsets change less often than that."""
    return (local.astimezone(UTC) + timedelta(days=1)).astimezone(local.tzinfo)


def _shift(local: datetime) -> datetime:
    """The minute, within the coming day, from which on the zone has another offset; as its clocks show it."""
    first, last = local.astimezone(UTC), local.astimezone(UTC) + timedelta(days=1)
    while last - first > timedelta(seconds=1):
        middle = first + (last - first) / 2
        if middle.astimezone(local.tzinfo).utcoffset() == local.utcoffset():
            first = middle
        else:
            last = middle
    return last.replace(microsecond=0).astimezone(local.tzinfo).replace(tzinfo=None)


def _day(t: datetime) -> datetime:
    return t.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def _month(t: datetime) -> datetime:
    first = t.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)


def _year(t: datetime) -> datetime:
    return datetime(t.year + 1, 1, 1)  # noqa: DTZ001 - the zone is put on it afterwards


def _unit(span: timedelta) -> Callable[[datetime], datetime]:
    def turn(t: datetime) -> datetime:
        midnight = t.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + ((t - midnight) // span + 1) * span

    return turn


_accessor("getFullYear", lambda t: t.year, _year)
_accessor("getMonth", lambda t: t.month - 1, _month)
_accessor("getDate", lambda t: t.day, _day)
_accessor("getDayOfMonth", lambda t: t.day - 1, _day)
_accessor("getDayOfWeek", lambda t: t.isoweekday() % 7, _day)
_accessor("getDayOfYear", lambda t: t.timetuple().tm_yday - 1, _day)
_accessor("getHours", lambda t: t.hour, _unit(timedelta(hours=1)), 3600 * SECOND)
_accessor("getMinutes", lambda t: t.minute, _unit(timedelta(minutes=1)), 60 * SECOND)
_accessor("getSeconds", lambda t: t.second, _unit(timedelta(seconds=1)), SECOND)
# no turns: a thousand looks a second are not what anybody means
_accessor("getMilliseconds", lambda t: t.microsecond // 1000, None, 10**6)
