"""Whether the engine lives, and whether it is ready: named checks, each with its reason.

Alive is who answers: the endpoint runs on the engine's own loop, so a loop that hangs does not.
Ready is an engine that knows the rules, be it at work or standing by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rulesengine.runtime.engine import Engine

Check: TypeAlias = tuple[str, Callable[[], str]]  # its name, and what is wrong: "" for nothing


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` as Kubernetes' own endpoints write it."""

    ok: bool
    text: str


def answer(checks: Sequence[Check], *, verbose: bool, what: str) -> Answer:
    """All checks hold or it is not ok; then, or when `verbose`, each is listed."""
    found = [(name, check()) for name, check in checks]
    ok = not any(wrong for _, wrong in found)
    if ok and not verbose:
        return Answer(ok, "ok\n")
    lines = [f"[-]{name} failed: {wrong}" if wrong else f"[+]{name} ok" for name, wrong in found]
    return Answer(ok, "\n".join([*lines, f"{what} check {'passed' if ok else 'failed'}"]) + "\n")


def alive() -> tuple[Check, ...]:
    return (("ping", lambda: ""),)


def ready(engine: Engine) -> tuple[Check, ...]:
    """`started` holds on a standby, too, once its caches are full."""

    def rules() -> str:
        whys = [handle.status.why for handle in engine.rules.handles if not handle.synced]
        return "; ".join(whys) or ("" if engine.rules.handles else "not read yet")

    return (
        ("rules", rules),
        ("started", lambda: "" if engine.warm else "still starting"),
        ("shutdown", lambda: "stopping" if engine.stopping else ""),
    )
