"""An engine that waits for its turn: warm, silent, and at work at once when it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rulesengine import embedded, runtime
from rulesengine.client import Client
from rulesengine.testing import Cluster, in_process
from tests.integration.test_engine import CONFIG_MAP, data, entry, rule, space, until

SETTINGS = runtime.Settings(status_delay=0.0, status_interval=0.0)


class Heard:
    """A connection that notes what is asked."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.server = inner.server
        self.writes: list[str] = []
        self.watches: list[str] = []

    async def request(self, method: str, path: str, *rest: Any) -> Any:
        if method != "GET":
            self.writes.append(f"{method} {path}")
        return await self._inner.request(method, path, *rest)

    @asynccontextmanager
    async def stream(self, method: str, path: str, *rest: Any) -> AsyncIterator[Any]:
        self.watches.append(path.partition("?")[0])
        async with self._inner.stream(method, path, *rest) as answer:
            yield answer

    async def close(self) -> None:
        pass


class Turn:
    """Whose turn it is: the test's to say."""

    def __init__(self) -> None:
        self.comes = asyncio.Event()
        self.lose = lambda: None

    async def lead(self, lost: Any) -> None:
        self.lose = lost
        await self.comes.wait()


@pytest.fixture
async def waiting() -> AsyncIterator[tuple[Cluster, runtime.Engine, Heard, Turn, asyncio.Task[None]]]:
    server = embedded.Server()
    async with in_process(server) as cluster:
        await cluster.apply(space("a", on="yes"))
        await cluster.apply(rule(entry("x", "1")))
        heard, turn = Heard(server.transport()), Turn()
        engine = runtime.Engine(Client(heard), SETTINGS, lead=turn.lead)
        task = asyncio.create_task(engine.run())

        async def warm() -> bool:
            return engine.warm

        await until(warm)
        yield cluster, engine, heard, turn, task
        if not task.done():
            engine.stop()
            await asyncio.wait_for(task, 20)


async def test_it_reads_all_and_writes_nothing(waiting: Any) -> None:
    """What rules need is watched already; those that come meanwhile, too."""
    cluster, engine, heard, turn, _ = waiting
    assert "/api/v1/configmaps" in heard.watches
    assert "/api/v1/namespaces" in heard.watches
    other = entry("q", "1")
    other["template"] |= {"kind": "Secret", "stringData": other["template"].pop("data")}
    await cluster.apply(rule(other, name="later"))

    async def followed() -> bool:
        return "/api/v1/secrets" in heard.watches

    await until(followed)
    assert heard.writes == []
    assert not engine.started.is_set()
    before = list(heard.watches)
    turn.comes.set()
    await until(data(cluster, "a", "x"))
    assert heard.watches == before, "nothing is read anew"


async def test_who_stops_before_its_turn_leaves_no_trace(waiting: Any) -> None:
    """No write, and the end is a complete one."""
    _, engine, heard, _, task = waiting
    engine.stop()
    await asyncio.wait_for(task, 20)
    assert heard.writes == []
    assert engine.complete


async def test_who_loses_its_turn_ends_at_once(waiting: Any) -> None:
    """With an error, and not as complete: the lease is not given back."""
    cluster, engine, heard, turn, task = waiting
    turn.comes.set()
    await until(data(cluster, "a", "x"))
    turn.lose()
    with pytest.raises(runtime.LostLease):
        await asyncio.wait_for(task, 20)
    assert not engine.complete
    count = len(heard.writes)
    await cluster.delete(CONFIG_MAP, "a", "x")
    await asyncio.sleep(0)
    assert len(heard.writes) == count
