"""CEL values in Python: JSON values as they are, and the few kinds that JSON has not.

None, bool, int (64 bit), float, str, bytes, list and dict stand for themselves. `type(v) is
int` tells an int from a bool and from UInt everywhere.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from rulesengine.cel.moments import Course, Moments, joined
from rulesengine.core.errors import EvaluationError

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
SECOND = 1_000_000_000


class UInt:
    """An unsigned 64-bit integer; equal and hashed like its number, and no Python int."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        if not 0 <= value <= UINT_MAX:
            raise EvaluationError("unsigned integer overflow", reason="overflow")
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, UInt) else other) and not isinstance(
            other, bool
        )

    def __repr__(self) -> str:
        return f"UInt({self.value})"


class _Moving:
    """Compared by `ns`; where one side moves with time, the moment is noted when the answer turns."""

    __slots__ = ()
    ns: int
    course: Course | None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._less(other) == 0

    def __lt__(self, other: Any) -> bool:
        return self._less(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._less(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._less(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._less(other) >= 0

    def __hash__(self) -> int:
        return hash(self.ns)

    def _less(self, other: _Moving) -> int:
        distance = self.ns - other.ns
        if self.course is not None or other.course is not None:
            course = joined(self.course, other.course, -1)
            if course is not None:
                course.crossing(distance, course.pace)
        return distance


@dataclass(frozen=True, slots=True, eq=False)
class Timestamp(_Moving):
    """Nanoseconds since 1970 in UTC; years 1 to 9999.

    `zone`: seconds east of UTC that it was written with. Only its text shows them, as in Kubernetes.
    """

    ns: int
    zone: int = 0
    course: Course | None = None  # of one that was computed from the present

    @classmethod
    def of(cls, when: datetime) -> Timestamp:
        delta = when.astimezone(UTC) - _EPOCH
        return cls((delta.days * 86400 + delta.seconds) * SECOND + delta.microseconds * 1000)

    @property
    def when(self) -> datetime:
        """In UTC, to the microsecond."""
        return _EPOCH + timedelta(seconds=self.ns // SECOND, microseconds=self.ns % SECOND // 1000)

    def __str__(self) -> str:
        fraction = f"{self.ns % SECOND:09d}".rstrip("0")
        try:
            when = self.when + timedelta(seconds=self.zone)
        except OverflowError:  # at either end of time
            return str(Timestamp(self.ns))
        text = when.replace(microsecond=0, tzinfo=None).isoformat()
        hours, minutes = divmod(abs(self.zone) // 60, 60)
        zone = f"{'-' if self.zone < 0 else '+'}{hours:02d}:{minutes:02d}" if self.zone else "Z"
        return f"{text}.{fraction}{zone}" if fraction else f"{text}{zone}"


@dataclass(frozen=True, slots=True, eq=False)
class Duration(_Moving):
    """Nanoseconds."""

    ns: int
    course: Course | None = None

    def __str__(self) -> str:
        """Seconds as Go shows them: the shortest text that reads back as the same double."""
        whole, rest = divmod(abs(self.ns), SECOND)
        text = f"{Decimal(repr(whole + rest / SECOND)):f}".removesuffix(".0")
        return f"-{text}s" if self.ns < 0 else f"{text}s"


def present(moments: Moments) -> Timestamp:
    """The value of `now`: what is answered about it is noted in `moments`."""
    return Timestamp(moments.ns, 0, moments.course)


class Optional:
    """A value or none; `optional.of(null)` is not none."""

    __slots__ = ("has", "value")

    def __init__(self, value: Any, *, has: bool = True) -> None:
        self.has = has
        self.value = value


NONE: Final = Optional(None, has=False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    name: str


class _Omit:
    __slots__ = ()

    def __repr__(self) -> str:
        return "omit()"


OMIT: Final = _Omit()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES: dict[type, str] = {
    type(None): "null_type", bool: "bool", int: "int", UInt: "uint", float: "double", str: "string",
    bytes: "bytes", Timestamp: "google.protobuf.Timestamp", Duration: "google.protobuf.Duration",
    Optional: "optional_type", TypeValue: "type",
}  # fmt: skip


def type_of(value: Any) -> str:
    """The name of a value's type."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    opaque: str | None = getattr(value, "type_name", None)
    return opaque or ("map" if isinstance(value, dict) else "list" if isinstance(value, list) else "omit")


def number_of(value: Any) -> int | float | None:
    """The number of int, uint and double, for comparing across types; None for all else."""
    kind = type(value)
    if kind is int or kind is float:
        return value  # type: ignore[no-any-return]
    return value.value if kind is UInt else None


def equals(left: Any, right: Any) -> bool:
    """CEL's ==: numbers across types, deep, and never True for a bool and a number."""
    a, b = number_of(left), number_of(right)
    if a is not None or b is not None:
        if a is None or b is None:
            return False
        if type(a) is not type(b):
            a, b = _near(a, b)
        return bool(a == b)
    if isinstance(left, dict):
        return isinstance(right, dict) and len(left) == len(right) and _same_map(left, right)
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(equals(x, y) for x, y in zip(left, right, strict=True))
        )
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.has != right.has:
            return False
        return not left.has or equals(left.value, right.value)
    return type(left) is type(right) and bool(left == right)


def _same_map(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    for key, wanted in left.items():
        found, value = lookup(right, key)
        if not found or not equals(wanted, value):
            return False
    return True


def lookup(mapping: dict[Any, Any], key: Any) -> tuple[bool, Any]:
    """Whether a map has a key, and the value: 1, 1u and 1.0 are one key, true is another."""
    if type(key) is bool or not mapping:
        return next(((True, value) for each, value in mapping.items() if each is key), (False, None))
    if key in mapping:
        if type(key) is str:
            return True, mapping[key]
        same = ((True, value) for each, value in mapping.items() if type(each) is not bool and each == key)
        return next(same, (False, None))
    return False, None


@dataclass(frozen=True, slots=True)
class _Flag:
    value: bool


class MixedMap(dict[Any, Any]):
    """A map that has true beside 1, or false beside 0: one key to Python, two to CEL.

    Whoever goes over it meets plain keys; inside, bools are wrapped.
    """

    def __init__(self, entries: Iterable[tuple[Any, Any]]) -> None:
        super().__init__((_Flag(key) if type(key) is bool else key, value) for key, value in entries)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_Flag(key) if type(key) is bool else key)

    def __iter__(self) -> Iterator[Any]:
        return (key.value if type(key) is _Flag else key for key in super().__iter__())

    def items(self) -> Any:
        return [(key.value if type(key) is _Flag else key, value) for key, value in super().items()]

    def keys(self) -> Any:
        return list(self)


def with_entry(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """A map that is being built, and one more entry; the key must not be in it."""
    if type(mapping) is MixedMap or key in mapping:
        return MixedMap([*mapping.items(), (key, value)])
    mapping[key] = value
    return mapping


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1; raises for types that have no order."""
    a, b = number_of(left), number_of(right)
    if (a is None or b is None) and (type(left) is not type(right) or type(left) not in _ORDERED):
        raise no_overload()
    if a is not None and type(a) is not type(b):  # as cel-go compares them: through doubles where one is
        a, b = _near(a, b)
    x: Any = left if a is None else a
    y: Any = right if a is None else b
    return int(x > y) - int(x < y)


def _near(a: Any, b: Any) -> tuple[Any, Any]:
    """An int and a double beyond 2^53 compare as the doubles they are nearest to, inside int64."""
    whole, double = (a, b) if isinstance(a, int) else (b, a)
    if isinstance(double, float) and abs(double) <= 2.0**64 and abs(whole) <= 2**64:
        return float(a), float(b)
    return a, b


_ORDERED = frozenset({bool, str, bytes, Timestamp, Duration})


def is_ordered(value: Any) -> bool:
    """Whether values of its type have an order among each other."""
    return type(value) in _ORDERED or number_of(value) is not None


def no_overload() -> EvaluationError:
    return EvaluationError("no such overload", reason="type")


def to_json(value: Any) -> Any:
    """A value as it stands in a template: opaque ones as text, none and omit() as OMIT."""
    kind = type(value)
    if kind in (str, int, bool, type(None), float):
        return value
    if isinstance(value, dict):
        found = {(k if type(k) is str else to_text(k)): to_json(v) for k, v in value.items()}
        return {k: v for k, v in found.items() if v is not OMIT}
    if isinstance(value, list):
        return [each for each in map(to_json, value) if each is not OMIT]
    if kind is UInt:
        return value.value
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Optional:
        return to_json(value.value) if value.has else OMIT
    if value is OMIT:
        return OMIT
    return value.name if kind is TypeValue else str(value)


def to_text(value: Any) -> str:
    """As CEL's string() formats string, int, uint, bool and double."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is UInt:
        return str(value.value)
    if kind is float:
        return double_text(value)
    raise no_overload()


def double_text(value: float) -> str:
    """Shortest text that reads back, as Go writes it: 100000, 1e+06, 1.5e-07."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = len(whole) - 1 + int(power or 0)
    exponent -= len(whole + fraction) - len(digits) if digits else 0
    digits = digits.rstrip("0") or "0"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value and not _SMALLEST_PLAIN <= exponent < _FIRST_POWER:
        rest = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return f"{sign}{mantissa.removesuffix('.0')}"


_SMALLEST_PLAIN, _FIRST_POWER = -4, 6  # powers of ten that Go's shortest form writes out
