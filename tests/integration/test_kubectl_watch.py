"""What kubectl prints while it watches, and waits that end with a change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rulesengine import client, embedded
from rulesengine.core.kinds import GroupVersionKind
from tests.integration.kubectl_player import find_kubectl

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
PATIENCE = 20.0  # seconds for what takes milliseconds on an idle machine


class Bench:
    """A served API server, a client of it in process, and kubectl."""

    def __init__(self, serving: embedded.Serving, kubectl: list[str], home: Path) -> None:
        self.client = client.Client(serving.server.transport())
        self._kubectl = kubectl
        self._environ = {"HOME": str(home), "KUBECONFIG": str(serving.kubeconfig)}

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._kubectl, *words, env=self._environ, stdout=asyncio.subprocess.PIPE
        )

    async def make(self, name: str) -> None:
        resource = await client.Discovery(self.client).resource(CONFIG_MAP)
        assert resource is not None
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}
        await self.client.create(resource, "default", body, field_manager="test")

    async def delete(self, name: str) -> None:
        resource = await client.Discovery(self.client).resource(CONFIG_MAP)
        assert resource is not None
        await self.client.delete(resource, "default", name)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    kubectl = find_kubectl()
    if kubectl is None:
        pytest.skip("no kubectl of the recorded version")
    async with embedded.serve(kubeconfig=tmp_path / "kubeconfig") as serving:
        yield Bench(serving, kubectl, tmp_path)


async def line(process: asyncio.subprocess.Process) -> list[str]:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return (await process.stdout.readline()).decode().split()


async def test_get_watch_prints_a_row_for_each_change(bench: Bench) -> None:
    """One header, what is there, then every change as a row."""
    await bench.make("first")
    process = await bench.start("get", "configmaps", "-w")
    try:
        assert await line(process) == ["NAME", "DATA", "AGE"]
        assert (await line(process))[:2] == ["first", "1"]
        await bench.make("second")
        assert (await line(process))[:2] == ["second", "1"]
    finally:
        process.terminate()
        await process.wait()


async def test_watch_events_are_named(bench: Bench) -> None:
    """--output-watch-events shows ADDED and DELETED."""
    await bench.make("first")
    process = await bench.start("get", "configmaps", "-w", "--output-watch-events")
    try:
        assert await line(process) == ["EVENT", "NAME", "DATA", "AGE"]
        assert (await line(process))[:2] == ["ADDED", "first"]
        await bench.delete("first")
        assert (await line(process))[:2] == ["DELETED", "first"]
    finally:
        process.terminate()
        await process.wait()


async def test_waiting_for_a_deletion_ends_with_it(bench: Bench) -> None:
    """kubectl wait --for=delete returns once the object is gone."""
    await bench.make("going")
    process = await bench.start("wait", "--for=delete", "configmap/going", "--timeout=20s")
    await bench.delete("going")
    async with asyncio.timeout(PATIENCE):
        assert await process.wait() == 0
