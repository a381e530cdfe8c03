"""The status of rules, written on change, seldom, and never when it says what stands there.

A mark costs nothing; the status is put together when it is written, from what holds then, and
one rule's writes never overlap: of the kinds that may have been written none is ever lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from rulesengine.cache import Record
from rulesengine.client import APIError, Conflict, NotFound
from rulesengine.compiler.rule import CompiledRule, Mode
from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.json import Object
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.kinds import GroupKind, ResourceType
from rulesengine.core.settings import Settings
from rulesengine.reconcile import Tally, Verdict, accepted, progress, rejected, rule_status
from rulesengine.runtime.controller import Controller, State
from rulesengine.runtime.gate import WITHIN
from rulesengine.runtime.passes import Again
from rulesengine.runtime.queue import Queue
from rulesengine.runtime.rule_object import MANAGER, status_config, written_kinds
from rulesengine.runtime.workers import Workers

logger = logging.getLogger(__name__)

WRITERS = 2
_CONDITIONS = frozenset({"Accepted", "Ready", "Conflicted", "Looping", "DeletesHeld", "CleanupBlocked"})


class Client(Protocol):
    async def apply(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Object,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
    ) -> bytes: ...


class Statuses:
    """`live` is a rule as the cache has it; `enter` takes the server's answers."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        settings: Settings,
        controllers: Mapping[RuleKey, Controller],
        *,
        live: Callable[[RuleKey], Record | None],
        resource: Callable[[RuleKey], ResourceType | None],
        enter: Callable[[ResourceType, bytes], object],
    ) -> None:
        self._client = client
        self._clock = clock
        self._settings = settings
        self._controllers = controllers
        self._live = live
        self._resource = resource
        self._enter = enter
        self._queue = Queue(clock, backoff=(max(settings.status_interval, 0.1), 300.0))
        self._workers = Workers(self._queue, self._run, WRITERS, "status")
        self._marked: set[RuleKey] = set()
        self._written: dict[RuleKey, float] = {}
        self._locks: dict[RuleKey, asyncio.Lock] = {}

    def start(self) -> None:
        self._workers.start()

    async def stop(self, drain: float) -> None:
        """What is marked and not written yet is written by the next engine, from what it finds."""
        await self._workers.stop(drain)
        self._queue.close()

    def wake(self) -> None:
        self._queue.wake()

    @property
    def queue(self) -> Queue:
        """Rules whose status is to be written."""
        return self._queue

    @property
    def workers(self) -> Workers:
        """Those who write them."""
        return self._workers

    @property
    def idle(self) -> bool:
        """Nothing is being written; marks may be pending."""
        return self._queue.idle

    @property
    def due_in(self) -> float | None:
        return self._queue.due_in

    def mark(self, key: RuleKey) -> None:
        """Something that a rule's status says may have changed."""
        if key not in self._marked:
            self._marked.add(key)
            self._queue.add_after(Request(key, "", ""), self._pause(key))

    def forget(self, key: RuleKey) -> None:
        self._queue.forget(key)
        self._marked.discard(key)
        self._written.pop(key, None)
        self._locks.pop(key, None)

    async def write(self, key: RuleKey, coming: CompiledRule | None = None) -> None:
        """Brings the status up to date now, or to what holds once `coming` is in effect. Raises APIError."""
        controller, record = self._controllers.get(key), self._live(key)
        resource = self._resource(key)
        if controller is None or record is None or resource is None:
            return
        async with self._locks.setdefault(key, asyncio.Lock()):
            body = (self._live(key) or record).object()
            self._marked.discard(key)
            status = wanted(controller, body, self._clock, coming)
            if status is None or stands(status, body.get("status") or {}):
                return
            if coming is None:  # what precedes the first write is no reason to be slow with what follows
                self._written[key] = self._clock.monotonic()
            config = status_config(key, record.uid, status)
            raw = await self._client.apply(
                resource,
                key.namespace,
                key.name,
                config,
                field_manager=MANAGER,
                force=True,
                subresource="status",
            )
            self._enter(resource, raw)

    def _pause(self, key: RuleKey) -> float:
        written = self._written.get(key)
        if written is None:
            return self._settings.status_delay
        due = written + self._settings.status_interval - self._clock.monotonic()
        return max(due, self._settings.status_delay)

    async def _run(self, request: Request) -> Again:
        key = request.rule
        if (patience := self._patience(key)) is not None:
            return Again(patience)
        try:
            await self.write(key)
        except (NotFound, Conflict):
            return Again()  # gone, or another rule of that name: its event says so
        except APIError as error:
            logger.warning("the status of a rule could not be written", extra={"rule": key, "error": error})
            return Again(failed=True)
        return Again(self._pause(key) if key in self._marked else None)

    def _patience(self, key: RuleKey) -> float | None:
        """After a start counts begin at zero: what stands is better until all was looked at."""
        controller, record = self._controllers.get(key), self._live(key)
        if controller is None or record is None or controller.planned or controller.state is State.IDLE:
            return None
        left = self._settings.status_patience - controller.settling_for
        if left <= 0 or controller.rule is None:
            return None
        body = record.object()
        if (body.get("status") or {}).get("observedGeneration") != controller.rule.generation:
            return None
        self._marked.discard(key)
        return left if controller.written <= written_kinds(body) else None


