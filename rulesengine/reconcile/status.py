"""The status of a rule, as an object: conditions, counts, samples. Pure.

Conditions keep their lastTransitionTime while their status stays, so that an unchanged rule
gives an unchanged status and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rulesengine.compiler.rule import Mode
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupKind
from rulesengine.reconcile.ownership import timestamp
from rulesengine.reconcile.tally import Tally


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition before it has a time: `status` True, False or None for Unknown."""

    type: str
    status: bool | None
    reason: str
    message: str = ""


def accepted() -> Verdict:
    return Verdict("Accepted", status=True, reason="Compiled")


def rejected(message: str) -> Verdict:
    """`message`: the first finding, rendered without object values."""
    return Verdict("Accepted", status=False, reason="Invalid", message=message)


def progress(
    tally: Tally, mode: Mode, blocked: Verdict | None, deletes: Verdict, *, planned: bool
) -> tuple[Verdict, ...]:
    """Ready, Conflicted, Looping and, as given, DeletesHeld. `blocked` speaks of what keeps the
    whole rule from working (an unserved kind, a forbidden watch); `planned` is whether every work
    item was looked at.
    """
    return (
        _ready(tally, mode, blocked, planned=planned),
        _named("Conflicted", "Conflict", tally.conflicted(), "in conflict with"),
        _named("Looping", "Looping", tally.looping(), "changed again and again together with"),
        deletes,
    )


def _named(kind: str, reason: str, who: str, words: str) -> Verdict:
    if not who:
        return Verdict(kind, status=False, reason=f"No{reason}")
    return Verdict(kind, status=True, reason=reason, message=f"{words} {who}")


def _ready(tally: Tally, mode: Mode, blocked: Verdict | None, *, planned: bool) -> Verdict:
    counts = tally.counts
    if mode is Mode.SUSPENDED:
        return Verdict("Ready", status=False, reason="Suspended", message="spec.mode is Suspended")
    if blocked is not None:
        return Verdict("Ready", status=False, reason=blocked.reason, message=blocked.message)
    if counts["failed"]:
        message = f"{counts['failed']} of {counts['matched']} failed"
        return Verdict("Ready", status=False, reason="Failed", message=message)
    if counts["waiting"]:
        message = f"{counts['waiting']} of {counts['matched']} waiting"
        return Verdict("Ready", status=False, reason="Waiting", message=message)
    if not planned:
        return Verdict(
            "Ready", status=None, reason="Progressing", message="not every source was looked at yet"
        )
    if mode is Mode.DRY_RUN and any(counts[f"pending{what}"] for what in ("Creates", "Updates", "Deletes")):
        return Verdict(
            "Ready", status=False, reason="Pending", message="spec.mode is DryRun; see status.pending"
        )
    return Verdict("Ready", status=True, reason="Converged")


def rule_status(
    *,
    generation: int,
    verdicts: Iterable[Verdict],
    tally: Tally | None,
    written_kinds: Iterable[GroupKind],
    before: Object,
    now: datetime,
) -> Object:
    """The status of a rule. `before` is its present status: times of conditions come from it,
    and without a tally (a generation that does not compile) so do counts and samples.
    """
    old = {c.get("type"): c for c in before.get("conditions") or ()}
    status: Object = {
        "observedGeneration": generation,
        "conditions": [_condition(v, old.get(v.type), generation, now) for v in verdicts],
        "writtenKinds": [{"group": k.group, "kind": k.kind} for k in sorted(written_kinds)],
    }
    if tally is None:
        kept = (
            *("matched", "converged", "waiting", "failed", "resources", "orphans", "protected"),
            *("pendingCreates", "pendingUpdates", "pendingDeletes", "failures", "pending"),
        )
        return status | {name: before[name] for name in kept if name in before}
    status |= tally.counts
    if failures := tally.failures():
        status["failures"] = failures
    if pending := tally.pending():
        status["pending"] = pending
    return status


def _condition(verdict: Verdict, old: Object | None, generation: int, now: datetime) -> Object:
    text = {True: "True", False: "False", None: "Unknown"}[verdict.status]
    same = old is not None and old.get("status") == text and old.get("lastTransitionTime")
    return {
        "type": verdict.type,
        "status": text,
        "reason": verdict.reason,
        "message": verdict.message,
        "observedGeneration": generation,
        "lastTransitionTime": old["lastTransitionTime"] if same and old else timestamp(now),
    }
