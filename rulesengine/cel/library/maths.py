"""cel-go's math extension."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rulesengine.cel.library.registry import bad, enter, int64, want
from rulesengine.cel.values import UINT_MAX, UInt, compare, no_overload, number_of


def _best(sign: int) -> Callable[..., Any]:
    def best(*values: Any) -> Any:
        given = values[0] if len(values) == 1 and isinstance(values[0], list) else values
        if not given:
            raise bad(
                "math.@max(list) argument must not be empty"
                if sign > 0
                else "math.@min(list) argument must not be empty"
            )
        for each in given:
            if number_of(each) is None:
                raise no_overload()
        found = given[0]
        for each in given[1:]:
            if compare(each, found) * sign > 0:
                found = each
        return found

    return best


def _of_double(run: Callable[[float], float]) -> Callable[[Any], float]:
    def apply(value: Any) -> float:
        number = want(value, float)
        return number if math.isnan(number) or math.isinf(number) else run(number)

    return apply


def _round(value: float) -> float:
    """Halves away from zero."""
    return math.copysign(math.floor(abs(value) + 0.5), value)


def _absolute(value: Any) -> Any:
    if type(value) is UInt:
        return value
    return int64(abs(value)) if type(value) is int else abs(want(value, float))


def _sign(value: Any) -> Any:
    number = want(value, int, UInt, float)
    if type(value) is UInt:
        return UInt(1 if value.value else 0)
    if type(value) is float and math.isnan(value):
        return value
    found = (number > 0) - (number < 0)
    return float(found) if type(value) is float else found


def _bits(run: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if type(a) is not type(b):
            raise no_overload()
        if type(a) is UInt:
            return UInt(run(a.value, b.value))
        return run(want(a, int), b)

    return apply


def _not(value: Any) -> Any:
    return UInt(UINT_MAX - value.value) if type(value) is UInt else ~want(value, int)


def _shift(*, left: bool) -> Callable[[Any, Any], Any]:
    def apply(value: Any, by: Any) -> Any:
        if want(by, int) < 0:
            raise bad("math.bitShift() negative offset")
        raw = value.value if type(value) is UInt else want(value, int) & UINT_MAX
        shifted = 0 if by > 63 else (raw << by) & UINT_MAX if left else raw >> by
        if type(value) is UInt:
            return UInt(shifted)
        return shifted - (1 << 64) if shifted > UINT_MAX >> 1 else shifted

    return apply


def _sqrt(value: Any) -> float:
    number = float(number_of(want(value, int, UInt, float)) or 0)
    return math.nan if number < 0 or math.isnan(number) else math.sqrt(number)


enter("math.greatest", _best(1))
enter("math.least", _best(-1))
enter("math.ceil", _of_double(lambda v: float(math.ceil(v))), "double")
enter("math.floor", _of_double(lambda v: float(math.floor(v))), "double")
enter("math.round", _of_double(_round), "double")
enter("math.trunc", _of_double(lambda v: float(math.trunc(v))), "double")
enter("math.abs", _absolute)
enter("math.sign", _sign)
enter("math.isNaN", lambda v: math.isnan(want(v, float)), "bool")
enter("math.isInf", lambda v: math.isinf(want(v, float)), "bool")
enter("math.isFinite", lambda v: math.isfinite(want(v, float)), "bool")
enter("math.bitAnd", _bits(lambda a, b: a & b))
enter("math.bitOr", _bits(lambda a, b: a | b))
enter("math.bitXor", _bits(lambda a, b: a ^ b))
enter("math.bitNot", _not)
enter("math.bitShiftLeft", _shift(left=True))
enter("math.bitShiftRight", _shift(left=False))
enter("math.sqrt", _sqrt, "double")
