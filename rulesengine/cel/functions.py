"""The functions of the environment, by name. Each checks the types it is given.

Member calls have a "." before the name; the target is the first argument. `RESULTS` are the
types that the checker deduces.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import re2

from rulesengine.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    OMIT,
    SECOND,
    UINT_MAX,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    UInt,
    compare,
    equals,
    no_overload,
    number_of,
    to_json,
    to_text,
    type_of,
)  # fmt: skip
from rulesengine.core import json
from rulesengine.core.errors import EvaluationError, InvalidJSON

Function = Callable[..., Any]
FUNCTIONS: dict[str, Function] = {}
RESULTS: dict[str, str] = {}


def function(name: str, result: str = "dyn") -> Callable[[Function], Function]:
    def register(run: Function) -> Function:
        FUNCTIONS[name] = run
        RESULTS[name] = result
        return run

    return register


def want(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds and not (dict in kinds and isinstance(value, dict)):
        raise no_overload()
    return value


def bad(message: str, reason: str = "argument") -> EvaluationError:
    return EvaluationError(message, reason=reason)


def int64(value: int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise bad("integer overflow", "overflow")
    return value


# --- operators ---


def add(a: Any, b: Any) -> Any:
    ta, tb = type(a), type(b)
    if ta is tb:
        if ta is int:
            return int64(a + b)
        if ta in (str, bytes, list, float):
            return a + b
        if ta is UInt:
            return UInt(a.value + b.value)
        if ta is Duration:
            return duration_of(a.ns + b.ns)
    if ta is Timestamp and tb is Duration:
        return timestamp_of(a.ns + b.ns)
    if ta is Duration and tb is Timestamp:
        return timestamp_of(a.ns + b.ns)
    raise no_overload()


def subtract(a: Any, b: Any) -> Any:
    ta, tb = type(a), type(b)
    if ta is tb:
        if ta is int:
            return int64(a - b)
        if ta is float:
            return a - b
        if ta is UInt:
            return UInt(a.value - b.value)
        if ta in (Duration, Timestamp):
            return duration_of(a.ns - b.ns)
    if ta is Timestamp and tb is Duration:
        return timestamp_of(a.ns - b.ns)
    raise no_overload()


def multiply(a: Any, b: Any) -> Any:
    if type(a) is not type(b):
        raise no_overload()
    if type(a) is int:
        return int64(a * b)
    if type(a) is float:
        return a * b
    if type(a) is UInt:
        return UInt(a.value * b.value)
    raise no_overload()


def divide(a: Any, b: Any) -> Any:
    if type(a) is not type(b):
        raise no_overload()
    if type(a) is float:
        if b == 0.0:
            return (
                math.nan if a == 0.0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
            )
        return a / b
    x, y = number_of(want(a, int, UInt)), number_of(b)
    if y == 0:
        raise bad("division by zero", "division")
    quotient = abs(x) // abs(y)  # type: ignore[arg-type]
    if type(a) is UInt:
        return UInt(int(quotient))
    return int64(int(quotient if (x < 0) == (y < 0) else -quotient))  # type: ignore[operator]


def modulo(a: Any, b: Any) -> Any:
    if type(a) is not type(b):
        raise no_overload()
    x, y = number_of(want(a, int, UInt)), number_of(b)
    if y == 0:
        raise bad("modulus by zero", "division")
    if type(a) is int and a == INT_MIN and b == -1:
        raise bad("integer overflow", "overflow")
    rest = int(math.fmod(x, y)) if max(abs(x), abs(y)) < 2**53 else abs(x) % abs(y) * (-1 if x < 0 else 1)  # type: ignore[arg-type,operator]
    return UInt(int(rest)) if type(a) is UInt else int(rest)


def negate(a: Any) -> Any:
    if type(a) is int:
        return int64(-a)
    if type(a) is float:
        return -a
    if type(a) is Duration:
        return duration_of(-a.ns)
    raise no_overload()


def contains(item: Any, within: Any) -> bool:
    from rulesengine.cel.values import lookup  # noqa: PLC0415

    if isinstance(within, list):
        return any(equals(item, each) for each in within)
    if isinstance(within, dict):
        if type(item) is str:
            return item in within
        if type(item) in (int, bool, UInt, float):
            return lookup(within, item)[0]
    raise no_overload()


OPERATORS: dict[str, Function] = {
    "_+_": add, "_-_": subtract, "_*_": multiply, "_/_": divide, "_%_": modulo, "-_": negate, "@in": contains,
    "_==_": equals, "_!=_": lambda a, b: not equals(a, b),
    "_<_": lambda a, b: ordered(a, b) and compare(a, b) < 0, "_<=_": lambda a, b: ordered(a, b) and compare(a, b) <= 0,
    "_>_": lambda a, b: ordered(a, b) and compare(a, b) > 0, "_>=_": lambda a, b: ordered(a, b) and compare(a, b) >= 0,
}  # fmt: skip


def ordered(a: Any, b: Any) -> bool:
    """False where a NaN makes every comparison false."""
    return not (a.__class__ is float and a != a) and not (b.__class__ is float and b != b)


# --- conversions ---


@function("size", "int")
@function(".size", "int")
def size(value: Any) -> int:
    if isinstance(value, dict | list) or type(value) in (str, bytes):
        return len(value)
    raise no_overload()


@function("int", "int")
def to_int(value: Any) -> int:
    kind = type(value)
    if kind is int:
        return value
    if kind is UInt:
        return int64(value.value)
    if kind is float:
        if math.isnan(value) or not -9.223372036854775e18 < value < 9.223372036854775807e18:
            raise bad("integer overflow", "overflow")
        return int(value)
    if kind is str:
        if not re.fullmatch(r"[+-]?\d+", value):
            raise bad("the text is no int")
        return int64(int(value))
    if kind is Timestamp:
        return value.ns // SECOND
    raise no_overload()


@function("uint", "uint")
def to_uint(value: Any) -> UInt:
    kind = type(value)
    if kind is UInt:
        return value
    if kind is float and (math.isnan(value) or not 0 <= value < 18446744073709551616.0):
        raise bad("unsigned integer overflow", "overflow")
    if kind is str:
        if not re.fullmatch(r"\d+", value) or int(value) > UINT_MAX:
            raise bad("the text is no uint")
        return UInt(int(value))
    return UInt(int(want(value, int, float)))


@function("double", "double")
def to_double(value: Any) -> float:
    if type(value) is str:
        try:
            if "_" in value or value.strip() != value:
                raise ValueError
            return float(value)
        except ValueError:
            raise bad("the text is no double") from None
    found = number_of(value)
    if found is None:
        raise no_overload()
    return float(found)


@function("string", "string")
def to_string(value: Any) -> str:
    if type(value) in (Timestamp, Duration):
        return str(value)
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise bad("invalid UTF-8 in bytes, cannot convert to string") from None
    return to_text(value)


@function("bytes", "bytes")
def to_bytes(value: Any) -> bytes:
    return value if type(value) is bytes else want(value, str).encode()


@function("bool", "bool")
def to_bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    found = {
        **dict.fromkeys(("1", "t", "true", "TRUE", "True"), True),
        **dict.fromkeys(("0", "f", "false", "FALSE", "False"), False),
    }
    if want(value, str) not in found:
        raise bad("the text is no bool")
    return found[value]


FUNCTIONS["dyn"] = lambda value: value
FUNCTIONS["omit"] = lambda: OMIT
FUNCTIONS["type"] = lambda value: TypeValue(type_of(value))


# --- time ---

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


def timestamp_of(ns: int) -> Timestamp:
    if not _FIRST <= ns <= _LAST:
        raise bad("timestamp overflow", "overflow")
    return Timestamp(ns)


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
    if zone != "Z":
        offset = (int(zone[1:3]) * 60 + int(zone[4:6])) * 60 * SECOND
        ns -= offset if zone[0] == "+" else -offset
    return timestamp_of(ns)


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

    FUNCTIONS[f".{name}"] = get
    RESULTS[f".{name}"] = "int"


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

# --- strings ---


def _string(name: str, result: str, run: Callable[..., Any], *kinds: type) -> None:
    def checked(target: Any, *arguments: Any) -> Any:
        want(target, str)
        if len(arguments) > len(kinds):
            raise no_overload()
        for argument, kind in zip(arguments, kinds, strict=False):
            want(argument, kind)
        return run(target, *arguments)

    FUNCTIONS[f".{name}"] = checked
    RESULTS[f".{name}"] = result


def _matches(text: str, pattern: str) -> bool:
    try:
        return re2.search(pattern, text) is not None
    except re2.error:
        raise bad("the pattern is no regular expression (RE2)") from None


def _index(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise bad("index out of range", "index")
    return text.find(part, start)


def _last_index(text: str, part: str, end: int | None = None) -> int:
    if end is None:
        return text.rfind(part)
    if not 0 <= end <= len(text):
        raise bad("index out of range", "index")
    return text.rfind(part, 0, end + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise bad("index out of range", "index")
    return text[start:stop]


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise bad("index out of range", "index")
    return text[index : index + 1]


def _split(text: str, by: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if count == 1:
        return [text]
    if not by:
        return list(text) if count < 0 else [*text[: count - 1], text[count - 1 :]] if text else []
    return text.split(by) if count < 0 else text.split(by, count - 1)


def _ascii(text: str, first: str, last: str, shift: int) -> str:
    return "".join(chr(ord(c) + shift) if first <= c <= last else c for c in text)


_string("startsWith", "bool", str.startswith, str)
_string("endsWith", "bool", str.endswith, str)
_string("contains", "bool", lambda text, part: part in text, str)
_string("matches", "bool", _matches, str)
_string("charAt", "string", _char_at, int)
_string("indexOf", "int", _index, str, int)
_string("lastIndexOf", "int", _last_index, str, int)
_string("lowerAscii", "string", lambda text: _ascii(text, "A", "Z", 32))
_string("upperAscii", "string", lambda text: _ascii(text, "a", "z", -32))
_string("replace", "string", lambda text, old, new, count=-1: text.replace(old, new, count), str, str, int)
_string("split", "list(string)", _split, str, int)
_string("substring", "string", _substring, int, int)
_string("trim", "string", str.strip)
_string("reverse", "string", lambda text: text[::-1])


@function("matches", "bool")
def matches(text: Any, pattern: Any) -> bool:
    return _matches(want(text, str), want(pattern, str))


@function(".join", "string")
def join(items: Any, by: Any = "") -> str:
    return want(by, str).join([want(each, str) for each in want(items, list)])


# --- lists ---


@function(".sum")
def total(items: Any) -> Any:
    result: Any = 0
    for index, each in enumerate(want(items, list)):
        result = each if index == 0 else add(result, each)
    return result


def _best(items: Any, sign: int) -> Any:
    if not want(items, list):
        raise bad("min/max called on empty list")
    best = items[0]
    for each in items[1:]:
        if compare(each, best) * sign > 0:
            best = each
    return best


FUNCTIONS[".min"] = lambda items: _best(items, -1)
FUNCTIONS[".max"] = lambda items: _best(items, 1)


@function(".isSorted", "bool")
def is_sorted(items: Any) -> bool:
    return all(compare(a, b) <= 0 for a, b in zip(want(items, list), items[1:], strict=False))


@function(".distinct")
def distinct(items: Any) -> list[Any]:
    found: list[Any] = []
    for each in want(items, list):
        if not any(equals(each, other) for other in found):
            found.append(each)
    return found


@function(".flatten")
def flatten(items: Any, depth: Any = 1) -> list[Any]:
    found: list[Any] = []
    for each in want(items, list):
        if isinstance(each, list) and depth > 0:
            found += flatten(each, depth - 1) if depth > 1 else each
        else:
            found.append(each)
    return found


@function(".slice")
def slice_of(items: Any, start: Any, end: Any) -> list[Any]:
    if not 0 <= want(start, int) <= want(end, int) <= len(want(items, list)):
        raise bad("index out of range", "index")
    return items[start:end]  # type: ignore[no-any-return]


@function(".sort")
def sort(items: Any) -> list[Any]:
    from functools import cmp_to_key  # noqa: PLC0415

    return sorted(want(items, list), key=cmp_to_key(compare))


@function("lists.range", "list(int)")
def lists_range(count: Any) -> list[int]:
    if want(count, int) > 100_000:
        raise bad("lists.range is limited to 100000 items", "cost")
    return list(range(count))


FUNCTIONS[".first"] = lambda items: Optional(items[0]) if want(items, list) else NONE
FUNCTIONS[".last"] = lambda items: Optional(items[-1]) if want(items, list) else NONE

# --- optionals ---

FUNCTIONS["optional.of"] = Optional
FUNCTIONS["optional.none"] = lambda: NONE


@function("optional.ofNonZeroValue")
def of_non_zero(value: Any) -> Optional:
    zero = value is None or value is False or value in ("", b"", 0, 0.0) or value in ([], {})
    return NONE if zero or (type(value) is UInt and value.value == 0) else Optional(value)


@function(".hasValue", "bool")
def has_value(value: Any) -> bool:
    return want(value, Optional).has  # type: ignore[no-any-return]


@function(".value")
def value_of(value: Any) -> Any:
    if not want(value, Optional).has:
        raise bad("optional.none() dereference")
    return value.value


# --- our own ---


@function("json.marshal", "string")
def marshal(value: Any) -> str:
    return json.encode_sorted(to_json(value)).decode()


@function("json.unmarshal")
def unmarshal(text: Any) -> Any:
    try:
        return json.decode(want(text, str))
    except InvalidJSON:
        raise bad("the text is not JSON") from None


def _hash(name: str, run: Callable[[bytes], str]) -> None:
    FUNCTIONS[f"hash.{name}"] = lambda value: run(
        value if type(value) is bytes else want(value, str).encode()
    )
    RESULTS[f"hash.{name}"] = "string"


_hash("sha256", lambda data: hashlib.sha256(data).hexdigest())
_hash("sha1", lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest())
_hash("md5", lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest())


@function("k8s.name", "string")
def k8s_name(*parts: Any) -> str:
    text = "-".join([want(part, str) for part in parts])
    if re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", text):
        return text
    cleaned = re.sub(r"[^a-z0-9-]", "-", text.lower())[:54].strip("-")
    return f"{cleaned}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@function("merge")
def merge(*maps: Any) -> Any:
    given = maps[0] if len(maps) == 1 and isinstance(maps[0], list) else maps
    result: dict[Any, Any] = {}
    for each in given:
        result = _merged(result, want(each, dict))
    return result


def _merged(left: dict[Any, Any], right: dict[Any, Any]) -> dict[Any, Any]:
    result = dict(left)
    for key, value in right.items():
        below = result.get(key)
        result[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result
