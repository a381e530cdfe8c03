"""The rule controller: rules in the cluster become controllers that come, change and go.

Level-triggered like everything else: a look at a rule compares what stands in the cache with
the controller there is. The order is what safety hangs on: the finalizer and the kinds to be
written stand in the cluster before a controller may make its first object, and the finalizer
goes only once nothing provably made by the rule is left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from rulesengine.cache import Cache, Event, EventType, Handle, Interest, Phase, Record, changed
from rulesengine.client import APIError, Client, Conflict, NotFound
from rulesengine.compiler.rule import CompiledRule, Mode
from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.errors import FindingsError
from rulesengine.core.json import Object
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.runtime import rule_object
from rulesengine.runtime.compiling import Compiling
from rulesengine.runtime.controller import Around, Controller
from rulesengine.runtime.passes import Again, where
from rulesengine.runtime.queue import Priority, Queue
from rulesengine.runtime.routing import asked
from rulesengine.runtime.rule_object import FINALIZER, MANAGER, RULE_KINDS
from rulesengine.runtime.secret import NAMESPACES
from rulesengine.runtime.status import Statuses
from rulesengine.runtime.workers import Workers

logger = logging.getLogger(__name__)

LOOKERS = 4  # rules looked at side by side
AT_ONCE = 500  # work items enqueued before others get a turn
_LIFE = frozenset(
    {
        ("spec",),
        ("metadata", "generation"),
        *(("metadata", n) for n in ("finalizers", "annotations", "labels")),
    }
)
_FIELDS = _LIFE | {("status",)}
Spawn = Callable[[Coroutine[Any, Any, None], str], object]


class Resources(Protocol):
    def known(self, gvk: GroupVersionKind) -> ResourceType | None: ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What looking at rules needs. `gone` hears of rules that are no more; `retry` that refusals
    of the server are to be tried again.
    """

    client: Client
    cache: Cache
    resources: Resources
    clock: Clock
    queue: Queue
    compiling: Compiling
    spawn: Spawn
    gone: Callable[[RuleKey], None]
    retry: Callable[[], None]


