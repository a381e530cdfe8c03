"""What generated functions call: checks that pass the usual and raise on everything else."""

from __future__ import annotations

from typing import Any

from rulesengine.cel.values import INT_MAX, INT_MIN, NONE, Optional, equals


class Unusual(Exception):
    """Anything that the fast tier does not do."""


def is_map(value: Any) -> None:
    if not isinstance(value, dict):
        raise Unusual


def is_number(value: Any) -> None:
    """For comparisons with a literal int, where doubles will do as well."""
    if value.__class__ is not float or value != value:  # noqa: PLR0124 - NaN has no order
        raise Unusual


def is_bool(value: Any) -> bool:
    if value is True or value is False:
        return value
    raise Unusual


def equal(a: Any, b: Any, longest: int) -> bool:
    kind = a.__class__
    if kind is b.__class__ and (kind is str or kind is int):
        if kind is str and len(a) > longest:
            raise Unusual
        return a == b  # type: ignore[no-any-return]
    if kind in _SIZED and len(a) > longest:
        raise Unusual
    return equals(a, b)


_SIZED = frozenset({str, bytes, list, dict})


def ordered(a: Any, b: Any, longest: int) -> None:
    """Whether two values can be compared as Python compares them."""
    kind = a.__class__
    if kind is not b.__class__ or kind not in _ORDERED or (kind is str and len(a) > longest):
        raise Unusual
    if kind is float and (a != a or b != b):  # noqa: PLR0124 - NaN has no order
        raise Unusual


_ORDERED = frozenset({int, str, float})


def add(a: Any, b: Any, longest: int) -> Any:
    kind = a.__class__
    if kind is not b.__class__:
        raise Unusual
    if kind is int:
        total = a + b
        if INT_MIN <= total <= INT_MAX:
            return total
    elif kind is str or kind is list:
        if len(a) + len(b) <= longest:
            return a + b
    elif kind is float:
        return a + b
    raise Unusual


def subtract(a: Any, b: Any) -> Any:
    if a.__class__ is int and b.__class__ is int and INT_MIN <= a - b <= INT_MAX:
        return a - b
    if a.__class__ is float and b.__class__ is float:
        return a - b
    raise Unusual


def multiply(a: Any, b: Any) -> Any:
    if a.__class__ is int and b.__class__ is int and INT_MIN <= a * b <= INT_MAX:
        return a * b
    if a.__class__ is float and b.__class__ is float:
        return a * b
    raise Unusual


def divide(a: Any, b: Any) -> int:
    if a.__class__ is int and b.__class__ is int and b > 0:
        return a // b if a >= 0 else -(-a // b)
    raise Unusual


def modulo(a: Any, b: Any) -> int:
    if a.__class__ is int and b.__class__ is int and b > 0:
        return a % b if a >= 0 else -(-a % b)
    raise Unusual


def negate(a: Any) -> Any:
    if a.__class__ is int and a != INT_MIN:
        return -a
    raise Unusual


def contains(item: Any, within: Any, longest: int) -> bool:
    """`in` of a text; a list's length is bounded, a map's does not matter."""
    if item.__class__ is not str:
        raise Unusual
    if within.__class__ is list:
        if len(within) > longest:
            raise Unusual
    elif not isinstance(within, dict):
        raise Unusual
    return item in within


def size(value: Any) -> int:
    if value.__class__ in (str, list, bytes) or isinstance(value, dict):
        return len(value)
    raise Unusual


def at(value: Any, key: Any) -> Any:
    if key.__class__ is str:
        is_map(value)
    elif key.__class__ is not int or key < 0 or value.__class__ is not list:
        raise Unusual
    return value[key]


def seek(value: Any, key: Any) -> Any:
    """As `at`, ABSENT for what is not there."""
    if key.__class__ is str:
        is_map(value)
        return value[key] if key in value else ABSENT  # noqa: SIM401 - get() asks no lazy map
    if key.__class__ is not int or value.__class__ is not list:
        raise Unusual
    return value[key] if 0 <= key < len(value) else ABSENT


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """What macros with two variables go over."""
    if value.__class__ is list:
        return list(enumerate(value))
    is_map(value)
    return [(key, value[key]) for key in value]


def opened(value: Any) -> Any:
    """An optional as the fast tier has them: its value, or ABSENT."""
    if value.__class__ is not Optional:
        raise Unusual
    return value.value if value.has else ABSENT


def closed(value: Any) -> Optional:
    return NONE if value is ABSENT else Optional(value)


def text(value: Any) -> str:
    if value.__class__ is str:
        return value
    if value.__class__ is int:
        return str(value)
    raise Unusual


ABSENT: Any = object()
GLOBALS: dict[str, Any] = {
    "__builtins__": {},
    "U": Unusual,
    "A": ABSENT,
    **{each.__name__: each for each in (int, float, str, list, dict, len)},
    **{each.__name__: each for each in (is_map, is_number, is_bool, equal, ordered, add, subtract, multiply)},
    **{each.__name__: each for each in (divide, modulo, negate, contains, size, at, seek, pairs)},
    **{each.__name__: each for each in (opened, closed, text)},
}
