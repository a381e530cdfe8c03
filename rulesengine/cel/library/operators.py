"""Arithmetic and comparison with the exact errors of 64-bit numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rulesengine.cel.library.registry import Function, bad, int64, want
from rulesengine.cel.library.times import duration_of, timestamp_of
from rulesengine.cel.moments import joined
from rulesengine.cel.values import (
    INT_MIN,
    Duration,
    Timestamp,
    UInt,
    compare,
    equals,
    is_ordered,
    lookup,
    no_overload,
    number_of,
)


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
            return duration_of(a.ns + b.ns, joined(a.course, b.course, 1))
    if ta is Timestamp and tb is Duration:
        return timestamp_of(a.ns + b.ns, a.zone, joined(a.course, b.course, 1))
    if ta is Duration and tb is Timestamp:
        return timestamp_of(a.ns + b.ns, b.zone, joined(a.course, b.course, 1))
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
            return duration_of(a.ns - b.ns, joined(a.course, b.course, -1))
    if ta is Timestamp and tb is Duration:
        return timestamp_of(a.ns - b.ns, a.zone, joined(a.course, b.course, -1))
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
        return duration_of(-a.ns, joined(None, a.course, -1))
    raise no_overload()


def contains(item: Any, within: Any) -> bool:
    if isinstance(within, list):
        return any(equals(item, each) for each in within)
    if isinstance(within, dict):
        if type(item) is str:
            return item in within
        if type(item) in (int, bool, UInt, float):
            return lookup(within, item)[0]
    raise no_overload()


def _compared(holds: Callable[[int], bool]) -> Function:
    def compared(a: Any, b: Any) -> bool:
        if (a != a or b != b) and is_ordered(a) and is_ordered(b):  # noqa: PLR0124 - NaN
            raise bad("NaN values cannot be ordered")
        return holds(compare(a, b))

    return compared


OPERATORS: dict[str, Function] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "-_": negate,
    "@in": contains,
    "_==_": equals,
    "_!=_": lambda a, b: not equals(a, b),
    "_<_": _compared(lambda order: order < 0),
    "_<=_": _compared(lambda order: order <= 0),
    "_>_": _compared(lambda order: order > 0),
    "_>=_": _compared(lambda order: order >= 0),
}
