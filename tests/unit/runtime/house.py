"""A rule controller in a house of fakes: rules are put into the cache, writes are kept in order."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from rulesengine.cache import Interest
from rulesengine.client import APIError, NotFound
from rulesengine.compiler.rule import CompiledRule, Mode, OnRuleDeletion
from rulesengine.core import json
from rulesengine.core.errors import FindingsError
from rulesengine.core.findings import Finding
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.settings import Settings
from rulesengine.runtime import rule_object
from rulesengine.runtime.controller import Around
from rulesengine.runtime.queue import Queue
from rulesengine.runtime.rules import Rules, Tools
from rulesengine.runtime.status import Statuses
from tests.unit.runtime.fakes import (
    CONFIG_MAP,
    KEY,
    NAMESPACE,
    OWNERSHIP,
    SECRET,
    WIDGET,
    FakeCache,
    FakeClock,
    FakeKinds,
    child,
    make_rule,
)

KINDS = {"ConfigMap": CONFIG_MAP, "Secret": SECRET}


def rule_body(name: str = "r", kind: str = "ClusterRule", **more: Any) -> dict[str, Any]:
    """A rule whose spec says what FakeCompiling makes of it: kinds, mode, bad."""
    meta = {"name": name, "generation": 1, "uid": f"uid-{name}", **more.pop("metadata", {})}
    spec = {"for": {"apiVersion": "example.com/v1", "kind": "Widget"}, "kinds": ["ConfigMap"], **more}
    status = spec.pop("status", None)
    body = {"apiVersion": "rulesengine.dev/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}
    return body | ({"status": status} if status is not None else {})


class FakeCompiling:
    def __init__(self) -> None:
        self.count = 0
        self.error: APIError | None = None

    async def compile(self, body: dict[str, Any]) -> CompiledRule:
        self.count += 1
        if self.error is not None:
            raise self.error
        spec, meta = body["spec"], body["metadata"]
        if spec.get("bad"):
            raise FindingsError([Finding("RE201", "no such name", "spec.resources[0]")])
        return make_rule(
            *(child(KINDS[kind]) for kind in spec["kinds"]),
            key=RuleKey(body["kind"], meta.get("namespace", ""), meta["name"]),
            uid=meta["uid"],
            generation=meta["generation"],
            mode=Mode(spec.get("mode", "Enforce")),
            on_rule_deletion=OnRuleDeletion.DELETE,
            digest=json.digest(spec),
            metadata={"name": meta["name"], "labels": meta.get("labels", {})},
        )

    async def compile_for_cleanup(self, body: dict[str, Any], key: RuleKey) -> CompiledRule:
        try:
            return await self.compile(body)
        except (FindingsError, ValueError):
            return make_rule(key=key, resources=())


class FakeClient:
    """Writes to rules end up in the cache's store, as the server would have them, and in `writes`."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.writes: list[tuple[str, dict[str, Any]]] = []
        self.refuse: APIError | None = None
        self.terminating: set[str] = set()

    async def patch(
        self, resource: ResourceType, namespace: str, name: str, body: Any, *, field_manager: str
    ) -> bytes:
        return await self._write("patch", resource, namespace, name, {"metadata": body["metadata"]})

    async def apply(
        self, resource: ResourceType, namespace: str, name: str, body: Any, **options: Any
    ) -> bytes:
        assert options["subresource"] == "status"
        return await self._write("status", resource, namespace, name, {"status": body["status"]})

    async def get(self, resource: ResourceType, namespace: str, name: str) -> bytes:
        if name not in self.terminating:
            return json.encode({"metadata": {"name": name}})
        return json.encode({"metadata": {"name": name, "deletionTimestamp": "2026-01-05T08:00:00Z"}})

    async def _write(
        self, verb: str, resource: ResourceType, namespace: str, name: str, change: dict[str, Any]
    ) -> bytes:
        await asyncio.sleep(0)
        if self.refuse is not None:
            raise self.refuse
        body = self.house.body(RuleKey(resource.gvk.kind, namespace, name))
        if body is None:
            raise NotFound(404, "NotFound")
        self.writes.append((verb, change))
        if "status" in change:
            body["status"] = change["status"]
        else:
            body["metadata"]["finalizers"] = change["metadata"]["finalizers"]
        if body["metadata"].get("deletionTimestamp") and not body["metadata"].get("finalizers"):
            self.house.cache.remove(resource.gvk, namespace, name)
        else:
            self.house.cache.set(body, own=True)
        return json.encode(body)

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.writes]


