"""Follows one kind (or one namespace of it) on the server and tells a sink what is there.

One request is all a kind costs: a watch that first streams what exists (WatchList), closes
that with a bookmark and goes on with changes. Servers that refuse it, or never close it, are
listed page by page and watched from there, and that is remembered for the kind.

A broken connection, an overloaded server or the regular end of a watch goes on from the last
resourceVersion seen, without a new listing. Only "too old" (410) and a kind that went and
came back start over; the sink compares, so nothing that happened in the gap is lost.

What never happens here: looking into objects. The sink does that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Raw

from rulesengine.cache.records import Record
from rulesengine.cache.settings import Backoff, Settings
from rulesengine.cache.status import Phase, Status
from rulesengine.client import (
    APIError,
    BadRequest,
    Expired,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Unreachable,
    error_of_event,
)
from rulesengine.client import Client as APIClient
from rulesengine.core.clock import Clock
from rulesengine.core.kinds import GroupVersionKind, ResourceType

logger = logging.getLogger(__name__)

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BATCH = 64  # events between two chances for other tasks
Name: TypeAlias = tuple[str, str]
Part: TypeAlias = tuple[GroupVersionKind, str, str]  # kind, label selector, field selector


class Resources(Protocol):
    """Discovery, as narrow as it is needed here."""

    async def resource(self, gvk: GroupVersionKind) -> ResourceType | None: ...
    def forget(self, gvk: GroupVersionKind) -> None: ...


class Sink(Protocol):
    """Where objects go. `take` and `gone` return None when the object could not be decoded."""

    def take(self, raw: bytes | Raw, *, initial: bool = False) -> Record | None: ...
    def gone(self, raw: bytes | Raw) -> Record | None: ...
    def listed(self, names: set[Name], version: int) -> None: ...
    def status(self, status: Status) -> None: ...


@dataclass(frozen=True, slots=True)
class Scope:
    """What is followed. Selectors are the server's own texts; "" for none."""

    gvk: GroupVersionKind
    namespace: str = ""
    selector: str = ""
    field_selector: str = ""

    @property
    def part(self) -> Part:
        return (self.gvk, self.selector, self.field_selector)

    def parameters(self) -> dict[str, str]:
        return {"labelSelector": self.selector, "fieldSelector": self.field_selector}


