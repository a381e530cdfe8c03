"""Events (events.k8s.io/v1) about what the engine did: what they say. Pure.

One for each work item and pass that changed something or failed, on its source; which of
them are sent is the recorder's business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from rulesengine.core.json import Object
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Created, Deleted, Failed, Released, Result, Updated

CONTROLLER = "rulesengine.dev/engine"
EVENTS = ResourceType(GroupVersionKind("events.k8s.io", "v1", "Event"), "events", namespaced=True)
NOTE_LIMIT = 1024  # the server's limit on a note, in bytes


@dataclass(frozen=True, slots=True)
class Note:
    """What an Event says, before it has a time."""

    regarding: tuple[str, str, str, str, str]  # apiVersion, kind, namespace, name, uid
    reason: str
    text: str
    warning: bool


def notes(result: Result) -> list[Note]:
    """The Events of one pass: what was applied, deleted, in conflict, failed. Pure."""
    source = result.plan.source
    if source is None:
        return []
    about = (source.gvk.api_version, source.gvk.kind, source.namespace, source.name, source.uid)
    counts = tally(result)
    found = []
    for reason, words in (("Applied", ("created", "updated")), ("Deleted", ("deleted", "released"))):
        said = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
        if said:
            found.append(Note(about, reason, said, warning=False))
    if counts["as is"]:
        found.append(
            Note(about, "ReleasedAsIs", f"{counts['as is']} released with its values", warning=False)
        )
    for done in result.done:
        if isinstance(done.outcome, Failed):
            conflict = done.outcome.reason in (Reason.CONFLICT, Reason.NOT_OURS)
            text = f"{done.entry}: {done.outcome.reason.word}: {done.outcome.message}"
            found.append(Note(about, "Conflict" if conflict else "Failed", text, warning=True))
    return found


def tally(result: Result) -> Counter[str]:
    """How many objects of a pass were created, updated, deleted, released, failed."""
    counts: Counter[str] = Counter()
    for done in result.done:
        match done.outcome:
            case Created():
                counts["created"] += 1
            case Updated():
                counts["updated"] += 1
            case Deleted():
                counts["deleted"] += 1
            case Released(as_is=as_is):
                counts["as is" if as_is else "released"] += 1
            case Failed():
                counts["failed"] += 1
            case _:
                pass
    return counts


def event(note: Note, name: str, now: datetime, instance: str) -> Object:
    """The Event object."""
    api_version, kind, namespace, regarding, uid = note.regarding
    about = {"apiVersion": api_version, "kind": kind, "name": regarding, "uid": uid}
    return {
        "apiVersion": EVENTS.gvk.api_version,
        "kind": EVENTS.gvk.kind,
        "metadata": {"name": name, "namespace": place_of(note)},
        "eventTime": micro_time(now),
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128],
        "action": "Reconcile",
        "reason": note.reason,
        "regarding": about | ({"namespace": namespace} if namespace else {}),
        "note": note.text.encode()[:NOTE_LIMIT].decode(errors="ignore"),
        "type": "Warning" if note.warning else "Normal",
    }


def place_of(note: Note) -> str:
    return note.regarding[2] or "default"  # where Kubernetes wants Events of cluster-scoped objects


def micro_time(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def summed(rule: RuleKey, uid: str, counts: Counter[str], sources: int) -> Note:
    """The Event on a rule for what got none on its sources."""
    about = ("rulesengine.dev/v1alpha1", rule.kind, rule.namespace, rule.name, uid)
    applied = counts["created"] + counts["updated"]
    reason = "Failed" if counts["failed"] else "Applied" if applied else "Deleted"
    text = f"{', '.join(_words(counts))} for {sources} source{'s' * (sources != 1)}"
    return Note(about, reason, text, warning=bool(counts["failed"]))


def _words(counts: Counter[str]) -> Iterable[str]:
    for word in ("created", "updated", "deleted", "released", "as is", "failed"):
        if counts[word]:
            yield f"{counts[word]} {'released with its values' if word == 'as is' else word}"