class House:
    """Everything around a rule controller. `settle` lets it come to rest."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cache = FakeCache(self.clock)
        for gvk in (WIDGET, CONFIG_MAP, SECRET, NAMESPACE):
            self.cache.acquire(Interest(gvk, "source"))
        self.queue = Queue(self.clock)
        self.client = FakeClient(self)
        self.compiling = FakeCompiling()
        self.gone: list[RuleKey] = []
        self.retried = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.rules = Rules(
            Tools(
                client=self.client,  # type: ignore[arg-type]
                cache=self.cache,  # type: ignore[arg-type]
                resources=FakeKinds(),
                clock=self.clock,
                queue=self.queue,
                compiling=self.compiling,  # type: ignore[arg-type]
                spawn=self._spawn,
                gone=self.gone.append,
                retry=self._retry,
            )
        )
        self.statuses = Statuses(
            self.client,  # type: ignore[arg-type]
            self.clock,
            Settings(),
            self.rules.controllers,
            live=self.rules.record,
            resource=lambda key: FakeKinds().known(rule_object.kind_of(key)),
            enter=lambda _resource, _raw: None,  # the fake client has put it into the cache
        )

    def _retry(self) -> None:
        self.retried += 1

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def start(self) -> None:
        self.rules.follow()
        self.follow = True
        around = Around(
            cache=self.cache,  # type: ignore[arg-type]
            kinds=FakeKinds(),
            queue=self.queue,
            clock=self.clock,
            ownership=OWNERSHIP,
            namespace="rulesengine-system",
            changed=self.statuses.mark,
            served=lambda _key, _gvk: None,
            finished=self.rules.look,
            fill=self.rules.fill,
        )
        self.rules.start(around, self.statuses)
        self.statuses.start()

    async def stop(self) -> None:
        await self.statuses.stop(0)
        await self.rules.stop(0)
        self.queue.close()

    async def settle(self, seconds: float = 0.0) -> None:
        """Lets everything come to rest, moves the clock, and again."""
        for step in (0.0, seconds):
            self.clock.advance(step)
            self.rules.wake()
            self.statuses.wake()
            for _ in range(200):
                await asyncio.sleep(0)
        assert self.rules.idle

    def put(self, body: dict[str, Any]) -> None:
        self.cache.set(body)

    def edit(self, name: str = "r", **spec: Any) -> None:
        """A user changes the spec: another generation."""
        body = self.body(RuleKey("ClusterRule", "", name))
        assert body is not None
        body["spec"] |= spec
        body["metadata"]["generation"] += 1
        self.put(body)

    def delete(self, key: RuleKey = KEY) -> None:
        body = self.body(key)
        assert body is not None
        if not body["metadata"].get("finalizers"):
            self.cache.remove(rule_object.kind_of(key), key.namespace, key.name)
            return
        body["metadata"]["deletionTimestamp"] = "2026-01-05T08:00:00Z"
        body["metadata"]["generation"] += 1
        self.put(body)

    def body(self, key: RuleKey = KEY) -> dict[str, Any] | None:
        store = self.cache.stores.get((rule_object.kind_of(key), ""))
        record = store.get(key.namespace, key.name) if store is not None else None
        return record.object() if record is not None else None

    def status(self, key: RuleKey = KEY) -> dict[str, Any]:
        body = self.body(key)
        assert body is not None
        return body.get("status", {})

    def condition(self, kind: str) -> dict[str, Any]:
        return next(c for c in self.status()["conditions"] if c["type"] == kind)

    def watched(self) -> set[GroupVersionKind]:
        """What rules' controllers hold."""
        return {h.gvk for c in self.rules.controllers.values() for h in c.view.handles}