def wanted(
    controller: Controller, body: Object, clock: Clock, coming: CompiledRule | None = None
) -> Object | None:
    """The status of a rule as it should be; None while nothing can be said."""
    rule, before = controller.rule, body.get("status") or {}
    generation = body["metadata"].get("generation", 0)
    tally = controller.tally
    if coming is not None:
        verdicts = [accepted(), *progress(Tally(), coming.mode, None, WITHIN, planned=False)]
        return _status(coming.generation, verdicts, None, controller.written, before, clock)
    if controller.rejected:
        message = "the present generation is not accepted; see condition Accepted"
        verdicts = [
            rejected(controller.rejected),
            Verdict("Ready", status=False, reason="NotAccepted", message=message),
        ]
        return _status(generation, verdicts, None, controller.written, before, clock)
    if rule is None:
        if not controller.unavailable:
            return None
        open_question = Verdict("Accepted", status=None, reason="Unavailable", message=controller.unavailable)
        verdicts = [open_question, *filter(None, [controller.blocked()])]
        return _status(generation, verdicts, None, controller.written, before, clock)
    if controller.state is State.CLEANING:
        verdicts = [accepted(), *_deleting(controller)]
        return _status(generation, verdicts, tally, controller.written, before, clock)
    blocked = controller.blocked()
    verdicts = [
        accepted(),
        *progress(tally, rule.mode, blocked, controller.deletes, planned=controller.planned),
    ]
    kept = None if rule.mode is Mode.SUSPENDED else tally
    return _status(rule.generation, verdicts, kept, controller.written, before, clock)


def _status(
    generation: int,
    verdicts: list[Verdict],
    tally: Tally | None,
    written: set[GroupKind],
    before: Object,
    clock: Clock,
) -> Object:
    return rule_status(
        generation=generation,
        verdicts=verdicts,
        tally=tally,
        written_kinds=written,
        before=before,
        now=clock.now(),
    )


def _deleting(controller: Controller) -> list[Verdict]:
    """What a rule says that is on its way out: only when it cannot go is there much to say."""
    ready = Verdict("Ready", status=False, reason="Deleting", message="what the rule made is being removed")
    blocked = controller.blocked()
    if blocked is not None and blocked.reason in ("Forbidden", "Refused"):
        return [ready, Verdict("CleanupBlocked", status=True, reason=blocked.reason, message=blocked.message)]
    failures = controller.tally.failures()
    if failures:
        first = failures[0]
        message = f"{len(failures)} or more objects cannot be removed; the first: {first['message']}"
        return [ready, Verdict("CleanupBlocked", status=True, reason=first["reason"], message=message)]
    if not controller.planned and controller.settling_for > 1.0:
        message = "objects are being deleted; finalizers on them may hold them"
        return [ready, Verdict("CleanupBlocked", status=True, reason="Waiting", message=message)]
    return [ready]


def stands(status: Object, live: Object) -> bool:
    """Whether the live status says all of `status`, and nothing of ours besides. Others' conditions
    do not count.
    """
    ours = dict(live)
    ours["conditions"] = [c for c in live.get("conditions") or () if c.get("type") in _CONDITIONS]
    return json.same(_sorted(status), _sorted(ours))


def _sorted(status: Object) -> Object:
    return status | {"conditions": sorted(status.get("conditions") or (), key=lambda c: str(c["type"]))}
