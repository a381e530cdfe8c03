"""The engine on the embedded API server: the main job in milliseconds, without sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rulesengine import api, embedded, runtime
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.testing import Cluster, in_process

Object = dict[str, Any]
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
RULE = GroupVersionKind("rulesengine.dev", "v1alpha1", "ClusterRule")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
SETTINGS = runtime.Settings(status_delay=0.0, status_interval=0.0)


def entry(name: str, data: str, **more: Any) -> Object:
    template = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "${object.metadata.name}"},
        "data": {"k": data},
    }
    return {"name": name, "template": template, **more}


def rule(*resources: Object, **spec: Any) -> Object:
    source = {"apiVersion": "v1", "kind": "Namespace", "selector": {"matchLabels": {"on": "yes"}}}
    return {
        "apiVersion": "rulesengine.dev/v1alpha1",
        "kind": "ClusterRule",
        "metadata": {"name": spec.pop("name", "r")},
        "spec": {"for": source, "resources": list(resources), **spec},
    }


def space(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


async def until(holds: Callable[[], Awaitable[object]], seconds: float = 10.0) -> Any:
    """Waits until `holds` answers something true."""
    end = time.monotonic() + seconds
    while not (found := await holds()):
        assert time.monotonic() < end, "not in time"
        await asyncio.sleep(0.005)
    return found


@asynccontextmanager
async def engine(cluster: Cluster) -> AsyncIterator[runtime.Engine]:
    running = runtime.Engine(cluster.connection, SETTINGS)
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(running.started.wait(), 10)
    try:
        yield running
    finally:
        running.stop()
        await asyncio.wait_for(task, 40)


@pytest.fixture
def server() -> embedded.Server:
    return embedded.Server()


@pytest.fixture
async def cluster(server: embedded.Server) -> AsyncIterator[Cluster]:
    async with in_process(server) as found:
        yield found


def data(cluster: Cluster, where: str, name: str) -> Callable[[], Awaitable[Any]]:
    async def read() -> Any:
        found = await cluster.get(CONFIG_MAP, where, name)
        return found and found["data"]

    return read


def holds(cluster: Cluster, where: str, name: str, value: Object | None) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return await data(cluster, where, name)() == value

    return check


async def status(cluster: Cluster) -> Object:
    return ((await cluster.get(RULE, "", "r")) or {}).get("status", {})


async def test_children_follow_source_and_rule(cluster: Cluster) -> None:
    """Created, repaired, changed, moved with the rule, and gone with it."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "1"), entry("y", "1")))
    async with engine(cluster):
        await until(holds(cluster, "a", "x", {"k": "1"}))
        await cluster.patch(CONFIG_MAP, "a", "x", {"data": {"k": "by hand", "theirs": "kept"}})
        await until(holds(cluster, "a", "x", {"k": "1", "theirs": "kept"}))
        await cluster.delete(CONFIG_MAP, "a", "y")
        await until(data(cluster, "a", "y"))
        await cluster.apply(rule(entry("x", "2"), entry("z", "1")))
        await until(holds(cluster, "a", "x", {"k": "2", "theirs": "kept"}))
        await until(holds(cluster, "a", "y", None))
        await cluster.apply(space("b", on="yes"))
        await until(data(cluster, "b", "z"))
        await cluster.patch(NAMESPACE, "", "b", {"metadata": {"labels": {"on": "no"}}})
        await until(holds(cluster, "b", "z", None))
        await cluster.delete(RULE, "", "r")
        await until(holds(cluster, "a", "x", None))

        async def gone() -> bool:
            return await cluster.get(RULE, "", "r") is None

        await until(gone)


async def test_a_restart_writes_nothing(cluster: Cluster, server: embedded.Server) -> None:
    """The second engine finds everything as it shall be: no object's version moves."""
    for name in "abc":
        await cluster.apply(space(name, on="yes"))
    await cluster.apply(rule(entry("x", "1"), entry("y", "${resources.x.metadata.uid}")))
    async with engine(cluster):
        await until(data(cluster, "c", "y"))

        async def settled() -> bool:
            return (await status(cluster)).get("converged") == 3

        await until(settled)
    before = server.store.revision
    async with engine(cluster) as second:

        async def idle() -> bool:
            return second.idle

        await until(idle)
    assert server.store.revision == before


