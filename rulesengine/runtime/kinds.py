"""Kinds that come and change while the engine runs: one watch on CRDs, identities only.

An event of a CRD says that something about its group may be different. Once the group's CRDs
are still, and if rules name the group at all, discovery and schemas of it are asked for anew and
those who wait for a kind are woken; where a kind is not what it was, rules that name it are
compiled again. A second look follows, since schemas are published some time after the kind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol

from rulesengine.cache import Cache, Event, EventType, Handle, Interest
from rulesengine.client import APIError
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType
from rulesengine.runtime.rule_object import GROUP, RULE_KINDS
from rulesengine.schema import Schema

logger = logging.getLogger(__name__)

CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


class Discovery(Protocol):
    def known(self, gvk: GroupVersionKind) -> ResourceType | None: ...
    async def refresh(self, group: str | None = None) -> None: ...


class Schemas(Protocol):
    def known(self, gvk: GroupVersionKind) -> Schema | None: ...
    async def schema(self, gvk: GroupVersionKind) -> Schema | None: ...
    def invalidate(self, group: str) -> None: ...


class Memory(Protocol):
    def forget_kind(self, kind: GroupKind) -> None: ...


class Rules(Protocol):
    def naming(self, group: str) -> Iterable[RuleKey]: ...
    def kinds_of(self, group: str) -> Iterable[GroupVersionKind]: ...
    def compile_anew(self, keys: Iterable[RuleKey]) -> None: ...


class KindWatch:
    """Looks twice, after `delays` seconds each, at every group that moved."""

    def __init__(
        self,
        cache: Cache,
        discovery: Discovery,
        schemas: Schemas,
        memory: Memory,
        rules: Rules,
        *,
        delays: tuple[float, ...],
        spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
    ) -> None:
        self._cache = cache
        self._discovery = discovery
        self._schemas = schemas
        self._memory = memory
        self._rules = rules
        self._delays = delays
        self._spawn = spawn
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._handle: Handle | None = None

    def follow(self) -> Handle:
        self._handle = self._cache.acquire(Interest(CRD, "target"), self._hear)
        return self._handle

    def stop(self) -> None:
        for task in self._looking.values():
            task.cancel()
        if self._handle is not None:
            self._cache.release(self._handle)

    def served(self, gvk: GroupVersionKind) -> None:
        """A watched kind came to be served: its schema was not known when rules were compiled."""
        self._look(gvk.group)

    def _hear(self, event: Event) -> None:
        if event.type not in (EventType.ADDED, EventType.MODIFIED, EventType.DELETED) or event.initial:
            return
        record = event.record
        assert record is not None
        _, _, group = record.key.name.partition(".")  # a CRD's name is <plural>.<group>
        if group == GROUP or any(True for _ in self._rules.naming(group)):
            self._look(group)

    def _look(self, group: str) -> None:
        before = self._looking.get(group)
        if before is not None:
            before.cancel()  # not still yet
        task = self._spawn(self._looks(group), f"kinds of {group}")
        self._looking[group] = task
        task.add_done_callback(lambda done: self._over(group, done))

    def _over(self, group: str, task: asyncio.Task[None]) -> None:
        if self._looking.get(group) is task:
            del self._looking[group]

    async def _looks(self, group: str) -> None:
        for delay in self._delays:
            await asyncio.sleep(delay)
            try:
                await self._refresh(group)
            except APIError as error:
                logger.warning("a group could not be looked at", extra={"group": group, "error": error})

    async def _refresh(self, group: str) -> None:
        kinds = tuple(self._rules.kinds_of(group))
        before = [(self._discovery.known(gvk), self._schemas.known(gvk)) for gvk in kinds]
        await self._discovery.refresh(group)
        self._schemas.invalidate(group)
        for gvk in RULE_KINDS if group == GROUP else kinds:
            self._cache.recheck(gvk)
        moved = False
        for gvk, (resource, schema) in zip(kinds, before, strict=True):
            now = self._discovery.known(gvk)
            if now != resource or (now is not None and await self._schemas.schema(gvk) != schema):
                self._memory.forget_kind(gvk.group_kind)
                moved = True
        if moved:
            self._rules.compile_anew(self._rules.naming(group))
