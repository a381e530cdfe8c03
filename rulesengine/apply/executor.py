"""A plan carried out: wanted objects first, then removals, then the source's status.

Deciding is pure and done for the whole plan before the first request; a settled work item
sends nothing and never leaves the event loop's turn. What a dry run shows goes through here
too, with a client and a ledger that change nothing (dry.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

from rulesengine.apply.breaker import Breaker
from rulesengine.apply.decide import Adoption, NoWrite, Withheld, Write, decide
from rulesengine.apply.ledger import Ledger
from rulesengine.apply.lookup import Kind, Kinds
from rulesengine.apply.memory import Memory
from rulesengine.apply.ports import Client, Resources, Schemas
from rulesengine.apply.removals import Remover
from rulesengine.apply.status import StatusWriter, contests, key_of
from rulesengine.apply.writes import Writer
from rulesengine.core.clock import Clock
from rulesengine.core.kinds import GroupKind, ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile import source_status
from rulesengine.reconcile.plan import (
    Done,
    Failed,
    Held,
    Outcome,
    Plan,
    Result,
    SourceRef,
    StatusWanted,
    Unchanged,
    Unwanted,
    Wanted,
)

CONCURRENT = 4  # requests of one work item at a time: enough to hide latency, too few to crowd others out
NAMESPACE = GroupKind("", "Namespace")
HOUSES = frozenset(
    {NAMESPACE, GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")}
)  # others live in them
_Sending = tuple[int, Wanted, ResourceType, Write | Adoption]


class Executor:
    """Carries plans out. One for all rules that share a client (an identity)."""

    def __init__(
        self,
        client: Client,
        ledger: Ledger,
        resources: Resources,
        schemas: Schemas,
        memory: Memory,
        clock: Clock,
        *,
        breaker: Breaker | None = None,
        concurrent: int = CONCURRENT,
    ) -> None:
        self._kinds = Kinds(resources, schemas)
        self._memory = memory
        self._clock = clock
        self._concurrent = concurrent
        breaker = breaker or Breaker()
        self._writer = Writer(client, ledger, memory, breaker, clock)
        self._remover = Remover(client, ledger, memory, breaker, clock)
        self._status = StatusWriter(client, ledger, memory, contests(), clock)

    async def execute(self, plan: Plan) -> Result:
        """What became of every object of the plan. Refusals are outcomes; raises only defects."""
        done = await self._write(plan.wanted)
        clean = not any(isinstance(item.outcome, Held | Failed) for item in done)
        if plan.unwanted and plan.may_prune and clean:
            done += await self._remove(plan.unwanted)
        if plan.status is not None:
            done.append(await self._write_status(plan.status))
        return Result(plan, tuple(done))

    # --- wanted ---

    async def _write(self, wanted: Iterable[Wanted]) -> list[Done]:
        outcomes: list[Done] = []
        sending: list[_Sending] = []
        for item in wanted:
            kind = self._kinds.known(item.gvk) or await self._kinds.find(item.gvk)
            outcome = kind if isinstance(kind, Held) else self._decide(item, kind, len(outcomes), sending)
            outcomes.append(_done(item, outcome))
        for houses in (True, False) if sending else ():
            if batch := [each for each in sending if (each[1].key.group_kind in HOUSES) is houses]:
                await self._send(batch, outcomes)
        return outcomes

    def _decide(self, item: Wanted, kind: Kind, index: int, sending: list[_Sending]) -> Outcome:
        match decide(item, kind.schema, self._memory, self._clock.monotonic()):
            case NoWrite(step):
                return Unchanged(step)
            case Withheld(outcome):
                return outcome
            case Write() | Adoption() as decision:
                sending.append((index, item, kind.resource, decision))
                return Unchanged("")  # its place; the answer to the request takes it

    async def _send(self, sending: list[_Sending], outcomes: list[Done]) -> None:
        """Concurrently: an entry that reads another one's fields is not in the plan before they are there."""
        if len(sending) == 1:
            await self._send_one(sending[0], outcomes)
            return
        limit = asyncio.Semaphore(self._concurrent)

        async def one(each: _Sending) -> None:
            async with limit:
                await self._send_one(each, outcomes)

        answers = await asyncio.gather(*map(one, sending), return_exceptions=True)
        for answer in answers:  # a defect is raised once all requests are done with
            if answer is not None:
                raise answer

    async def _send_one(self, each: _Sending, outcomes: list[Done]) -> None:
        index, item, resource, decision = each
        outcomes[index] = _done(item, await self._writer.write(item, resource, decision))

    # --- unwanted ---

    async def _remove(self, unwanted: Iterable[Unwanted]) -> list[Done]:
        """In order; a removal that fails keeps those after it, which may be what it depends on."""
        done: list[Done] = []
        gone: dict[SourceRef, bool | Held | Failed] = {}
        now = self._clock.now()
        for item in unwanted:
            held = _patience(item, now)
            outcome = held or await self._remove_one(item, gone)
            done.append(Done(item.entry, item.gvk, item.live.key, outcome))
            if held is None and isinstance(outcome, Held | Failed):
                break  # what is left to the collector goes in an order of its own
        return done

    async def _remove_one(self, item: Unwanted, gone: dict[SourceRef, bool | Held | Failed]) -> Outcome:
        resource = await self._kinds.resource(item.gvk)
        if isinstance(resource, Held):
            return resource
        if item.confirm_gone is not None:
            source = item.confirm_gone
            if source not in gone:
                gone[source] = await self._ask(source)
            if (answer := gone[source]) is not True:
                return _still_there(source) if answer is False else answer
        return await self._remover.remove(item, resource)

    async def _ask(self, source: SourceRef) -> bool | Held | Failed:
        resource = await self._kinds.resource(source.gvk)
        if isinstance(resource, Held):
            return resource
        return await self._remover.is_gone(source, resource)

    # --- status ---

    async def _write_status(self, wanted: StatusWanted) -> Done:
        gvk = wanted.source.gvk
        kind = await self._kinds.find(gvk)
        if isinstance(kind, Held):
            return Done(source_status.ENTRY, gvk, key_of(wanted), kind)
        outcome = await self._status.write(wanted, kind.resource, kind.schema)
        return Done(source_status.ENTRY, gvk, key_of(wanted), outcome)


def _done(item: Wanted, outcome: Outcome) -> Done:
    return Done(item.entry, item.gvk, item.key, outcome)


def _patience(item: Unwanted, now: datetime) -> Held | None:
    """What is to be left to the garbage collector for a while."""
    if item.wait_until is None or item.wait_until <= now:
        return None
    seconds = (item.wait_until - now).total_seconds()
    return Held(Reason.WAITING, f"the garbage collector to remove {item.live.key}", retry_after=seconds)


def _still_there(source: SourceRef) -> Held:
    name = f"{source.namespace}/{source.name}".lstrip("/")
    return Held(Reason.STALE, f"a fresh look at {source.gvk.kind} {name}, which is there", retry_after=5.0)
