"""The engine: everything put together, started in order, stopped in the reverse.

Order of the start: what the server serves, the owner key, the rules, then what each rule
needs, then workers. Nothing is written before the key is there and the rules are known.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

from rulesengine.apply import Books, DryRun, EventSettings, Executor, Memory, Recorder
from rulesengine.cache import Cache, EventType, Handle, Interest, Phase
from rulesengine.cache import Settings as CacheSettings
from rulesengine.client import Client, Discovery, OpenAPI, dry_run
from rulesengine.core.clock import Clock, SystemClock
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.settings import Settings
from rulesengine.reconcile import Ownership
from rulesengine.runtime import rule_object
from rulesengine.runtime.budget import Budget
from rulesengine.runtime.compiling import Compiling
from rulesengine.runtime.controller import Around, State
from rulesengine.runtime.elector import LostLease
from rulesengine.runtime.interests import NAMESPACE_KIND
from rulesengine.runtime.kinds import KindWatch
from rulesengine.runtime.measures import Measures
from rulesengine.runtime.passes import Again, Passes, where
from rulesengine.runtime.queue import Queue
from rulesengine.runtime.routing import Router, Waiters
from rulesengine.runtime.rules import Rules, Tools
from rulesengine.runtime.secret import owner_key
from rulesengine.runtime.standby import Standby
from rulesengine.runtime.status import Statuses
from rulesengine.runtime.workers import Workers

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
Lead: TypeAlias = Callable[[Callable[[], None]], Awaitable[None]]


class Engine:
    """One engine for one cluster. The client stays the caller's to close.

    With `lead` it fills its caches, waits until that returns, and writes nothing before; what it
    is given to call ends the engine at once.
    """

    def __init__(
        self,
        client: Client,
        settings: Settings | None = None,
        clock: Clock | None = None,
        lead: Lead | None = None,
    ) -> None:
        self._lead = lead
        self.settings = settings or Settings()
        self._client = client
        self._clock = clock or SystemClock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._cut = asyncio.Event()
        self.started = asyncio.Event()
        self._spaces: Handle | None = None
        self.warm = False  # whether the rules are known, and what they need was read
        self.complete = False  # whether all work under way came to its end before the stop
        self._lost = False
        self._assemble()

    def _assemble(self) -> None:
        self.measures = Measures()
        client, clock, settings = self._client.measured(self.measures.requests), self._clock, self.settings
        self.discovery = Discovery(client, clock)
        self.schemas = OpenAPI(client, clock)
        self.cache = Cache(client, self.discovery, clock, settings=CacheSettings(grace=settings.watch_grace))
        writer = client.announcing(self.cache.writing)  # so that events of our writes are known as such
        self.queue = Queue(clock, backoff=(settings.backoff_first, settings.backoff_longest))
        self.memory = Memory()
        self.waiters = Waiters()
        self.budget = Budget(clock, settings.rule_requests, settings.rule_burst)
        events = EventSettings(settings.events_burst, settings.events_interval, settings.events_series)
        self.recorder = Recorder(client, clock, events)
        self.compiling = Compiling(self.discovery, self.schemas)
        self.rules = Rules(
            Tools(
                client=writer,
                cache=self.cache,
                resources=self.discovery,
                clock=clock,
                queue=self.queue,
                compiling=self.compiling,
                spawn=self._spawn,
                gone=self._rule_gone,
                retry=self.memory.forget_refusals,
            )
        )
        self.statuses = Statuses(
            writer,
            clock,
            settings,
            self.rules.controllers,
            live=self.rules.record,
            resource=lambda key: self.discovery.known(rule_object.kind_of(key)),
            enter=self.cache.put,
        )
        self.kinds = KindWatch(
            self.cache,
            self.discovery,
            self.schemas,
            self.memory,
            self.rules,
            delays=(settings.kinds_delay, settings.kinds_second_look),
            spawn=self._spawn,
        )
        self.passes = Passes(
            Executor(
                writer, Books(self.cache, self.memory), self.discovery, self.schemas, self.memory, clock
            ),
            DryRun(dry_run(client), self.discovery, self.schemas, clock),
            self.measures.wrap(self.recorder),
            self.waiters,
            clock,
            rounds=settings.rounds,
            on_namespace_wait=self._watch_namespaces,
            budget=self.budget,
        )
        self.workers = Workers(self.queue, self._pass, settings.workers)

    # --- life ---

    async def run(self, *, signals: bool = False) -> None:
        """Until `stop` or, with `signals`, SIGTERM or SIGINT; a second one cuts the drain short."""
        if signals:
            loop = asyncio.get_running_loop()
            for number in SIGNALS:
                loop.add_signal_handler(number, self.stop)
        try:
            await self._start_or_stop()
            await self._stopping.wait()
        finally:
            await self._shut_down()
            if signals:
                for number in SIGNALS:
                    loop.remove_signal_handler(number)
        if self._lost:
            raise LostLease("the lease is held by another engine, or may be; start this one anew to stand by")

    def stop(self) -> None:
        """Asks the engine to end; a second time, to do so at once."""
        if self._stopping.is_set():
            self._cut.set()
        else:
            logger.info("stopping", extra={"drain_seconds": self.settings.drain})
            self._stopping.set()

    def wake(self) -> None:
        """The clock was moved: what is due by it is looked at."""
        for queue in (self.queue, self.rules, self.statuses):
            queue.wake()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def idle(self) -> bool:
        """Whether nothing is ready or under way; delays and backoffs may be pending."""
        return self.started.is_set() and self.queue.idle and self.rules.idle and self.statuses.idle

    @property
    def due_in(self) -> float | None:
        """Seconds until something is done without an event: a repetition, a status; None: nothing."""
        waits = [self.queue.due_in, self.rules.due_in, self.statuses.due_in]
        return min((wait for wait in waits if wait is not None), default=None)

    async def _start_or_stop(self) -> None:
        starting = asyncio.create_task(self._start(), name="start")
        await _first(starting, asyncio.create_task(self._stopping.wait(), name="stop"))
        if not starting.cancelled():
            starting.result()

    async def _start(self) -> None:
        settings = self.settings
        logger.info("starting", extra={"server": self._client.server, "namespace": settings.namespace})
        await self.discovery.refresh()
        handles = self.rules.follow()
        self.kinds.follow()
        standby = await self._wait_for_turn(handles) if self._lead is not None else None
        key = await owner_key(self._client, settings.namespace, lambda: self._have_written(handles))
        await settled(self.cache, handles)
        router = Router(self.waiters, self._wake, self.memory.forget_refusals)
        self.cache.subscribe(router.hear)
        around = Around(
            cache=self.cache,
            kinds=self.discovery,
            queue=self.queue,
            clock=self._clock,
            ownership=Ownership(key),
            namespace=settings.namespace,
            changed=self.statuses.mark,
            served=lambda _rule, gvk: self.kinds.served(gvk),
            finished=self.rules.look,
            fill=self.rules.fill,
        )
        self._spawn(self.recorder.run(), "events")
        self.statuses.start()
        self.workers.start()
        self.rules.start(around, self.statuses)
        if standby is not None:
            standby.release()
        self.warm = True
        self.started.set()
        count = sum(1 for handle in handles for _ in handle.records())
        logger.info("running", extra={"rules": count, "workers": settings.workers})

    async def _wait_for_turn(self, handles: tuple[Handle, ...]) -> Standby:
        """Until this engine is the one to be at work; follows meanwhile what it will need then."""
        assert self._lead is not None
        await settled(self.cache, handles)
        standby = Standby(self.cache, self.discovery, self.compiling, self.rules.bodies)
        await standby.fill()
        self.warm = True
        following = self._spawn(standby.follow(), "standby")
        await self._lead(self._lose)
        following.cancel()
        return standby

    def _lose(self) -> None:
        logger.error("the lease is lost: stopping at once")
        self._lost = True
        self._stopping.set()
        self._cut.set()

    async def _have_written(self, handles: tuple[Handle, ...]) -> bool:
        await settled(self.cache, handles)
        return any(rule_object.written_kinds(body) for body in self.rules.bodies())

    async def _shut_down(self) -> None:
        """In the reverse order of the start; what is under way may end, as long as it is let."""
        drain = asyncio.create_task(self._drain(), name="drain")
        await _first(drain, asyncio.create_task(self._cut.wait(), name="cut"))
        self.complete = not drain.cancelled() and drain.result()
        await self.workers.stop(0.0)
        await self.statuses.stop(0.0)
        self.kinds.stop()
        await self.rules.stop(0.0)
        for task in set(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        if self._spaces is not None:
            self.cache.release(self._spaces)
        self.queue.close()
        await self.cache.close()
        logger.info("stopped", extra={"complete": self.complete})

    async def _drain(self) -> bool:
        """Lets what is under way end: looks at rules, passes, then what they say of rules."""
        end = self._clock.monotonic() + self.settings.drain
        complete = True
        for workers in (self.rules.workers, self.workers, self.statuses.workers):
            complete &= await workers.stop(max(end - self._clock.monotonic(), 0.0))
        if not complete:
            logger.warning("work was cut off", extra={"drain_seconds": self.settings.drain})
        return complete

    # --- what the parts tell each other ---

    async def _pass(self, request: Request) -> Again | None:
        controller = self.rules.controllers.get(request.rule)
        if controller is None or controller.state not in (State.ACTIVE, State.CLEANING):
            return None
        begun = time.perf_counter()
        again = await self.passes.run(controller, request)
        self.measures.passed(request.rule, time.perf_counter() - begun, again)
        return again

    def _wake(self, request: Request) -> None:
        controller = self.rules.controllers.get(request.rule)
        if controller is not None:
            controller.wake(request)

    def _rule_gone(self, key: RuleKey) -> None:
        self.queue.forget(key)
        self.waiters.forget(key)
        self.recorder.forget(key)
        self.measures.forget(key)
        self.budget.forget(key)

    def _watch_namespaces(self) -> None:
        """From the first time that something waits for a namespace on, to hear when it comes."""
        if self._spaces is None:
            self._spaces = self.cache.acquire(Interest(NAMESPACE_KIND, "target"))

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            extra = {"task": task.get_name(), "error": type(error).__name__, "at": where(error)}
            logger.error("a task failed unexpectedly", extra=extra)


async def _first(*tasks: asyncio.Task[Any]) -> None:
    """Waits for the first of these to end, and ends the others."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def settled(cache: Cache, handles: tuple[Handle, ...]) -> None:
    """Until of each kind it is known what is there, or that it cannot be known."""
    moved = asyncio.Event()

    def hear(event: object) -> None:
        if getattr(event, "type", None) in (EventType.SYNCED, EventType.STATUS):
            moved.set()

    end = cache.subscribe(hear)
    try:
        while any(handle.status.phase is Phase.SYNCING for handle in handles):
            moved.clear()
            await moved.wait()
    finally:
        end()