async def pause(wake: asyncio.Event, seconds: float) -> None:
    """Waits until woken, at most so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        pass


@dataclass(frozen=True, slots=True)
class World:
    """What a reflector needs from outside, the same for all of one cache.

    `without_streaming` holds the kinds that are listed the old way.
    """

    client: APIClient
    resources: Resources
    clock: Clock
    settings: Settings
    random: Callable[[], float]
    pause: Callable[[asyncio.Event, float], Any]
    without_streaming: set[GroupVersionKind]


class Reflector:
    """`run` goes on until it is cancelled."""

    def __init__(self, scope: Scope, sink: Sink, world: World) -> None:
        self._scope = scope
        self._sink = sink
        self._world = world
        settings = world.settings
        self._backoff = Backoff(settings.backoff_first, settings.backoff_longest)
        self._patience = Backoff(settings.patience_first, settings.patience_longest)
        self._wake = asyncio.Event()
        self._version = ""  # "" until everything that exists is known
        self._status = Status(Phase.SYNCING, f"{scope.gvk.kind}: not read yet")
        self.heard = world.clock.monotonic()  # the last sign of life: an event, a bookmark, an answer

    @property
    def status(self) -> Status:
        return self._status

    def wake(self) -> None:
        """Ends a wait: whatever it waited for may have changed."""
        self._patience.reset(self._world.settings.eager_first)
        self._wake.set()

    async def run(self) -> None:
        while True:
            started = self._world.clock.monotonic()
            try:
                wait = await self._follow()
                lived = self._world.clock.monotonic() - started
                if lived >= self._world.settings.watch_too_short:
                    self._backoff.reset()
                elif wait is None:
                    wait = self._backoff.next(self._world.random())
            except APIError as error:
                wait = self._react(error)
            except Exception:
                # a bug or an answer nobody imagined: contained in this kind, seen in the log
                logger.exception("following a kind failed", extra={"kind": str(self._scope.gvk)})
                self._version = ""
                wait = self._backoff.next(self._world.random())
            if wait is not None:
                await self._world.pause(self._wake, wait)
                self._wake.clear()

    async def _follow(self) -> float | None:
        """One watch, with what has to come before it. Returns seconds to wait, None for none."""
        if self._status.phase is Phase.UNSERVED:
            self._world.resources.forget(self._scope.gvk)  # pauses between questions are kept here
        resource = await self._world.resources.resource(self._scope.gvk)
        if resource is None:
            return self._park(Phase.UNSERVED, f"kind {self._scope.gvk} is not served")
        if not {"list", "watch"} <= resource.verbs:
            return self._park(Phase.UNSERVED, f"{resource.group_resource} cannot be listed and watched")
        if not self._version and self._scope.gvk not in self._world.without_streaming:
            try:
                await self._stream(resource, initial=True)
            except (BadRequest, Invalid) as error:
                self._list_from_now_on(str(error))
            return None
        if not self._version:
            await self._list(resource)
        await self._stream(resource, initial=False)
        return None

    # --- the three requests ---

    async def _stream(self, resource: ResourceType, *, initial: bool) -> None:
        settings = self._world.settings
        span = settings.watch_longest - settings.watch_shortest
        parameters = {
            **self._scope.parameters(),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(settings.watch_shortest + int(span * self._world.random())),
        }
        if initial:
            parameters |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            parameters["resourceVersion"] = self._version
        async with self._world.client.watch(
            resource, self._scope.namespace, parameters=parameters, idle=settings.idle
        ) as lines:
            if not initial:
                self._synced()
            elif not await self._initial(lines):
                return
            await self._changes(lines)

    async def _initial(self, lines: AsyncIterator[bytes]) -> bool:
        """Takes what exists up to the closing bookmark; False when that never came."""
        loop = asyncio.get_running_loop()
        silence = self._world.settings.initial_silence
        names: set[Name] = set()
        try:
            async with asyncio.timeout(silence) as limit:
                heard = loop.time()
                async for line in lines:
                    event = _event(line)
                    if event.type == "BOOKMARK":
                        mark = _bookmark.decode(event.object).metadata
                        if INITIAL_EVENTS_END in (mark.annotations or {}):
                            self._complete(names, mark.resource_version)
                            return True
                    elif event.type == "DELETED":
                        self._sink.gone(event.object)
                    elif (record := self._sink.take(event.object, initial=True)) is not None:
                        names.add((record.key.namespace, record.key.name))
                    if loop.time() - heard > silence / 10:
                        heard = loop.time()
                        limit.reschedule(heard + silence)
                    if len(names) % BATCH == BATCH - 1:
                        await asyncio.sleep(0)
        except TimeoutError:
            self._list_from_now_on("it never closed its initial events")
            return False
        raise Unreachable("the watch ended before its initial events did")

    async def _list(self, resource: ResourceType) -> None:
        names: set[Name] = set()
        token, version, limit = "", "", self._world.settings.page
        while True:
            try:
                raw = await self._world.client.list(
                    resource,
                    self._scope.namespace,
                    label_selector=self._scope.selector,
                    field_selector=self._scope.field_selector,
                    limit=limit,
                    continue_token=token,
                )
            except Expired:
                if not token:
                    raise
                token, limit = "", 0  # the pages grew old while we read them: all at once then
                names.clear()
                continue
            page = _page.decode(raw)
            for number, item in enumerate(page.items or ()):
                if (record := self._sink.take(item, initial=True)) is not None:
                    names.add((record.key.namespace, record.key.name))
                if number % BATCH == BATCH - 1:
                    await asyncio.sleep(0)
            version = page.metadata.resource_version
            token = page.metadata.continue_
            if not token:
                self._complete(names, version)
                return

    async def _changes(self, lines: AsyncIterator[bytes]) -> None:
        count = 0
        async for line in lines:
            event = _event(line)
            self.heard = self._world.clock.monotonic()
            if event.type == "BOOKMARK":
                self._version = _bookmark.decode(event.object).metadata.resource_version
            else:
                deleted = event.type == "DELETED"
                record = self._sink.gone(event.object) if deleted else self._sink.take(event.object)
                if record is not None and record.version:
                    self._version = str(record.version)
            self._backoff.reset()
            count += 1
            if count % BATCH == 0:
                await asyncio.sleep(0)

    # --- what that means ---

    def _complete(self, names: set[Name], version: str) -> None:
        self._sink.listed(names, int(version) if version.isdecimal() else 0)
        self._version = version
        self._synced()

    def _synced(self) -> None:
        self.heard = self._world.clock.monotonic()
        self._patience.reset()
        self._tell(Status(Phase.SYNCED))

    def _tell(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self._sink.status(status)

    def _park(self, phase: Phase, why: str) -> float:
        """Not readable for a reason that somebody has to change. Wait long, recheck when told."""
        if phase is Phase.UNSERVED:
            self._version = ""  # what comes back under this name is another collection
        self._tell(Status(phase, why))
        return self._patience.next(self._world.random())

    def _react(self, error: APIError) -> float | None:
        """What a failure changes, and seconds until the next attempt."""
        what = self._scope.gvk
        if isinstance(error, Expired):
            self._version = ""
            return self._backoff.next(self._world.random())
        if isinstance(error, Forbidden):
            where = f" in namespace {self._scope.namespace}" if self._scope.namespace else ""
            return self._park(Phase.FORBIDDEN, f"{what}: reading is forbidden{where}")
        if isinstance(error, (NotFound, MethodNotAllowed)):
            self._world.resources.forget(what)
            return self._park(Phase.UNSERVED, f"kind {what} is not served")
        if isinstance(error, (BadRequest, Invalid)):
            selectors = (
                f" with field selector {self._scope.field_selector}" if self._scope.field_selector else ""
            )
            return self._park(Phase.REFUSED, f"{what}: the server refuses to list it{selectors}")
        if not self._version and self._status.phase is Phase.SYNCING:
            self._tell(Status(Phase.SYNCING, f"{what}: {error}"))
        wait = self._backoff.next(self._world.random())
        return max(wait, error.retry_after or 0.0)

    def _list_from_now_on(self, why: str) -> None:
        self._world.without_streaming.add(self._scope.gvk)
        logger.info("streaming lists are not used", extra={"kind": str(self._scope.gvk), "why": why})


# --- documents ---


class _Line(msgspec.Struct, gc=False):
    type: str
    object: Raw


class _Mark(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct):
    metadata: _Mark


class _ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "continue_": "continue"}):
    resource_version: str = ""
    continue_: str = ""


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[Raw] | None = None


_line = msgspec.json.Decoder(_Line)
_bookmark = msgspec.json.Decoder(_Bookmark)
_page = msgspec.json.Decoder(_Page)


def _event(line: bytes) -> _Line:
    try:
        event = _line.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreachable("the watch sent a line that is no event") from error
    if event.type == "ERROR":
        raise error_of_event(bytes(event.object))
    return event
