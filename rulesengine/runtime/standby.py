"""An engine that waits for its turn: it follows all that the rules need, and writes nothing.

When its turn comes, controllers find their caches full. What it holds is let go after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from rulesengine.cache import Cache, Event, EventType, Handle, Interest, Phase
from rulesengine.client import APIError
from rulesengine.core.errors import FindingsError
from rulesengine.core.json import Object
from rulesengine.runtime import rule_object
from rulesengine.runtime.compiling import Compiling
from rulesengine.runtime.interests import wanted_interests
from rulesengine.runtime.rule_object import RULE_KINDS
from rulesengine.runtime.view import Kinds

_OBJECTS = frozenset({EventType.ADDED, EventType.MODIFIED, EventType.DELETED})


class Standby:
    """`bodies` are the rules in the cluster."""

    def __init__(
        self, cache: Cache, kinds: Kinds, compiling: Compiling, bodies: Callable[[], Iterator[Object]]
    ) -> None:
        self._cache = cache
        self._kinds = kinds
        self._compiling = compiling
        self._bodies = bodies
        self._held: dict[Interest, Handle] = {}
        self._known: dict[bytes, tuple[Interest, ...]] = {}  # by the state of a rule
        self._moved = asyncio.Event()

    async def fill(self) -> None:
        """Until everything is read that the rules need now, or it is known that it cannot be."""
        await self._hold()
        done = asyncio.Event()
        end = self._cache.subscribe(lambda _event: done.set())
        try:
            while any(handle.status.phase is Phase.SYNCING for handle in self._held.values()):
                done.clear()
                await done.wait()
        finally:
            end()

    async def follow(self) -> None:
        """Keeps up with the rules until it is cancelled."""
        end = self._cache.subscribe(self._hear)
        try:
            while True:
                await self._moved.wait()
                self._moved.clear()
                await self._hold()
        finally:
            end()

    def release(self) -> None:
        for handle in self._held.values():
            self._cache.release(handle)
        self._held.clear()
        self._known.clear()

    def _hear(self, event: Event) -> None:
        if event.gvk in RULE_KINDS and event.type in _OBJECTS:
            self._moved.set()

    async def _hold(self) -> None:
        wanted: dict[Interest, None] = {}
        known: dict[bytes, tuple[Interest, ...]] = {}
        for body in list(self._bodies()):
            seen = rule_object.identity(body)
            known[seen] = self._known.get(seen) or await self._needs(body)
            wanted |= dict.fromkeys(known[seen])
        self._known = known
        before, self._held = self._held, {}
        for interest in wanted:
            kept = interest in before
            self._held[interest] = before.pop(interest) if kept else self._cache.acquire(interest)
        for handle in before.values():
            self._cache.release(handle)

    async def _needs(self, body: Object) -> tuple[Interest, ...]:
        try:
            rule = await self._compiling.compile(body)
        except (FindingsError, APIError):
            return ()  # whoever leads says so on the rule
        return tuple(wanted_interests(rule, rule_object.written_kinds(body), self._kinds.preferred))
