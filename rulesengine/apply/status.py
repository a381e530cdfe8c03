"""Writes to a source's /status: applied with uid, never forced, given up when contested.

Where a kind's conditions are not a list keyed by type, applying ours would replace everybody
else's: there they are merged into what is live and sent with its resourceVersion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rulesengine import ssa
from rulesengine.apply.answers import answer, conflicting, heard
from rulesengine.apply.breaker import Breaker, Open
from rulesengine.apply.decide import Write, echo_of
from rulesengine.apply.ledger import Ledger
from rulesengine.apply.memory import Child, Memory, State
from rulesengine.apply.ports import Client
from rulesengine.apply.writes import with_metadata
from rulesengine.client import APIError
from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.json import Json, Object
from rulesengine.core.keys import MANAGER_LIMIT, ObjectKey, shortened
from rulesengine.core.kinds import ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import (
    Failed,
    Held,
    Outcome,
    Released,
    StatusWanted,
    Unchanged,
    Updated,
)
from rulesengine.schema import Schema

STATUS = "status"
CONTESTS = 5
CONTEST_WINDOW = 600.0  # seconds
STATUS_WRITES = 300  # in that window: half a write a second for ever is a loop, too
RELEASED = b"released"


def contests() -> Breaker:
    """A breaker with the limits of status writes."""
    return Breaker(fights=CONTESTS, window=CONTEST_WINDOW, writes=STATUS_WRITES)


@dataclass(frozen=True, slots=True)
class StatusWrite:
    """What to send: an apply (None: nothing left to apply), and a merged list of conditions."""

    apply: Write | None
    conditions: list[Json] | None
    child: Child
    state: State


StatusDecision: TypeAlias = Unchanged | Held | Failed | StatusWrite


def decide_status(wanted: StatusWanted, schema: Schema, memory: Memory, now: float) -> StatusDecision:
    """Whether /status needs a write. As for objects: verdict, refusal, structure, echo."""
    memory.use(wanted.source.gvk, schema)
    key = key_of(wanted)
    child = Child(wanted.manager, key, STATUS)
    config = wanted.desired if wanted.desired is not None else _nothing(wanted)
    state = State.of(wanted.live, json.digest(config) if wanted.desired is not None else RELEASED)
    if memory.settled(child, state):
        return Unchanged("verdict")
    if (refusal := memory.refused(child, state, now)) is not None:
        return refusal
    live = wanted.live.object()
    config, conditions = _split(config, schema, live)
    write = _apply(config, schema, live, child, state, memory)
    if write is None and conditions is None:
        memory.settle(child, state)
        return Unchanged("structural")
    return StatusWrite(write, conditions, child, state)


class StatusWriter:
    """Sends what decide_status found."""

    def __init__(
        self, client: Client, ledger: Ledger, memory: Memory, breaker: Breaker, clock: Clock
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._memory = memory
        self._breaker = breaker
        self._clock = clock

    async def write(self, wanted: StatusWanted, resource: ResourceType, schema: Schema) -> Outcome:
        """Brings /status to what is wanted; every refusal comes back as an outcome."""
        decision = decide_status(wanted, schema, self._memory, self._clock.monotonic())
        if not isinstance(decision, StatusWrite):
            return decision
        if STATUS not in resource.subresources:
            message = f"{resource.gvk} has no status subresource"
            return Failed(Reason.INVALID, message, field="status")
        now = self._clock.monotonic()
        if (rest := self._breaker.check(decision.child, now)) is not None:
            return _contested(rest)
        try:
            moved = await self._send(wanted, resource, decision)
        except APIError as error:
            said = heard(error, key_of(wanted))
            if managers := conflicting(said):
                self._breaker.contested(decision.child, now, managers[0])
            return self._memory.refuse(decision.child, decision.state, answer(said), now)
        if not moved:
            return Unchanged("idle")
        self._breaker.wrote(decision.child, wanted.live.uid, decision.state.digest, now)
        return Updated() if wanted.desired is not None else Released()

    async def _send(self, wanted: StatusWanted, resource: ResourceType, decision: StatusWrite) -> bool:
        source, version = wanted.source, wanted.live.version
        moved = False
        if decision.apply is not None:
            raw = await self._client.apply(
                resource,
                source.namespace,
                source.name,
                with_metadata(decision.apply.prepared.object, uid=source.uid),
                field_manager=wanted.manager,
                subresource=STATUS,
            )
            moved = self._ledger.accept(decision.apply, wanted.live, resource, raw)
            version = int(json.decode_object(raw)["metadata"]["resourceVersion"])
        if decision.conditions is not None:
            body = {
                "metadata": {"uid": source.uid, "resourceVersion": str(version)},
                "status": {"conditions": decision.conditions},
            }
            # a manager of its own: an Update entry under the applier's name would look like fields
            # that a release has yet to give up
            manager = shortened(f"{wanted.manager}/conditions", MANAGER_LIMIT)
            raw = await self._client.patch(
                resource, source.namespace, source.name, body, field_manager=manager, subresource=STATUS
            )
            self._ledger.seen(resource, raw)
            moved = True
        return moved


def key_of(wanted: StatusWanted) -> ObjectKey:
    source = wanted.source
    return ObjectKey(source.gvk.group, source.gvk.kind, source.namespace, source.name)


def keyed_by_type(schema: Schema) -> bool:
    """Whether the kind's status.conditions are a list that appliers can share."""
    status = schema.properties.get("status")
    conditions = status.properties.get("conditions") if status is not None else None
    return conditions is not None and conditions.list_type == "map" and conditions.list_keys == ("type",)