async def test_what_cannot_be_evaluated_harms_nothing_else(cluster: Cluster) -> None:
    """An entry that fails is reported, its sibling is made, nothing is removed meanwhile."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "1"), entry("y", "1")))
    async with engine(cluster):
        await until(data(cluster, "a", "y"))
        await cluster.apply(rule(entry("x", "2"), entry("bad", "${object.metadata.annotations.nope}")))
        await until(holds(cluster, "a", "x", {"k": "2"}))

        async def failed() -> bool:
            found = await status(cluster)
            return found.get("failed") == 1 and found["failures"][0]["resource"] == "bad"

        await until(failed)
        assert await data(cluster, "a", "y")() == {"k": "1"}


async def test_a_rule_that_does_not_compile_freezes_what_it_made(cluster: Cluster) -> None:
    """Accepted is False with the first mistake; nothing is written or removed by a broken generation."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "1")))
    async with engine(cluster):
        await until(data(cluster, "a", "x"))
        await cluster.apply(rule(entry("y", "${objekt.metadata.name}")))

        async def rejected() -> bool:
            conditions = {c["type"]: c for c in (await status(cluster)).get("conditions", ())}
            accepted = conditions.get("Accepted", {})
            return accepted.get("status") == "False" and "objekt" in accepted["message"]

        await until(rejected)
        assert await data(cluster, "a", "x")() == {"k": "1"}
        await cluster.apply(rule(entry("y", "1")))
        await until(holds(cluster, "a", "x", None))


async def test_suspended_does_nothing_and_dry_run_only_tells(cluster: Cluster) -> None:
    """DryRun's pending changes are what diff shows and what Enforce then does."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "1"), mode="Suspended"))
    async with engine(cluster):
        await cluster.apply(rule(entry("x", "1"), entry("y", "1"), mode="DryRun"))

        async def pending() -> Any:
            found = await status(cluster)
            return found.get("pendingCreates") == 2 and found["pending"]

        told = {(p["operation"], p["object"]) for p in await until(pending)}
        assert await cluster.names(CONFIG_MAP, "a") == set()
        models, _ = api.rules_from(api.dump(rule(entry("x", "1"), entry("y", "1"))), "r.yaml")
        (forecast,) = await runtime.forecast(cluster.connection, models, SETTINGS)
        shown = {(p.operation, str(p.key)) for source in forecast.sources for p in source.previews}
        assert shown == told
        await cluster.apply(rule(entry("x", "1"), entry("y", "1"), mode="Enforce"))
        await until(data(cluster, "a", "x"))
        await until(data(cluster, "a", "y"))


async def test_a_foreign_object_is_never_taken_or_removed(cluster: Cluster) -> None:
    """An object of the wanted name that the rule did not make is reported and left as it is."""
    await cluster.apply(space("a", on="yes"))
    body = entry("x", "theirs")["template"]
    await cluster.apply(body | {"metadata": {"name": "x", "namespace": "a"}})
    await cluster.apply(rule(entry("x", "1")))
    async with engine(cluster):

        async def reported() -> bool:
            found = await status(cluster)
            return bool(found.get("failures")) and found["failures"][0]["reason"] == "NotOurs"

        await until(reported)
        await cluster.delete(RULE, "", "r")

        async def gone() -> bool:
            return await cluster.get(RULE, "", "r") is None

        await until(gone)
        assert await data(cluster, "a", "x")() == {"k": "theirs"}


async def test_hundreds_of_rules_leave_nothing_behind(cluster: Cluster) -> None:
    """Rules that come and go leave no watch and no task."""
    await cluster.apply(space("a", on="yes"))
    async with engine(cluster) as running:
        tasks = len(asyncio.all_tasks())
        watches = running.cache.watches
        for number in range(50):
            await cluster.apply(rule(entry(f"x{number}", "1"), name=f"r{number}"))
        await until(data(cluster, "a", "x49"))
        for number in range(50):
            await cluster.delete(RULE, "", f"r{number}")

        async def none() -> bool:
            return not await cluster.names(RULE) and not running.rules.controllers

        await until(none)
        assert await cluster.names(CONFIG_MAP, "a") == set()
        assert running.cache.watches <= watches + 2  # kept for a grace period, shared by all of them
        assert len(asyncio.all_tasks()) <= tasks + 4
