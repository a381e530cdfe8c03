"""What an evaluation in the exact tier carries along: names, variables of macros, a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rulesengine.cel.syntax import Node
from rulesengine.cel.values import UInt, lookup
from rulesengine.core.errors import EvaluationError, Excluded, Waiting

BUDGET = 1_000_000


class Frame:
    """Names of one evaluation: an outer mapping and the variables of macros around here."""

    __slots__ = ("left", "names", "own")

    def __init__(self, names: Mapping[str, Any], own: dict[str, Any], left: list[int]) -> None:
        self.names = names
        self.own = own
        self.left = left

    def spend(self, units: int) -> None:
        self.left[0] -= units
        if self.left[0] < 0:
            raise EvaluationError("operation cancelled: actual cost limit exceeded", reason="cost")


Run = Callable[[Frame], Any]
FAILURES = (EvaluationError, Waiting, Excluded)


def truth(run: Run, frame: Frame, node: Node) -> bool:
    value = run(frame)
    if value is True or value is False:
        return value
    raise EvaluationError("no such overload", reason="type", offset=node.at)


def worse(first: Exception, second: Exception) -> Exception:
    """Of two failures the one to report: waiting says more than an error."""
    return second if isinstance(second, Waiting) and not isinstance(first, Waiting) else first


def enter(found: dict[Any, Any], key: Any, value: Any, node: Node) -> None:
    if type(key) not in (str, int, bool, UInt):
        raise EvaluationError("unsupported key type", reason="type", offset=node.at)
    if lookup(found, key)[0]:
        raise EvaluationError("duplicate key in map", reason="argument", offset=node.at)
    found[key] = value
