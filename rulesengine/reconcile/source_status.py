"""`sourceStatus`: what shall stand in the source's /status, as an apply configuration.

Each value and condition stands for itself: one that waits is left out (a condition becomes
Unknown), one that fails keeps what is there, and the rest is written all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rulesengine.compiler.rule import SourceStatus, StatusCondition, Template
from rulesengine.core.errors import EvaluationError, Excluded, Waiting
from rulesengine.core.json import Object
from rulesengine.core.ports import Live
from rulesengine.reconcile.matching import unanswered
from rulesengine.reconcile.names import Names
from rulesengine.reconcile.ownership import timestamp
from rulesengine.reconcile.plan import SourceRef, StatusWanted, Unknown, Wait

ENTRY = "sourceStatus"  # what outcomes of it go under; no resource can have that name
_STATUSES: dict[Any, str] = {True: "True", False: "False", "True": "True", "False": "False"}


@dataclass(frozen=True, slots=True)
class Status:
    wanted: StatusWanted
    unknowns: tuple[Unknown, ...]


def source_status(
    spec: SourceStatus, names: Names, source: SourceRef, live: Live, manager: str, now: Any
) -> Status:
    """The configuration for /status of `source`, with what could not be decided."""
    current = live.object()
    before: Object = current.get("status") or {}
    unknowns: list[Unknown] = []
    value: Object = {}
    for field, template in spec.value.items():
        match _value(template, names, f"value.{field}"):
            case Unknown() as unknown:
                unknowns.append(unknown)
                if field in before:
                    value[field] = before[field]
            case Wait():
                pass
            case rendered:
                value[field] = rendered
    conditions = [_condition(c, names, current, before, now, unknowns) for c in spec.conditions]
    if conditions:
        value["conditions"] = conditions
    desired: Object = {
        "apiVersion": source.gvk.api_version,
        "kind": source.gvk.kind,
        "metadata": _identity(source),
        "status": value,
    }
    return Status(StatusWanted(source, desired, live, manager, spec.hidden), tuple(unknowns))


def released(source: SourceRef, live: Live, manager: str) -> StatusWanted | None:
    """Gives up what we own in /status, where we own something."""
    entries = live.object().get("metadata", {}).get("managedFields") or ()
    ours = any(e.get("manager") == manager and e.get("subresource") == "status" for e in entries)
    return StatusWanted(source, None, live, manager) if ours else None


def _identity(source: SourceRef) -> Object:
    meta: Object = {"name": source.name, "uid": source.uid}
    return meta | {"namespace": source.namespace} if source.namespace else meta


def _value(template: Template, names: Names, where: str) -> Any:
    try:
        return template.render(names)
    except Waiting as waiting:
        return Wait(ENTRY, waiting.on)
    except Excluded as excluded:
        return Wait(ENTRY, str(excluded))
    except EvaluationError as error:
        return unanswered(error, ENTRY, f"{ENTRY}.{where}")


def _condition(
    spec: StatusCondition,
    names: Names,
    current: Object,
    before: Object,
    now: Any,
    unknowns: list[Unknown],
) -> Object:
    earlier = next((c for c in before.get("conditions") or () if c.get("type") == spec.type), None)
    parts: dict[str, Any] = {}
    for part, template in (("status", spec.status), ("reason", spec.reason), ("message", spec.message)):
        value = _value(template, names, f"conditions {spec.type}.{part}")
        if isinstance(value, Unknown):
            unknowns.append(value)
            if earlier is not None:
                return dict(earlier)
        parts[part] = value
    status = parts["status"]
    known = isinstance(status, str | bool)
    text = _STATUSES.get(status, "Unknown") if known else "Unknown"
    waits = isinstance(status, Wait)
    condition: Object = {
        "type": spec.type,
        "status": text,
        "reason": parts["reason"] if isinstance(parts["reason"], str) else "Waiting" if waits else "Unknown",
        "message": parts["message"] if isinstance(parts["message"], str) else "",
        "observedGeneration": current.get("metadata", {}).get("generation", 0),
        "lastTransitionTime": timestamp(now),
    }
    if earlier is not None and earlier.get("status") == text and earlier.get("lastTransitionTime"):
        condition["lastTransitionTime"] = earlier["lastTransitionTime"]
    return condition
