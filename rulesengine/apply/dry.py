"""What a plan would do, asked of the server with dryRun=All and changed nowhere.

The same executor runs, with a client that sends dry runs and a ledger that only looks. What
it cannot ask (an object in a namespace that the same run would create) is computed from what
is wanted and marked `local`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TypeAlias

from rulesengine import ssa
from rulesengine.apply.breaker import Breaker
from rulesengine.apply.decide import Write
from rulesengine.apply.executor import NAMESPACE, STATUS_ENTRY, Executor
from rulesengine.apply.memory import Memory, State
from rulesengine.apply.ports import Client, Resources, Schemas
from rulesengine.client import APIError
from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.ports import Live
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Done,
    Failed,
    Held,
    Plan,
    Released,
    Result,
    Unwanted,
    Updated,
    Wanted,
)

SERVER_OWNED = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")


@dataclass(frozen=True, slots=True)
class Preview:
    """One change to come. `operation`: create, update, delete, release or withheld.

    `before` and `after` are whole objects without what the server keeps for itself; who shows
    them masks them where `tainted`. `fields` are the paths that differ. `local`: computed here,
    since the server could not be asked.
    """

    entry: str
    gvk: GroupVersionKind
    key: ObjectKey
    operation: str
    fields: tuple[str, ...] = ()
    before: Object | None = None
    after: Object | None = None
    tainted: bool = False
    local: bool = False
    reason: Reason | None = None  # why it is withheld
    message: str = ""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What `execute` would say of a plan, and the changes behind it."""

    result: Result
    previews: tuple[Preview, ...]


_Slot: TypeAlias = tuple[ObjectKey, str]


