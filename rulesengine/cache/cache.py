"""Every kind the rules need, each followed once, shared, and let go when nobody needs it.

A rule says what it needs (`Interest`) and holds a `Handle` until it lets go. Interests in the
same kind share one store and one watch; what is kept of each object is the union of what they
read. Listeners are called on the event loop while the store changes: they note what to do and
return.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rulesengine.cache.events import Event, Listener
from rulesengine.cache.informer import Informer
from rulesengine.cache.projection import FieldPath, Projection
from rulesengine.cache.records import BadObject, Record
from rulesengine.cache.reflector import Part, Resources, Scope, World, pause
from rulesengine.cache.settings import Settings
from rulesengine.cache.status import Phase, Status, worst
from rulesengine.cache.store import Store
from rulesengine.client import Client
from rulesengine.core.clock import Clock
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.ports import Absent, Unreadable

logger = logging.getLogger(__name__)

Role: TypeAlias = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class Interest:
    """What a rule needs of a kind.

    Of a "target" kind only objects with a claim are kept; "source" (anything that is read)
    keeps all. `fields` are paths from the object on, () for the whole of it. Selectors are the
    server's texts and make a watch of their own: what they leave out looks absent.
    `namespaces` None means every one.
    """

    gvk: GroupVersionKind
    role: Role = "source"
    fields: frozenset[FieldPath] = frozenset()
    selector: str = ""
    field_selector: str = ""
    namespaces: frozenset[str] | None = None

    @property
    def part(self) -> Part:
        return (self.gvk, self.selector, self.field_selector)


@dataclass(eq=False, slots=True)
class Handle:
    """A held interest: the view of the cache through it. Good until released."""

    interest: Interest
    store: Store
    informers: tuple[Informer, ...]
    listener: Listener | None = None
    released: bool = False

    @property
    def gvk(self) -> GroupVersionKind:
        return self.interest.gvk

    @property
    def status(self) -> Status:
        if not self.informers:
            return Status(Phase.SYNCED)  # no namespaces: nothing there is to be read
        return worst([informer.current for informer in self.informers])

    @property
    def synced(self) -> bool:
        return self.status.synced

    def covers(self, namespace: str) -> bool:
        return any(i.scope.namespace in ("", namespace) for i in self.informers)

    def get(self, namespace: str, name: str) -> Record | None:
        """The record as it is now, whatever the status."""
        return self.store.get(namespace, name)

    def read(self, namespace: str, name: str) -> Record | Absent | Unreadable:
        """What may be concluded about an object: absent only where absence would be known."""
        watched = [i for i in self.informers if i.scope.namespace in ("", namespace)]
        if not watched:
            return Unreadable(f"{self.gvk}: namespace {namespace} is not watched", self.gvk)
        if not any(informer.current.synced for informer in watched):
            return Unreadable(watched[0].current.why, self.gvk)
        found = self.store.get(namespace, name)
        return found if found is not None else Absent(self.store.gone_since(namespace, name))

    def records(self) -> Iterable[Record]:
        """Every object in its namespaces."""
        namespaces = self.interest.namespaces
        if namespaces is None:
            return iter(self.store)
        return (record for record in self.store if record.key.namespace in namespaces)


class Cache:
    """Lives on one event loop; `close` ends every watch."""

    def __init__(
        self,
        client: Client,
        resources: Resources,
        clock: Clock,
        *,
        settings: Settings | None = None,
        random: Callable[[], float] = random.random,
        pause: Callable[[asyncio.Event, float], Any] = pause,
    ) -> None:
        self._settings = settings or Settings()
        self._clock = clock
        self._world = World(client, resources, clock, self._settings, random, pause, set())
        self._stores: dict[Part, Store] = {}
        self._informers: dict[Scope, Informer] = {}
        self._handles: dict[Part, list[Handle]] = {}
        self._listeners: list[Listener] = []
        self._ending: set[asyncio.Task[None]] = set()

    # --- interests ---

    def acquire(self, interest: Interest, listener: Listener | None = None) -> Handle:
        """Starts following a kind, or joins those who do. `listener` hears of this kind's part only.

        What is there already is not told again: read `handle.records()`.
        """
        part = interest.part
        store = self._stores.get(part)
        if store is None:  # an empty one is false
            store = self._open(part)
        handle = Handle(interest, store, tuple(self._informers_for(interest, store)), listener)
        self._handles.setdefault(part, []).append(handle)
        for informer in handle.informers:
            informer.users += 1
            if informer.idle is not None:
                informer.idle.cancel()
                informer.idle = None
        self._adjust(part)
        return handle

    def release(self, handle: Handle) -> None:
        """Gives an interest back; a second time does nothing."""
        if handle.released:
            return
        handle.released = True
        part = handle.interest.part
        self._handles[part].remove(handle)
        self._adjust(part)
        loop = asyncio.get_running_loop()
        for informer in handle.informers:
            informer.users -= 1
            if informer.users == 0:
                informer.idle = loop.call_later(self._settings.grace, self._stop, informer)
        self._tidy(part)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hears everything; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def recheck(self, kind: GroupVersionKind) -> None:
        """Tries again at once what waits for a kind to be served, or for rights."""
        self._world.resources.forget(kind)
        for scope, informer in self._informers.items():
            if scope.gvk.group_kind == kind.group_kind and not informer.current.synced:
                informer.wake()

    # --- reading ---

    def store(self, gvk: GroupVersionKind, *, selector: str = "", field_selector: str = "") -> Store | None:
        """The objects of a followed kind; None when nobody follows it."""
        return self._stores.get((gvk, selector, field_selector))

    def status(self, gvk: GroupVersionKind) -> Status | None:
        """Of a kind as a whole; None when nobody follows it."""
        found = [i.current for scope, i in self._informers.items() if scope.gvk == gvk]
        return worst(found) if found else None

    @property
    def stores(self) -> tuple[Store, ...]:
        return tuple(self._stores.values())

    @property
    def informers(self) -> tuple[Informer, ...]:
        """Each watch that is open or being opened."""
        return tuple(self._informers.values())

    @property
    def watches(self) -> int:
        """How many watches are open or being opened."""
        return len(self._informers)

    # --- answers to our own requests ---

    def put(self, resource: ResourceType, raw: bytes) -> Record | None:
        """Takes the server's answer to a write of ours, so that reads see it before the watch does.

        A part with selectors waits for its watch: only the server knows whether the object
        still is in it.
        """
        store = self._stores.get((resource.gvk, "", ""))
        if store is None:
            return None
        try:
            record = store.maker.make(raw)
        except BadObject:
            logger.warning("an answer could not be decoded", extra={"kind": str(resource.gvk)})
            return None
        if self._covered(resource.gvk, record.key.namespace):
            store.put(record, own=True)
        return record

    @contextmanager
    def writing(self, resource: ResourceType, namespace: str, name: str) -> Iterator[None]:
        """Around a write: its event, which may come before its answer, is recognised as our own.

        For `Client.announcing`. The watch's events of this object are taken only after whoever
        sent the write has had its turn to `put` or `drop` what came of it.
        """
        store = self._stores.get((resource.gvk, "", ""))
        if store is None:
            yield
            return
        store.hold(namespace, name)
        try:
            yield
        finally:
            asyncio.get_running_loop().call_soon(store.resume, namespace, name)

    def drop(self, resource: ResourceType, namespace: str, name: str, uid: str) -> None:
        """Takes the answer to a delete of ours that removed the object at once."""
        store = self._stores.get((resource.gvk, "", ""))
        if store is not None:
            store.drop(namespace, name, uid)

    async def close(self) -> None:
        for informer in list(self._informers.values()):
            self._stop(informer)
        while self._ending:
            await asyncio.wait(self._ending)

    # --- inside ---

    def _open(self, part: Part) -> Store:
        def emit(event: Event) -> None:
            self._tell(part, event)

        store = self._stores[part] = Store(part[0], self._clock, emit)
        return store

    def _informers_for(self, interest: Interest, store: Store) -> Iterable[Informer]:
        wide = Scope(interest.gvk, "", interest.selector, interest.field_selector)
        if interest.namespaces is None or wide in self._informers:
            scopes = [wide]  # a watch on all namespaces serves those who need a few, too
        else:
            scopes = [
                Scope(interest.gvk, namespace, interest.selector, interest.field_selector)
                for namespace in sorted(interest.namespaces)
            ]
        for scope in scopes:
            informer = self._informers.get(scope)
            if informer is None:
                informer = Informer(scope, store, self._world, store.emit)
                self._informers[scope] = informer
                informer.start()
            yield informer

    def _adjust(self, part: Part) -> None:
        """Keeps of each object what the present handles need."""
        handles = self._handles[part]
        if not handles:
            return  # in the grace period it stays as it is: a rule that is edited comes back at once
        maker = self._stores[part].maker
        wanted = Projection(path for handle in handles for path in handle.interest.fields)
        if wanted.paths != maker.projection.paths:
            maker.projection = wanted
        sources = any(handle.interest.role == "source" for handle in handles)
        if sources and not maker.sources and len(self._stores[part]):
            # of foreign objects only the identity was kept: they have to be read again
            for scope, informer in self._informers.items():
                if scope.part == part:
                    self._end(informer.restart())
        maker.sources = maker.sources or sources

    def _covered(self, gvk: GroupVersionKind, namespace: str) -> bool:
        return Scope(gvk) in self._informers or Scope(gvk, namespace) in self._informers

    def _stop(self, informer: Informer) -> None:
        scope = informer.scope
        if informer.idle is not None:
            informer.idle.cancel()
            informer.idle = None
        if self._informers.pop(scope, None) is None:
            return
        self._end(informer.stop())
        left = self._tidy(scope.part)
        if left and "" not in left:
            self._stores[scope.part].forget(lambda namespace: namespace in left)

    def _tidy(self, part: Part) -> set[str]:
        """Lets go of a store that nobody fills or reads; the namespaces that are still watched."""
        left = {scope.namespace for scope in self._informers if scope.part == part}
        if not left and not self._handles.get(part):
            self._stores.pop(part, None)
            self._handles.pop(part, None)
        return left

    def _end(self, task: asyncio.Task[None] | None) -> None:
        if task is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _tell(self, part: Part, event: Event) -> None:
        namespace = event.record.key.namespace if event.record is not None else event.namespace
        heard = [h.listener for h in self._handles.get(part, ()) if h.listener and h.covers(namespace)]
        for listener in (*self._listeners, *heard):
            try:
                listener(event)
            except Exception:
                # one listener's bug must not keep the others, or the store, from the truth
                logger.exception("a listener failed", extra={"kind": str(event.gvk)})
