"""The engine: its order of starting, what a start costs, and that a stop leaves nothing."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rulesengine.client import Client, Response, Streaming
from rulesengine.core import json
from rulesengine.runtime import Engine, NoOwnerKey, Settings

KEY = base64.b64encode(b"k" * 32).decode()


def entry(plural: str, kind: str, group: str, version: str, scope: str = "Cluster") -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "scope": scope,
        "verbs": ["list", "watch"],
    }


def group(name: str, version: str, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "versions": [{"version": version, "resources": list(entries)}]}


def rule(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "rulesengine.dev/v1alpha1",
        "kind": "ClusterRule",
        "metadata": {"name": "r", "uid": "u", "resourceVersion": "7", "generation": 1},
        "spec": {"mode": "Suspended"},
        "status": status,
    }


class FakeTransport:
    """A server with no objects but rules and perhaps the key; watches stay open until closed."""

    server = "fake"

    def __init__(self, *, key: bool = True, rules: tuple[dict[str, Any], ...] = ()) -> None:
        self.key = key
        self.rules = rules
        self.asked: list[str] = []
        self.open = 0
        self.hang = False

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        self.asked.append(f"{method} {path.partition('?')[0]}")
        if self.hang:
            await asyncio.Event().wait()
        return Response(*self._answer(method, path.partition("?")[0]))

    def _answer(self, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        if path in ("/api", "/apis"):
            mine = entry("clusterrules", "ClusterRule", "rulesengine.dev", "v1alpha1")
            space = entry("rules", "Rule", "rulesengine.dev", "v1alpha1", "Namespaced")
            crd = entry("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io", "v1")
            groups = [
                group("rulesengine.dev", "v1alpha1", mine, space),
                group("apiextensions.k8s.io", "v1", crd),
            ]
            items = groups if path == "/apis" else [group("", "v1")]
            return 200, {}, json.encode({"kind": "APIGroupDiscoveryList", "items": items})
        if "/secrets" in path and (self.key or method == "POST"):
            self.key = True
            return 200, {}, json.encode({"data": {"key": KEY}})
        return 404, {}, json.encode({"kind": "Status", "reason": "NotFound", "code": 404})

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AsyncIterator[Streaming]:
        self.asked.append(f"WATCH {path.partition('?')[0]}")
        self.open += 1
        try:
            yield Streaming(200, {}, self._lines(path))
        finally:
            self.open -= 1

    async def _lines(self, path: str) -> AsyncIterator[bytes]:
        if "/clusterrules" in path:
            for body in self.rules:
                yield json.encode({"type": "ADDED", "object": body})
        annotations = {"k8s.io/initial-events-end": "true"}
        meta = {"resourceVersion": "9", "annotations": annotations}
        yield json.encode({"type": "BOOKMARK", "object": {"metadata": meta}})
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


def engine(transport: FakeTransport, **settings: Any) -> Engine:
    return Engine(Client(transport), Settings(**settings))


async def test_a_start_asks_for_what_it_needs_and_a_stop_leaves_nothing() -> None:
    """Discovery before the key, both before any rule; afterwards no watch and no task is left."""
    transport = FakeTransport()
    running = engine(transport)
    before = asyncio.all_tasks()
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(running.started.wait(), 5)
    assert transport.asked[:2] == ["GET /api", "GET /apis"]
    assert sorted(transport.asked[2:]) == [
        "GET /api/v1/namespaces/rulesengine-system/secrets/rulesengine-owner-key",
        "WATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "WATCH /apis/rulesengine.dev/v1alpha1/clusterrules",
        "WATCH /apis/rulesengine.dev/v1alpha1/rules",
    ]
    running.stop()
    await asyncio.wait_for(task, 5)
    assert transport.open == 0
    assert asyncio.all_tasks() == before


async def test_a_lost_key_ends_the_engine_with_one_message() -> None:
    """Rules have written with it: nothing is made anew in silence, and nothing is left running."""
    transport = FakeTransport(key=False, rules=(rule(writtenKinds=[{"group": "", "kind": "ConfigMap"}]),))
    before = asyncio.all_tasks()
    with pytest.raises(NoOwnerKey, match="Restore the Secret"):
        await asyncio.wait_for(engine(transport).run(), 5)
    assert transport.open == 0
    assert asyncio.all_tasks() == before


async def test_without_rules_that_wrote_a_key_is_made() -> None:
    """The first start in a cluster."""
    transport = FakeTransport(key=False)
    running = engine(transport)
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(running.started.wait(), 5)
    assert "POST /api/v1/namespaces/rulesengine-system/secrets" in transport.asked
    running.stop()
    await task


async def test_a_stop_while_starting_ends_the_start() -> None:
    """A server that does not answer keeps no engine alive."""
    transport = FakeTransport()
    transport.hang = True
    running = engine(transport)
    task = asyncio.create_task(running.run())
    await asyncio.sleep(0)
    running.stop()
    await asyncio.wait_for(task, 5)
    assert not running.started.is_set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signals_stop_it(number: signal.Signals) -> None:
    """And are nobody's business any more afterwards."""
    running = engine(FakeTransport())
    task = asyncio.create_task(running.run(signals=True))
    await asyncio.wait_for(running.started.wait(), 5)
    os.kill(os.getpid(), number)
    await asyncio.wait_for(task, 5)
    assert not asyncio.get_running_loop().remove_signal_handler(number)


async def test_a_second_request_to_stop_cuts_the_drain_short() -> None:
    """A pass that hangs may take its time only as long as nobody insists."""
    running = engine(FakeTransport(), drain=600.0)
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(running.started.wait(), 5)
    hanging = asyncio.Event()

    async def hang(request: object) -> None:
        hanging.set()
        await asyncio.Event().wait()

    running.workers._run = hang  # type: ignore[assignment]
    from tests.unit.runtime.fakes import item

    running.queue.add(item())
    await asyncio.wait_for(hanging.wait(), 5)
    running.stop()
    await asyncio.sleep(0)
    assert not task.done()
    running.stop()
    await asyncio.wait_for(task, 5)
