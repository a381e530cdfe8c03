"""Macros in the exact tier. What a round costs follows from how Kubernetes expands the macro."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cmp_to_key
from typing import Any

from rulesengine.cel import costs
from rulesengine.cel.costs import LIMIT, OverBudget
from rulesengine.cel.exact import FAILURES, Closures, Frame, Late, Run, entered, mismatch, truth, worse
from rulesengine.cel.library.lists import sortable
from rulesengine.cel.syntax import Fold, Node
from rulesengine.cel.values import NONE, Optional, compare
from rulesengine.core.errors import EvaluationError


def fold(closures: Closures, node: Fold) -> Run:
    """The closure of one macro."""
    match node.kind:
        case "bind":
            return _bind(closures, node)
        case "optMap" | "optFlatMap":
            return _of_optional(closures, node)
        case "all" | "exists":
            return _quantified(closures, node)
        case "exists_one":
            return _exists_one(closures, node)
        case "filter" | "map" | "transformList":
            return _listed(closures, node)
        case "sortBy":
            return _sorted_by(closures, node)
        case _:
            return _mapped(closures, node)


def _bind(closures: Closures, node: Fold) -> Run:
    slot = node.slots[0]
    closures.late.add(slot)
    over, body = closures.run(node.range), closures.run(node.body)

    def bind(frame: Frame) -> Any:
        frame.locals[slot] = Late(over)
        return body(frame)

    return bind


def _of_optional(closures: Closures, node: Fold) -> Run:
    slot = node.slots[0]
    closures.late.add(slot)
    over, body = closures.run(node.range), closures.run(node.body)
    wraps = node.kind == "optMap"

    def apply(frame: Frame) -> Any:
        before = frame.cost
        found = over(frame)
        if type(found) is not Optional:
            raise mismatch(node)
        frame.cost += 1
        if not found.has:
            frame.cost += 1
            return NONE
        again = frame.cost - before  # Kubernetes evaluates the optional once more when it is used

        def used(frame: Frame) -> Any:
            frame.cost += again
            return found.value

        frame.locals[slot] = Late(used)
        value = body(frame)
        if wraps:
            frame.cost += 1
            return Optional(value)
        return value

    return apply


def _rounds(node: Fold) -> Callable[[Frame, Any], Iterator[None]]:
    """Sets the variables, once per element, and looks at the budget."""
    two, first, last = len(node.names) == 2, node.slots[0], node.slots[-1]

    def rounds(frame: Frame, value: Any) -> Iterator[None]:
        here = frame.locals
        if isinstance(value, list):
            for index, each in enumerate(value):
                if frame.cost > LIMIT:
                    raise OverBudget(node.at)
                here[first] = index if two else each
                here[last] = each
                yield
        elif isinstance(value, dict):
            for key in value:
                if frame.cost > LIMIT:
                    raise OverBudget(node.at)
                here[first] = key
                if two:
                    here[last] = value[key]
                yield
        else:
            raise mismatch(node)

    return rounds


def _quantified(closures: Closures, node: Fold) -> Run:
    over, body, rounds = closures.run(node.range), closures.run(node.body), _rounds(node)
    decides = node.kind == "exists"
    condition = 3 if decides else 2  # looked at before each round, and before the one that is not run

    def quantify(frame: Frame) -> bool:
        value = over(frame)
        failure: Exception | None = None
        left = len(value) if isinstance(value, list | dict) else 0
        for _ in rounds(frame, value):
            left -= 1
            frame.cost += condition + 1
            try:
                if truth(body, frame, node.body) is decides:
                    frame.cost += (condition if left else 0) + 1
                    return decides
            except OverBudget:
                raise
            except FAILURES as problem:
                failure = problem if failure is None else worse(failure, problem)
        frame.cost += 1
        if failure is not None:
            raise failure
        return not decides

    return quantify


def _exists_one(closures: Closures, node: Fold) -> Run:
    over, body, rounds = closures.run(node.range), closures.run(node.body), _rounds(node)

    def exists_one(frame: Frame) -> bool:
        count = 0
        for _ in rounds(frame, over(frame)):
            if truth(body, frame, node.body):
                frame.cost += 2
                count += 1
        frame.cost += 2
        return count == 1

    return exists_one


def _condition(closures: Closures, node: Node | None) -> Callable[[Frame], bool]:
    if node is None:
        return lambda _: True
    run, condition = closures.run(node), node
    return lambda frame: truth(run, frame, condition)


def _listed(closures: Closures, node: Fold) -> Run:
    """filter, map and transformList: a list to which each round adds a list of one."""
    over, rounds = closures.run(node.range), _rounds(node)
    if node.kind == "filter":
        wanted, slot = _condition(closures, node.body), node.slots[0]
        body: Run = lambda frame: frame.locals[slot]  # noqa: E731 - one of two ways to the same name
        cost = costs.LIST + 3
    else:
        wanted, body = _condition(closures, node.condition), closures.run(node.body)
        cost = (0 if closures.constant(node.body) else costs.LIST) + 2

    def build(frame: Frame) -> Any:
        found = []
        for _ in rounds(frame, over(frame)):
            if wanted(frame):
                found.append(body(frame))
                frame.cost += cost
        frame.cost += 1
        return found

    return build


def _mapped(closures: Closures, node: Fold) -> Run:
    over, rounds, body = closures.run(node.range), _rounds(node), closures.run(node.body)
    wanted, slot, entries = _condition(closures, node.condition), node.slots[0], node.kind != "transformMap"

    def build(frame: Frame) -> Any:
        found: dict[Any, Any] = {}
        for _ in rounds(frame, over(frame)):
            if not wanted(frame):
                continue
            value = body(frame)
            frame.cost += 2 if entries else 3
            if not entries:
                found = entered(found, frame.locals[slot], value, node)
            elif isinstance(value, dict):
                for key, each in value.items():
                    found = entered(found, key, each, node)
            else:
                raise mismatch(node.body)
        frame.cost += 1
        return found

    return build


def _by_key(a: tuple[Any, Any], b: tuple[Any, Any]) -> int:
    return compare(a[0], b[0])


def _sorted_by(closures: Closures, node: Fold) -> Run:
    over, rounds, body, slot = closures.run(node.range), _rounds(node), closures.run(node.body), node.slots[0]
    compared = closures.checked.overloads.get(id(node)) is not None
    cost = (0 if closures.constant(node.body) else costs.LIST) + 2

    def sort(frame: Frame) -> Any:
        keyed: list[tuple[Any, Any]] = []
        for _ in rounds(frame, over(frame)):
            keyed.append((body(frame), frame.locals[slot]))
            frame.cost += cost
        frame.cost += 3
        frame.cost += costs.self_compared([key for key, _ in keyed]) if compared else 1
        if frame.cost > LIMIT:
            raise OverBudget(node.at)
        try:
            sortable([key for key, _ in keyed])
            keyed.sort(key=cmp_to_key(_by_key))
        except EvaluationError as error:
            error.offset = node.at
            raise
        return [value for _, value in keyed]

    return sort
