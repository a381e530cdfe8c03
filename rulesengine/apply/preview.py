"""Changes to come, for people: per object what would be done, and it before and after. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rulesengine import ssa
from rulesengine.compiler.rule import FieldPath
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.core.reasons import Reason
from rulesengine.reconcile import source_status
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Done,
    Failed,
    Plan,
    Released,
    StatusWanted,
    Updated,
    Wanted,
)

SERVER_OWNED = frozenset(
    ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")
)
SECRET = GroupKind("", "Secret")


@dataclass(frozen=True, slots=True)
class Preview:
    """One change to come. `operation`: create, update, delete, release or withheld.

    `before` and `after` are whole objects without what the server keeps for itself; who shows
    them masks them where `tainted`, and the fields `hidden`. `fields` are the paths that differ.
    `local`: computed here, since the server could not be asked. `reason` and `message` say why
    something is withheld.
    """

    entry: str
    gvk: GroupVersionKind
    key: ObjectKey
    operation: str
    fields: tuple[str, ...] = ()
    before: Object | None = None
    after: Object | None = None
    tainted: bool = False
    hidden: frozenset[FieldPath] = frozenset()
    local: bool = False
    reason: Reason | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Glances:
    """What was seen while one plan was tried: answers to applies (by subresource), other answers,
    and how foreign objects are at present.
    """

    after: dict[tuple[ObjectKey, str], Object] = field(default_factory=dict)
    read: dict[ObjectKey, Object] = field(default_factory=dict)
    before: dict[ObjectKey, Object] = field(default_factory=dict)
    local: set[ObjectKey] = field(default_factory=set)


def previewed(plan: Plan, done: Done, glances: Glances) -> tuple[Done, Preview | None]:
    """The outcome of one object with the fields that would change, and the change if there is one."""
    outcome = done.outcome
    plain = Preview(done.entry, done.gvk, done.key, "", tainted=done.key.group_kind == SECRET)
    if isinstance(outcome, Failed):
        withheld = replace(plain, operation="withheld", reason=outcome.reason, message=outcome.message)
        return done, withheld
    wanted = next((w for w in plan.wanted if w.key == done.key and w.entry == done.entry), None)
    if wanted is not None:
        return _wanted(wanted, done, glances, replace(plain, tainted=wanted.tainted, hidden=wanted.hidden))
    if done.entry == source_status.ENTRY and plan.status is not None:
        changes = isinstance(outcome, Updated | Released)
        return _status(plan.status, done, glances, plain) if changes else (done, None)
    if isinstance(outcome, Deleted | Released):
        return done, _removed(plan, done, glances, plain)
    return done, None


def visible(found: Object) -> Object:
    """An object without what the server keeps for itself."""
    meta = {name: value for name, value in found.get("metadata", {}).items() if name not in SERVER_OWNED}
    return found | {"metadata": meta}


def changed(before: Object | None, after: Object | None) -> tuple[str, ...]:
    """The paths of the fields that differ, without values."""
    return tuple(change.path for change in ssa.diff.compare(before, after))


def _wanted(wanted: Wanted, done: Done, glances: Glances, plain: Preview) -> tuple[Done, Preview | None]:
    if not isinstance(done.outcome, Created | Updated):
        return done, None
    after = visible(glances.after[done.key, ""])
    if isinstance(done.outcome, Created):
        return done, replace(plain, operation="create", after=after, local=done.key in glances.local)
    live = wanted.live
    known = glances.before.get(done.key) or (live.object() if live is not None else {})
    before = visible(known)
    fields = changed(before, after) or ("metadata.managedFields",)  # only whose the fields are
    preview = replace(plain, operation="update", fields=fields, before=before, after=after)
    return replace(done, outcome=Updated(fields)), preview


def _removed(plan: Plan, done: Done, glances: Glances, plain: Preview) -> Preview:
    item = next(item for item in plan.unwanted if item.live.key == done.key)
    before = visible(item.live.object())
    plain = replace(plain, tainted=plain.tainted or item.tainted, hidden=item.hidden)
    if isinstance(done.outcome, Deleted):
        return replace(plain, operation="delete", before=before)
    found = glances.read.get(done.key)
    after = visible(found) if found is not None else before
    return replace(plain, operation="release", fields=changed(before, after), before=before, after=after)


def _status(wanted: StatusWanted, done: Done, glances: Glances, plain: Preview) -> tuple[Done, Preview]:
    """An apply and a merged list of conditions may both be in it; the later answer lacks the first."""
    before = visible(wanted.live.object())
    plain = replace(plain, tainted=plain.tainted or wanted.tainted)
    after = visible(glances.after.get((done.key, "status")) or wanted.live.object())
    merged = glances.read.get(done.key)
    if merged is not None:
        conditions = (merged.get("status") or {}).get("conditions")
        after = after | {"status": (after.get("status") or {}) | {"conditions": conditions}}
    fields = tuple(path for path in changed(before, after) if path.startswith("status"))
    operation = "update" if isinstance(done.outcome, Updated) else "release"
    preview = replace(plain, operation=operation, fields=fields, before=before, after=after)
    outcome = Updated(fields) if isinstance(done.outcome, Updated) else done.outcome
    return replace(done, outcome=outcome), preview