class Rules:
    """`controllers` are those of all rules that are not being forgotten."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.controllers: dict[RuleKey, Controller] = {}
        self._around: Around | None = None
        self._statuses: Statuses | None = None
        self._handles: dict[str, Handle] = {}
        self._named: dict[RuleKey, frozenset[GroupVersionKind]] = {}
        self._asked: dict[RuleKey, str] = {}
        self._anew: set[RuleKey] = set()  # to be compiled though nothing of the rule changed
        self._queue = Queue(tools.clock, backoff=(0.1, 60.0))
        self._workers = Workers(self._queue, self._run, LOOKERS, "rule")

    # --- life ---

    def follow(self) -> tuple[Handle, ...]:
        """Starts following the rules in the cluster; looks at none yet."""
        for gvk in RULE_KINDS:
            interest = Interest(gvk, "source", fields=_FIELDS)
            self._handles[gvk.kind] = self._tools.cache.acquire(interest, self._hear)
        return tuple(self._handles.values())

    def start(self, around: Around, statuses: Statuses) -> None:
        """Rules are looked at from now on: those that are there, and those that come."""
        self._around, self._statuses = around, statuses
        for handle in self._handles.values():
            for record in handle.records():
                self.look(rule_object.rule_key(record.key))
        self._workers.start()

    async def stop(self, drain: float) -> None:
        await self._workers.stop(drain)
        self._queue.close()
        for controller in self.controllers.values():
            controller.close()
        for handle in self._handles.values():
            self._tools.cache.release(handle)

    def wake(self) -> None:
        self._queue.wake()

    @property
    def queue(self) -> Queue:
        """Rules to be looked at."""
        return self._queue

    @property
    def workers(self) -> Workers:
        """Those who look at them."""
        return self._workers

    @property
    def handles(self) -> tuple[Handle, ...]:
        """The kinds of rules, once they are followed."""
        return tuple(self._handles.values())

    @property
    def idle(self) -> bool:
        return self._queue.idle

    @property
    def due_in(self) -> float | None:
        return self._queue.due_in

    # --- who asks for a look ---

    def look(self, key: RuleKey) -> None:
        self._queue.add(Request(key, "", ""))

    def compile_anew(self, keys: Iterable[RuleKey]) -> None:
        """What the server serves changed in something that these rules name."""
        for key in keys:
            self._anew.add(key)
            self.look(key)

    def naming(self, group: str) -> frozenset[RuleKey]:
        """The rules that name a kind of this group, or have written one."""
        return frozenset(
            key
            for key, controller in self.controllers.items()
            if any(gvk.group == group for gvk in self._named.get(key, ()))
            or any(kind.group == group for kind in controller.written)
        )

    def kinds_of(self, group: str) -> frozenset[GroupVersionKind]:
        """The kinds of a group that rules name."""
        return frozenset(gvk for named in self._named.values() for gvk in named if gvk.group == group)

    def fill(self, key: RuleKey, requests: Iterator[Request]) -> None:
        """Enqueues many work items; all at once where they are few."""
        if self._enqueue(requests):
            self._tools.spawn(self._fill(requests), f"fill {key}")

    def record(self, key: RuleKey) -> Record | None:
        """The rule as the cache has it."""
        handle = self._handles.get(key.kind)
        return handle.get(key.namespace, key.name) if handle is not None else None

    def bodies(self) -> Iterator[Object]:
        for handle in self._handles.values():
            yield from (record.object() for record in handle.records())

    def _enqueue(self, requests: Iterator[Request]) -> bool:
        """Takes some; whether there may be more."""
        for number, request in enumerate(requests):
            self._tools.queue.add(request, Priority.LOW)
            if number == AT_ONCE - 1:
                return True
        return False

    async def _fill(self, requests: Iterator[Request]) -> None:
        while True:
            await asyncio.sleep(0)
            if not self._enqueue(requests):
                return

    def _hear(self, event: Event) -> None:
        record = event.record
        if record is None:
            if event.type is EventType.STATUS:
                self._say_unserved(event.gvk)
            return
        key = rule_object.rule_key(record.key)
        if self._around is None:
            return
        if changed(event.old, event.new, _LIFE):
            self.look(key)
        elif not event.own and self._statuses is not None:
            self._statuses.mark(key)  # somebody else wrote to its status

    def _say_unserved(self, gvk: GroupVersionKind) -> None:
        status = self._handles[gvk.kind].status
        if status.phase in (Phase.UNSERVED, Phase.FORBIDDEN):
            hint = "kubectl apply the output of `rulesengine crds`" if status.phase is Phase.UNSERVED else ""
            logger.warning("rules cannot be read", extra={"kind": gvk.kind, "why": status.why, "hint": hint})

    # --- one look ---

    async def _run(self, request: Request) -> Again:
        key = request.rule
        try:
            await self._look(key)
        except (Conflict, NotFound) as error:
            # the rule moved under our hands: looked at anew
            logger.debug("a rule moved meanwhile", extra={"rule": key, "error": error})
            return Again(failed=True)
        except APIError as error:
            logger.warning("a rule could not be brought into effect", extra={"rule": key, "error": error})
            self._trouble(key, f"the server could not be asked: {error}")
            return Again(failed=True)
        except Exception as error:  # noqa: BLE001 - a defect must not stop other rules
            extra = {"rule": key, "error": type(error).__name__, "at": where(error)}
            logger.error("looking at a rule failed unexpectedly", extra=extra)  # noqa: TRY400 - no messages
            self._trouble(key, Reason.INTERNAL.sentence)
            return Again(failed=True)
        self._trouble(key, "")
        return Again()

    def _trouble(self, key: RuleKey, why: str) -> None:
        """Says on the rule why it is not in effect as it stands; "" when it is."""
        controller = self.controllers.get(key)
        if controller is not None and controller.unavailable != why:
            controller.unavailable = why
            if self._statuses is not None:
                self._statuses.mark(key)

    async def _look(self, key: RuleKey) -> None:
        record = self.record(key)
        controller = self.controllers.get(key)
        if record is None:
            self._forget(key)
            return
        body = record.object()
        if record.deleting:
            await self._clean(key, body)
            return
        if controller is None:
            controller = self._meet(key, body)
        controller.approve(rule_object.approved(body))
        seen = rule_object.identity(body)
        if controller.seen != seen or key in self._anew:
            anew = key in self._anew
            self._anew.discard(key)
            try:
                await self._renew(controller, body, anew=anew)
            except APIError:
                self._anew |= {key} if anew else set()
                raise
            controller.seen = seen
        elif asked(body["metadata"]) != self._asked.get(key, ""):
            self._tools.retry()
            controller.again()
        self._asked[key] = asked(body["metadata"])

    def _meet(self, key: RuleKey, body: Object) -> Controller:
        assert self._around is not None
        controller = Controller(key, self._around)
        controller.written = rule_object.written_kinds(body)
        self.controllers[key] = controller
        self._named[key] = frozenset(rule_object.named_kinds(body))
        return controller

    async def _renew(self, controller: Controller, body: Object, *, anew: bool) -> None:
        """Another generation, or another server: what it is worth, and into effect."""
        key = controller.key
        self._named[key] = frozenset(rule_object.named_kinds(body))
        try:
            rule = await self._tools.compiling.compile(body)
        except FindingsError as error:
            first = error.findings[0]
            logger.warning("a rule is not accepted", extra={"rule": key, "code": first.code})
            controller.freeze(f"{first.code}: {first.message}" + (f" ({first.path})" if first.path else ""))
            return
        if not anew and not controller.rejected and _same(controller.rule, rule):
            return
        if rule.mode is Mode.ENFORCE:
            await self._secure(controller, rule, body)
        about = {"rule": key, "generation": rule.generation, "mode": rule.mode.value}
        logger.info("a rule is in effect", extra=about | {"warnings": len(rule.warnings)})
        controller.use(rule)

    async def _secure(self, controller: Controller, rule: CompiledRule, body: Object) -> None:
        """Before the first write of a kind: the rule cannot go, nor the kind be forgotten, unnoticed."""
        if FINALIZER not in rule_object.finalizers(body):
            await self._patch(controller.key, rule_object.finalizers_patch(body, present=True))
        controller.written |= {gvk.group_kind for gvk in rule.target_kinds}
        assert self._statuses is not None
        if not controller.written <= rule_object.written_kinds(body):
            await self._statuses.write(controller.key, coming=rule)
            record = self.record(controller.key)
            if record is None or not controller.written <= rule_object.written_kinds(record.object()):
                raise Conflict(409, "NotWritten", request=f"status.writtenKinds of {controller.key}")

    # --- its end ---

    async def _clean(self, key: RuleKey, body: Object) -> None:
        if FINALIZER not in rule_object.finalizers(body):
            self._forget(key)
            return
        if rule_object.is_abandoned(body):
            logger.warning("a rule is abandoned with what it made", extra={"rule": key})
            await self._let_go(key, body)
            return
        if key.kind == "Rule" and await self._is_terminating(key.namespace):
            await self._let_go(key, body)  # all it made is in that namespace, and goes with it
            return
        controller = self.controllers.get(key) or self._meet(key, body)
        seen = b"deleting" + rule_object.identity(body)
        if controller.seen != seen or key in self._anew:
            rule = await self._tools.compiling.compile_for_cleanup(body, key)
            self._anew.discard(key)
            controller.seen = seen
            controller.clean(rule)
        elif self._is_clean(controller):
            await self._let_go(key, body)

    def _is_clean(self, controller: Controller) -> bool:
        """Nothing is left, as far as can be seen, and no pass of before is still about to make something."""
        running = self._tools.queue.is_running(controller.key)
        return controller.planned and not running and not controller.view.obstructed

    async def _let_go(self, key: RuleKey, body: Object) -> None:
        await self._patch(key, rule_object.finalizers_patch(body, present=False))
        logger.info("a rule is gone", extra={"rule": key})
        self._forget(key)

    async def _is_terminating(self, namespace: str) -> bool:
        try:
            raw = await self._tools.client.get(NAMESPACES, "", namespace)
        except NotFound:
            return True
        return bool(json.decode_object(raw)["metadata"].get("deletionTimestamp"))

    async def _patch(self, key: RuleKey, body: Object) -> None:
        resource = self._tools.resources.known(rule_object.kind_of(key))
        if resource is None:
            return
        raw = await self._tools.client.patch(resource, key.namespace, key.name, body, field_manager=MANAGER)
        if not json.decode_object(raw)["metadata"].get("deletionTimestamp"):
            self._tools.cache.put(resource, raw)

    def _forget(self, key: RuleKey) -> None:
        controller = self.controllers.pop(key, None)
        if controller is not None:
            controller.close()
        self._named.pop(key, None)
        self._asked.pop(key, None)
        self._anew.discard(key)
        if self._statuses is not None:
            self._statuses.forget(key)
        self._tools.gone(key)


def _same(before: CompiledRule | None, after: CompiledRule) -> bool:
    """Whether a rule means the same as before; only an annotation nobody reads has changed."""
    if before is None:
        return False
    return (before.uid, before.generation, before.digest, before.metadata) == (
        after.uid,
        after.generation,
        after.digest,
        after.metadata,
    )
