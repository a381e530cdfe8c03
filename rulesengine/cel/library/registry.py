"""Where functions are entered, and what they check their values with.

Member calls have a "." before the name; the target is the first argument. `RESULTS` are the
types that the checker deduces from a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rulesengine.cel.values import INT_MAX, INT_MIN, no_overload
from rulesengine.core.errors import EvaluationError

Function = Callable[..., Any]
FUNCTIONS: dict[str, Function] = {}
RESULTS: dict[str, str] = {}


def function(name: str, result: str = "dyn") -> Callable[[Function], Function]:
    """Enters a function; it checks the types it is given and raises EvaluationError."""

    def register(run: Function) -> Function:
        enter(name, run, result)
        return run

    return register


def enter(name: str, run: Function, result: str = "dyn") -> None:
    FUNCTIONS[name] = run
    RESULTS[name] = result


def want(value: Any, *kinds: type) -> Any:
    """`value`, if it is of one of these kinds (a lazy map counts as dict)."""
    if type(value) not in kinds and not (dict in kinds and isinstance(value, dict)):
        raise no_overload()
    return value


def bad(message: str, reason: str = "argument") -> EvaluationError:
    return EvaluationError(message, reason=reason)


def int64(value: int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise bad("integer overflow", "overflow")
    return value
