"""List functions of Kubernetes and of cel-go's lists and sets extensions."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from rulesengine.cel.library.operators import add
from rulesengine.cel.library.registry import bad, enter, function, want
from rulesengine.cel.values import NONE, Optional, compare, equals, no_overload


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


enter(".min", lambda items: _best(items, -1))
enter(".max", lambda items: _best(items, 1))


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
    return sorted(want(items, list), key=cmp_to_key(compare))


@function("lists.range", "list(int)")
def lists_range(count: Any) -> list[int]:
    if want(count, int) > 100_000:
        raise bad("lists.range is limited to 100000 items", "cost")
    return list(range(count))


enter(".first", lambda items: Optional(items[0]) if want(items, list) else NONE)
enter(".last", lambda items: Optional(items[-1]) if want(items, list) else NONE)


def _index_of(items: list[Any], item: Any, *, last: bool) -> int:
    found = [index for index, each in enumerate(items) if equals(each, item)]
    return (found[-1] if last else found[0]) if found else -1


def _contains(items: Any, others: Any) -> bool:
    return all(any(equals(other, each) for each in want(items, list)) for other in want(others, list))


def reverse(value: Any) -> Any:
    """Of a list; strings have their own, entered under the same name."""
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
