"""List functions of Kubernetes and of cel-go's lists and sets extensions."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from rulesengine.cel.library.operators import add
from rulesengine.cel.library.registry import bad, enter, function, want
from rulesengine.cel.values import (
    NONE,
    Duration,
    Optional,
    compare,
    equals,
    is_ordered,
    no_overload,
    number_of,
)


@function(".sum")
def total(items: Any) -> Any:
    """Of numbers or durations; 0 of nothing."""
    result: Any = 0
    for index, each in enumerate(want(items, list)):
        if number_of(each) is None and type(each) is not Duration:
            raise no_overload()
        result = each if index == 0 else add(result, each)
    return result


def _ordered(items: Any) -> list[Any]:
    if not all(map(is_ordered, want(items, list))):
        raise no_overload()
    return items  # type: ignore[no-any-return]


def _best(items: Any, sign: int) -> Any:
    if not _ordered(items):
        raise bad("min/max called on empty list")
    best = items[0]
    for each in items[1:]:
        if compare(each, best) * sign > 0:
            best = each
    return best


enter(".min", lambda items: _best(items, -1))
enter(".max", lambda items: _best(items, 1))


@function(".isSorted", "bool")
def is_sorted(items: Any) -> bool:
    return all(compare(a, b) <= 0 for a, b in zip(_ordered(items), items[1:], strict=False))


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
    return sorted(sortable(want(items, list)), key=cmp_to_key(compare))


def sortable(items: list[Any]) -> list[Any]:
    """The items, if they are of one type that has an order."""
    if items and not is_ordered(items[0]):
        raise bad("list elements must be comparable", "type")
    if any(type(each) is not type(items[0]) for each in items):
        raise bad("list elements must have the same type", "type")
    return items


@function("lists.range", "list(int)")
def lists_range(count: Any) -> list[int]:
    if want(count, int) > 100_000:
        raise bad("lists.range is limited to 100000 items", "cost")
    return list(range(count))


enter(".first", lambda items: Optional(items[0]) if want(items, list) else NONE)
enter(".last", lambda items: Optional(items[-1]) if want(items, list) else NONE)


def _contains(items: Any, others: Any) -> bool:
    want(items, list)
    return all(any(equals(other, each) for each in items) for other in want(others, list))


enter(".includes", lambda items, item: any(equals(item, each) for each in want(items, list)), "bool")


def reverse(value: Any) -> Any:
    """Of a list, or of a text's characters."""
    if type(value) not in (str, list):
        raise no_overload()
    return value[::-1]


enter(".reverse", reverse)
enter("sets.contains", _contains, "bool")
enter("sets.equivalent", lambda a, b: _contains(a, b) and _contains(b, a), "bool")
enter(
    "sets.intersects",
    lambda a, b: any(equals(x, y) for x in want(a, list) for y in want(b, list)),
    "bool",
)