class _Glance:
    """A ledger that keeps the answers of one plan for comparing, and enters them nowhere."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.after: dict[_Slot, Object] = {}
        self.read: dict[ObjectKey, Object] = {}

    def accept(self, write: Write, live: Live | None, resource: ResourceType, raw: bytes) -> bool:  # noqa: ARG002  (the port's)
        """A dry run leaves resourceVersion as it was: whether it would move shows in the object."""
        after = json.decode_object(raw)
        self.after[write.child.key, write.child.part] = after
        if live is None:
            return True
        moved = live.foreign or _moves(live.object(), after, write)
        if not moved:
            self._memory.settle(write.child, State.of(live, write.state.digest))
        return moved

    def seen(self, resource: ResourceType, raw: bytes) -> None:
        found = json.decode_object(raw)
        meta = found["metadata"]
        kind = resource.gvk
        self.read[ObjectKey(kind.group, kind.kind, meta.get("namespace", ""), meta["name"])] = found


class DryRun:
    """As Executor, for a rule in mode DryRun and for `rulesengine diff`: nothing is changed.

    `client` must send dry runs only (client.dry_run). Namespaces that earlier plans would
    create count as coming.
    """

    def __init__(self, client: Client, resources: Resources, schemas: Schemas, clock: Clock) -> None:
        self._client = client
        self._resources = resources
        self._schemas = schemas
        self._clock = clock
        self._memory = Memory()
        self._coming: set[str] = set()

    def expect(self, namespaces: Collection[str]) -> None:
        """Namespaces that something else of this run creates."""
        self._coming.update(namespaces)

    async def execute(self, plan: Plan) -> Result:
        """What Executor.execute would answer."""
        return (await self.forecast(plan)).result

    async def forecast(self, plan: Plan) -> Forecast:
        """What would become of the plan, with the objects before and after."""
        glance = _Glance(self._memory)
        executor = Executor(
            self._client,
            glance,
            self._resources,
            self._schemas,
            self._memory,
            self._clock,
            breaker=Breaker(fights=1 << 30, writes=1 << 30),  # nothing is written, so nothing loops
        )
        # the collector's patience delays a removal, it does not change what will have happened
        patient = replace(plan, unwanted=tuple(replace(item, wait_until=None) for item in plan.unwanted))
        result = await executor.execute(patient)
        self._coming.update(
            done.key.name
            for done in result.done
            if done.key.group_kind == NAMESPACE and isinstance(done.outcome, Created)
        )
        shown = [await self._show(plan, done, glance) for done in result.done]
        done = tuple(item for item, _ in shown)
        return Forecast(Result(plan, done), tuple(preview for _, preview in shown if preview is not None))

    async def _show(self, plan: Plan, done: Done, glance: _Glance) -> tuple[Done, Preview | None]:
        wanted = next((w for w in plan.wanted if w.key == done.key and w.entry == done.entry), None)
        if done.entry == STATUS_ENTRY and wanted is None:
            return self._status(plan, done, glance)
        match done.outcome:
            case Held(reason=Reason.NAMESPACE_MISSING) if wanted and done.key.namespace in self._coming:
                return replace(done, outcome=Created()), _created(wanted, visible(wanted.desired), local=True)
            case Created() if wanted:
                return done, _created(wanted, visible(glance.after[done.key, ""]), local=False)
            case Updated() if wanted:
                return await self._updated(wanted, done, glance)
            case Deleted() | Released():
                return done, self._removed(plan, done, glance)
            case Failed(reason=reason, message=message):
                fields: tuple[str, ...] = ()
                preview = Preview(done.entry, done.gvk, done.key, "withheld", fields, reason=reason)
                return done, replace(preview, message=message)
            case _:
                return done, None

    async def _updated(self, wanted: Wanted, done: Done, glance: _Glance) -> tuple[Done, Preview]:
        after = visible(glance.after[done.key, ""])
        live = wanted.live
        assert live is not None
        before = await self._whole(wanted) if live.foreign else live.object()
        before = visible(before)
        fields = changed(before, after)
        preview = Preview(
            wanted.entry, wanted.gvk, wanted.key, "update", fields, before, after, tainted=wanted.tainted
        )
        return replace(done, outcome=Updated(fields)), preview

    async def _whole(self, wanted: Wanted) -> Object:
        """A foreign object, of which the cache has the identity only."""
        resource = self._resources.known(wanted.gvk)
        assert resource is not None
        try:
            return json.decode_object(await self._client.get(resource, wanted.key.namespace, wanted.key.name))
        except APIError:
            return {}  # gone since it was read a moment ago

    def _removed(self, plan: Plan, done: Done, glance: _Glance) -> Preview:
        item: Unwanted = next(u for u in plan.unwanted if u.live.key == done.key)
        before = visible(item.live.object())
        secret = done.key.group_kind == ("", "Secret")
        if isinstance(done.outcome, Deleted):
            return Preview(done.entry, done.gvk, done.key, "delete", (), before, None, tainted=secret)
        found = glance.read.get(done.key)
        after = visible(found) if found is not None else before
        fields = changed(before, after)
        return Preview(done.entry, done.gvk, done.key, "release", fields, before, after, tainted=secret)

    def _status(self, plan: Plan, done: Done, glance: _Glance) -> tuple[Done, Preview | None]:
        match done.outcome:
            case Updated() | Released():
                assert plan.status is not None
                found = glance.after.get((done.key, "status")) or {}
                found = (
                    found | {"status": glance.read[done.key].get("status")}
                    if done.key in glance.read
                    else found
                )
                before, after = visible(plan.status.live.object()), visible(found)
                fields = tuple(path for path in changed(before, after) if path.startswith("status"))
                operation = "update" if isinstance(done.outcome, Updated) else "release"
                outcome = Updated(fields) if isinstance(done.outcome, Updated) else done.outcome
                shown = Preview(done.entry, done.gvk, done.key, operation, fields, before, after)
                return replace(done, outcome=outcome), shown
            case Failed(reason=reason, message=message):
                return done, Preview(
                    done.entry, done.gvk, done.key, "withheld", reason=reason, message=message
                )
            case _:
                return done, None


def visible(found: Object) -> Object:
    """An object without what the server keeps for itself."""
    meta = {name: value for name, value in found.get("metadata", {}).items() if name not in SERVER_OWNED}
    return found | {"metadata": meta}


def changed(before: Object, after: Object) -> tuple[str, ...]:
    """The paths of the fields that differ, without values."""
    return tuple(change.path for change in ssa.diff.compare(before, after))


def _moves(before: Object, after: Object, write: Write) -> bool:
    """Whether the real apply would move resourceVersion: values differ, or what we own does."""
    if not json.same(visible(before), visible(after)):
        return True
    child = write.child
    mine, then = (ssa.entry(each, child.manager, child.part) for each in (before, after))
    return (mine or {}).get("fieldsV1") != (then or {}).get("fieldsV1")


def _created(wanted: Wanted, after: Object, *, local: bool) -> Preview:
    return Preview(
        wanted.entry, wanted.gvk, wanted.key, "create", (), None, after, tainted=wanted.tainted, local=local
    )
