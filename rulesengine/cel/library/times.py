"""Timestamps and durations to the nanosecond, and what can be asked of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rulesengine.cel.library.registry import bad, enter, function, want
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


def timestamp_of(ns: int, zone: int = 0) -> Timestamp:
    if not _FIRST <= ns <= _LAST:
        raise bad("timestamp overflow", "overflow")
    return Timestamp(ns, zone)


def duration_of(ns: int) -> Duration:
    if not INT_MIN <= ns <= INT_MAX:
        raise bad("duration overflow", "overflow")
    return Duration(ns)


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
    name: str, of_time: Callable[[datetime], int], of_span: Callable[[int], int] | None = None
) -> None:
    def get(value: Any, zone: str | None = None) -> int:
        if type(value) is Duration and of_span is not None and zone is None:
            return of_span(value.ns)
        return of_time(_local(want(value, Timestamp), zone))

    enter(f".{name}", get, "int")


def _toward_zero(ns: int, unit: int) -> int:
    return ns // unit if ns >= 0 else -(-ns // unit)


_accessor("getFullYear", lambda t: t.year)
_accessor("getMonth", lambda t: t.month - 1)
_accessor("getDate", lambda t: t.day)
_accessor("getDayOfMonth", lambda t: t.day - 1)
_accessor("getDayOfWeek", lambda t: t.isoweekday() % 7)
_accessor("getDayOfYear", lambda t: t.timetuple().tm_yday - 1)
_accessor("getHours", lambda t: t.hour, lambda ns: _toward_zero(ns, 3600 * SECOND))
_accessor("getMinutes", lambda t: t.minute, lambda ns: _toward_zero(ns, 60 * SECOND))
_accessor("getSeconds", lambda t: t.second, lambda ns: _toward_zero(ns, SECOND))
_accessor("getMilliseconds", lambda t: t.microsecond // 1000, lambda ns: _toward_zero(ns, 10**6))
