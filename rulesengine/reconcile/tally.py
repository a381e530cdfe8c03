"""From what became of work items to the status of their rule. Pure bookkeeping, O(1) a pass.

A work item is one of: unmatched, converged, waiting, failed. `matched` is the sum of the
last three. Samples of failures and pending changes are kept for the ten first items by name,
so that a status does not flicker.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from rulesengine.core.json import Object
from rulesengine.core.keys import Request
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Done,
    Failed,
    Held,
    Released,
    Result,
    Unchanged,
    Updated,
)
from rulesengine.reconcile.source_status import ENTRY

SAMPLES = 10


class ItemState(Enum):
    UNMATCHED = "unmatched"
    CONVERGED = "converged"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Failure:
    """One sample for status.failures; `source` is "namespace/name"."""

    source: str
    resource: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Pending:
    """One change a dry run would make; `operation` create, update, delete, release or withheld."""

    resource: str
    object: str
    operation: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """What one work item adds to its rule's status."""

    state: ItemState
    resources: int = 0
    failures: tuple[Failure, ...] = ()
    pending: tuple[Pending, ...] = ()
    orphans: int = 0
    protected: int = 0
    conflicted: str = ""  # the manager or rule in the way
    looping: str = ""


UNMATCHED = Item(ItemState.UNMATCHED)
Counts: TypeAlias = dict[str, int]


def item_of(result: Result, *, dry_run: bool = False) -> Item:
    """The contribution of one pass. In a dry run writes are pending, not done."""
    plan = result.plan
    source = _name(plan.request)
    failures = [Failure(source, u.entry, u.reason.word, u.message) for u in plan.unknowns]
    waits = len(plan.waits)
    conflicted = looping = ""
    pending: list[Pending] = []
    resources = 0
    for done in result.done:
        match done.outcome:
            case Failed(reason=reason, message=message, manager=manager):
                failures.append(Failure(source, done.entry, reason.word, message))
                if reason in (Reason.CONFLICT, Reason.STATUS_CONTESTED):
                    conflicted = conflicted or manager or str(done.key)
                if reason is Reason.LOOPING:
                    looping = looping or manager or str(done.key)
                pending += [Pending(done.entry, str(done.key), "withheld")] if dry_run else []
            case Held():
                waits += 1
            case Unchanged():
                resources += done.entry != ENTRY  # the source's status is none of the resources
            case Created() | Updated():
                resources += done.entry != ENTRY
                pending += _pending(done) if dry_run else []
            case Deleted() | Released():
                pending += _pending(done) if dry_run else []
    if plan.held:
        waits += 1
        pending += [
            Pending(u.entry, str(u.live.key), "release" if u.release else "delete") for u in plan.unwanted
        ]
    if plan.matched is False and not failures and not waits and not pending:
        if not plan.orphans and not plan.protected:
            return UNMATCHED
        return Item(ItemState.UNMATCHED, orphans=plan.orphans, protected=plan.protected)
    state = ItemState.FAILED if failures else ItemState.WAITING if waits else ItemState.CONVERGED
    if state is ItemState.CONVERGED and plan.matched is False:
        state = ItemState.UNMATCHED
    return Item(
        state,
        resources=resources,
        failures=tuple(failures[:SAMPLES]),
        pending=tuple(pending),
        orphans=plan.orphans,
        protected=plan.protected,
        conflicted=conflicted,
        looping=looping,
    )


def _pending(done: Done) -> list[Pending]:
    operation = {Created: "create", Updated: "update", Deleted: "delete", Released: "release"}
    fields = done.outcome.fields if isinstance(done.outcome, Updated) else ()
    return [Pending(done.entry, str(done.key), operation[type(done.outcome)], fields)]


def _name(request: Request) -> str:
    return f"{request.namespace}/{request.name}" if request.namespace else request.name


_PENDING_FIELD = {
    "create": "pendingCreates",
    "update": "pendingUpdates",
    "withheld": "pendingUpdates",
    "delete": "pendingDeletes",
    "release": "pendingDeletes",
}


@dataclass(slots=True)
class Tally:
    """The items of one rule generation. `changed` is set by what moves the status."""

    items: dict[Request, Item] = field(default_factory=dict)
    counts: Counts = field(
        default_factory=lambda: dict.fromkeys(
            (
                *("matched", "converged", "waiting", "failed", "resources"),
                *("pendingCreates", "pendingUpdates", "pendingDeletes", "orphans", "protected"),
            ),
            0,
        )
    )
    changed: bool = True
    _noted: set[Request] = field(default_factory=set)

    def record(self, request: Request, item: Item) -> None:
        """Takes the newest state of one work item; unmatched ones without a trace are forgotten."""
        before = self.items.get(request, UNMATCHED)
        if before == item:
            return
        self._add(before, -1)
        self._add(item, 1)
        if item == UNMATCHED:
            self.items.pop(request, None)
        else:
            self.items[request] = item
        noted = bool(item.failures or item.pending or item.conflicted or item.looping)
        (self._noted.add if noted else self._noted.discard)(request)
        self.changed = True

    def _add(self, item: Item, sign: int) -> None:
        counts = self.counts
        if item.state is not ItemState.UNMATCHED:
            counts["matched"] += sign
            counts[item.state.value] += sign
        counts["resources"] += sign * item.resources
        counts["orphans"] += sign * item.orphans
        counts["protected"] += sign * item.protected
        for pending in item.pending:
            counts[_PENDING_FIELD[pending.operation]] += sign

    def failures(self) -> list[Object]:
        """At most ten samples, by name of their source."""
        found = (f for item in self._first_noted() for f in item.failures)
        return [
            {"source": f.source, "resource": f.resource, "reason": f.reason, "message": f.message}
            for f, _ in zip(found, range(SAMPLES), strict=False)
        ]

    def pending(self) -> list[Object]:
        """At most ten changes that a dry run would make; paths of fields, never values."""
        found = (p for item in self._first_noted() for p in item.pending)
        return [
            {"resource": p.resource, "object": p.object, "operation": p.operation, "fields": list(p.fields)}
            for p, _ in zip(found, range(SAMPLES), strict=False)
        ]

    def conflicted(self) -> str:
        """Who is in the way of a work item, "" when nobody is."""
        return next((item.conflicted for item in self._first_noted() if item.conflicted), "")

    def looping(self) -> str:
        """Who undoes a work item's writes, "" when nobody does."""
        return next((item.looping for item in self._first_noted() if item.looping), "")

    def _first_noted(self) -> list[Item]:
        if not self._noted:
            return []
        # enough to fill the samples and to meet every kind of trouble, without sorting thousands
        return [self.items[request] for request in heapq.nsmallest(10 * SAMPLES, self._noted)]
