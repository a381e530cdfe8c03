"""What evaluation costs, unit for unit as Kubernetes counts it.

Reading a name, a field or an index costs 1, a call 1 or what is below, building a list 10, a
map 30. A call whose overload is not known from its types costs 1, whatever it then does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from rulesengine.cel.signatures import Overload
from rulesengine.cel.values import Optional
from rulesengine.core.errors import EvaluationError

LIMIT = 1_000_000  # of one evaluation, as Kubernetes' per-call limit
LIST, MAP = 10, 30
CallCost: TypeAlias = Callable[[Sequence[Any], Any], int]
"""From the values of a call, receiver first, and its result."""


class OverBudget(EvaluationError):
    """Too much work; nothing absorbs it."""

    def __init__(self, offset: int = 0) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded", reason="cost", offset=offset)


def size(value: Any) -> int:
    kind = type(value)
    if kind is str or kind is bytes or isinstance(value, list | dict):
        return len(value)
    if kind is Optional and value.has:
        return size(value.value)
    return 1


def traversal(value: Any) -> int:
    """Of everything inside, a tenth of a unit for a byte of text."""
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "surrogatepass")) * 0.1)
    if isinstance(value, bytes):
        return int(len(value) * 0.1)
    if isinstance(value, list):
        return sum(map(traversal, value))
    if isinstance(value, dict):
        return sum(traversal(key) + traversal(each) for key, each in value.items())
    return 1


def tenth(count: float) -> int:
    return math.ceil(count * 0.1)


def _quarter(count: float) -> int:
    return math.ceil(count * 0.25)


def _allocating(factor: float, count: int) -> int:
    return int(count * factor) + 1 + LIST


def self_compared(items: Any) -> int:
    factor = 2.1 if isinstance(items, list) and items and type(items[0]) in (str, bytes) else 2.0
    return _allocating(factor, size(items) ** 2)


def smaller(values: Sequence[Any], _: Any) -> int:
    return tenth(min(size(values[0]), size(values[1])))


def matching(values: Sequence[Any], _: Any) -> int:
    return tenth(1.0 + size(values[0])) * _quarter(size(values[1]))


_BY_FUNCTION: dict[str, CallCost] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"),
        lambda values, _: traversal(values[0]),
    ),
    **dict.fromkeys(
        (
            *("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR"),
            *("quantity", "isQuantity", "semver", "isSemver", "jsonpatch.escapeKey"),
        ),
        lambda values, _: tenth(size(values[0])),
    ),
    "ip": lambda values, _: tenth(size(values[0])) if isinstance(values[0], str) else 1,
    "ip.isCanonical": lambda values, _: tenth(size(values[0]) * 2),
    "containsIP": lambda values, _: tenth(len(values[0]) * 2),
    "containsCIDR": lambda values, _: tenth(len(values[0]) * 2) + tenth(len(values[0])) + 1,
    **dict.fromkeys(("replace", "split"), lambda values, _: tenth(size(values[0]) * 2)),
    "join": lambda _, result: tenth(size(result) * 2),
    **dict.fromkeys(("find", "findAll"), matching),
    "_==_": smaller,
    "_!=_": smaller,
}
_BY_OVERLOAD: dict[str, CallCost] = {
    "containsIP(opaque,string)": lambda values, _: tenth(len(values[0]) * 2) + tenth(len(values[1])),
    "containsCIDR(opaque,string)": lambda values, _: (
        tenth(len(values[0]) * 2) + tenth(len(values[0])) + 1 + tenth(len(values[1]))
    ),
    **dict.fromkeys(
        ("startsWith(string,string)", "endsWith(string,string)"), lambda values, _: tenth(size(values[1]))
    ),
    **dict.fromkeys(
        ("bytes(string)", "string(bytes)", "strings.quote(string)", "format(string,list)"),
        lambda values, _: tenth(size(values[0])),
    ),
    "@in(param,list)": lambda values, _: size(values[1]),
    **{f"_{op}_({kind},{kind})": smaller for op in ("<", "<=", ">", ">=") for kind in ("string", "bytes")},
    **dict.fromkeys(
        ("_+_(string,string)", "_+_(bytes,bytes)"),
        lambda values, _: tenth(size(values[0]) + size(values[1])),
    ),
    "matches(string,string)": matching,
    "contains(string,string)": lambda values, _: tenth(size(values[0])) * tenth(size(values[1])),
    **dict.fromkeys(
        ("slice(list,int,int)", "lists.range(int)", "reverse(list)"),
        lambda _, result: _allocating(1, size(result)),
    ),
    "flatten(list)": lambda values, _: _allocating(1, size(values[0])),
    "flatten(list,int)": lambda values, _: _allocating(max(values[1] or 1, 1), size(values[0])),
    **dict.fromkeys(("distinct(list)", "sort(list)"), lambda values, _: self_compared(values[0])),
    **dict.fromkeys(
        ("sets.contains(list,list)", "sets.intersects(list,list)"),
        lambda values, _: 1 + size(values[0]) * size(values[1]),
    ),
    "sets.equivalent(list,list)": lambda values, _: 1 + 2 * size(values[0]) * size(values[1]),
}


def of_call(function: str, overload: Overload | None) -> CallCost | None:
    """What a call costs; None for 1."""
    found = _BY_OVERLOAD.get(overload.id) if overload is not None else None
    return found or _BY_FUNCTION.get(function)