def merged(present: list[Json], ours: list[Json]) -> list[Json]:
    """`present` with our conditions in the places of those of the same type, new ones at the end."""
    mine = {condition["type"]: condition for condition in ours}
    kept = [
        mine.pop(c["type"], c) if isinstance(c, dict) and isinstance(c.get("type"), str) else c
        for c in present
    ]
    return [*kept, *mine.values()]


def _split(config: Object, schema: Schema, live: Object) -> tuple[Object, list[Json] | None]:
    """The configuration without conditions that must be merged, and the merged list if it differs."""
    status = config.get("status") or {}
    if "conditions" not in status or keyed_by_type(schema):
        return config, None
    rest = {name: value for name, value in status.items() if name != "conditions"}
    present = (live.get("status") or {}).get("conditions") or []
    wanted = merged(present, status["conditions"])
    config = {name: value for name, value in config.items() if name != "status"}
    return (config | {"status": rest} if rest else config), None if json.same(wanted, present) else wanted


def _apply(
    config: Object, schema: Schema, live: Object, child: Child, state: State, memory: Memory
) -> Write | None:
    """The apply that is needed, None when live has it so already."""
    entry = ssa.entry(live, child.manager, STATUS)
    if entry is None and "status" not in config:
        return None
    prepared = ssa.prepare(schema, ssa.strip(config))
    if ssa.unchanged(prepared, schema, live, child.manager, subresource=STATUS):
        return None
    echo = memory.echo(child)
    if echo is not None and echo == echo_of(state.digest, prepared, schema, live, child):
        return None
    return Write(child, state, state, prepared, schema)


def _nothing(wanted: StatusWanted) -> Object:
    """An apply configuration that wants nothing: sending it gives up what we own in /status."""
    source = wanted.source
    metadata: Object = {"name": source.name, "uid": source.uid}
    if source.namespace:
        metadata["namespace"] = source.namespace
    return {"apiVersion": source.gvk.api_version, "kind": source.gvk.kind, "metadata": metadata}


def _contested(rest: Open) -> Failed:
    who = f" by {rest.manager}" if rest.manager else ""
    message = f"the source's status is changed again and again{who}"
    return Failed(Reason.STATUS_CONTESTED, message, manager=rest.manager, retry_after=rest.seconds)
