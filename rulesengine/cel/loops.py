"""What the macros over lists and maps make of their rounds.

Each takes the rounds (a frame and the values of the variables), the body, and the node.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from rulesengine.cel.frames import FAILURES, Run, enter, truth, worse
from rulesengine.cel.syntax import Fold
from rulesengine.cel.values import compare
from rulesengine.core.errors import EvaluationError


def _quantified(frames: Any, body: Run, node: Fold) -> bool:
    decides = node.kind == "exists"
    failure: Exception | None = None
    for inner, _ in frames:
        try:
            if truth(body, inner, node) is decides:
                return decides
        except FAILURES as problem:
            if isinstance(problem, EvaluationError) and problem.reason == "cost":
                raise
            failure = problem if failure is None else worse(failure, problem)
    if failure is not None:
        raise failure
    return not decides


def _exists_one(frames: Any, body: Run, node: Fold) -> bool:
    return sum(1 for inner, _ in frames if truth(body, inner, node)) == 1


def _filtered(frames: Any, body: Run, node: Fold) -> list[Any]:
    return [values[0] for inner, values in frames if truth(body, inner, node)]


def _mapped(frames: Any, body: Run, node: Fold) -> list[Any]:  # noqa: ARG001 - one signature for all
    return [body(inner) for inner, _ in frames]


def _transformed_map(frames: Any, body: Run, node: Fold) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for inner, values in frames:
        enter(found, values[0], body(inner), node)
    return found


def _transformed_entries(frames: Any, body: Run, node: Fold) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for inner, _ in frames:
        entry = body(inner)
        if not isinstance(entry, dict):
            raise EvaluationError("no such overload", reason="type", offset=node.at)
        for key, value in entry.items():
            enter(found, key, value, node)
    return found


def _by_key(a: tuple[Any, Any], b: tuple[Any, Any]) -> int:
    return compare(a[0], b[0])


def _sorted_by(frames: Any, body: Run, node: Fold) -> list[Any]:  # noqa: ARG001 - one signature for all
    keyed: list[tuple[Any, Any]] = [(body(inner), values[0]) for inner, values in frames]
    keyed.sort(key=cmp_to_key(_by_key))
    return [value for _, value in keyed]


LOOPS: dict[str, Callable[[Any, Run, Fold], Any]] = {
    "all": _quantified, "exists": _quantified, "exists_one": _exists_one, "filter": _filtered,
    "map": _mapped, "transformList": _mapped, "transformMap": _transformed_map,
    "transformMapEntry": _transformed_entries, "sortBy": _sorted_by,
}  # fmt: skip
