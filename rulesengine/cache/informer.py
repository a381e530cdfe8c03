"""One followed part of a kind: a reflector's task, filling a store that others may share.

Counted by those who need it; who counts starts and stops it (`cache.py`).
"""

from __future__ import annotations

import asyncio
import logging

from msgspec import Raw

from rulesengine.cache.events import Event, EventType, Listener
from rulesengine.cache.records import BadObject, Record
from rulesengine.cache.reflector import Name, Reflector, Scope, World
from rulesengine.cache.status import Status
from rulesengine.cache.store import Store

logger = logging.getLogger(__name__)


class Informer:
    """The sink of its reflector. `users` is kept by the cache."""

    def __init__(self, scope: Scope, store: Store, world: World, emit: Listener) -> None:
        self.scope = scope
        self.users = 0
        self.idle: asyncio.TimerHandle | None = None
        self._store = store
        self._world = world
        self._emit = emit
        self._reflector = Reflector(scope, self, world)
        self._task: asyncio.Task[None] | None = None

    @property
    def current(self) -> Status:
        return self._reflector.status

    @property
    def silent_for(self) -> float:
        """Seconds since the server was heard of this part; bookmarks come about every minute."""
        return self._world.clock.monotonic() - self._reflector.heard

    def start(self) -> None:
        name = f"watch {self.scope.gvk} {self.scope.namespace}".rstrip()
        self._task = asyncio.create_task(self._reflector.run(), name=name)

    def stop(self) -> asyncio.Task[None] | None:
        """The task, cancelled but perhaps not over yet."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        return task

    def restart(self) -> asyncio.Task[None] | None:
        """Reads everything anew, because more of every object is needed than was kept."""
        stopped = self.stop()
        self._reflector = Reflector(self.scope, self, self._world)
        self.start()
        return stopped

    def wake(self) -> None:
        self._reflector.wake()

    # --- the sink ---

    def take(self, raw: bytes | Raw, *, initial: bool = False) -> Record | None:
        if (record := self._made(raw)) is not None:
            self._store.put(record, initial=initial)
        return record

    def gone(self, raw: bytes | Raw) -> Record | None:
        if (record := self._made(raw)) is not None:
            self._store.delete(record)
        return record

    def listed(self, names: set[Name], version: int) -> None:
        self._store.retain(names, version, self.scope.namespace)

    def status(self, status: Status) -> None:
        kind = EventType.SYNCED if status.synced else EventType.STATUS
        self._emit(Event(kind, self.scope.gvk, namespace=self.scope.namespace))

    def _made(self, raw: bytes | Raw) -> Record | None:
        try:
            return self._store.maker.make(raw)
        except BadObject:
            logger.warning("an object could not be decoded", extra={"kind": str(self.scope.gvk)})
            self._emit(Event(EventType.UNREADABLE, self.scope.gvk, namespace=self.scope.namespace))
            return None
