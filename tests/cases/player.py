"""Plays a case file (rules, state, steps) on the embedded server, with the engine in the process."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rulesengine import cel, embedded, runtime
from rulesengine.client import Client, Response, Streaming
from rulesengine.core import json
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.testing import Cluster, in_process
from tests.cluster.case import difference

Object = dict[str, Any]
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SETTINGS = runtime.Settings(status_delay=0.0, status_interval=0.0)
UPKEEP = ("/events", "rulesengine.dev/", "/status?", "rulesengine-system")


class Counting:
    """A transport that counts what the engine's writes moved: created, updated, deleted."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.counts = {"created": 0, "updated": 0, "deleted": 0}

    @property
    def server(self) -> str:
        return self._inner.server

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        answer: Response = await self._inner.request(method, path, headers, body, seconds)
        if method != "GET" and answer.status < 300 and not any(part in path for part in UPKEEP):
            what = "deleted" if method == "DELETE" else "created" if answer.status == 201 else "updated"
            self.counts[what] += 1
        return answer

    def stream(self, method: str, path: str, headers: Mapping[str, str], idle: float) -> Any:
        found: Streaming = self._inner.stream(method, path, headers, idle)
        return found

    async def close(self) -> None:
        await self._inner.close()


class Clock:
    """The machine's clock, set to some time, and moved on in jumps."""

    def __init__(self, start: datetime | None) -> None:
        self._ahead = 0.0
        self._shift = start - datetime.now(UTC) if start is not None else timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._shift + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def advance(self, span: str) -> None:
        """By `2h30m` and the like."""
        self._ahead += sum(float(n) * UNITS[unit] for n, unit in re.findall(r"([0-9.]+)([smhd])", span))


@dataclass
class Play:
    """One case on one server."""

    server: embedded.Server
    cluster: Cluster
    content: Object
    clock: Clock
    kinds: set[GroupVersionKind] = field(default_factory=set)
    counting: Counting = field(init=False)
    engine: runtime.Engine | None = None
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.counting = Counting(self.server.transport())

    async def play(self) -> None:
        self._collect({key: value for key, value in self.content.items() if key != "crds"})
        for body in (*self.content.get("crds", ()), *self.content.get("state", ())):
            await self.cluster.apply(body)
        for rule in self.content["rules"]:
            await self.cluster.apply(rule)
        await self._start()
        try:
            for index, step in enumerate(self.content["steps"]):
                self.counting.counts = dict.fromkeys(self.counting.counts, 0)
                for operation in step.get("do", ()):
                    await self._do(operation)
                try:
                    await self._expect(step.get("expect", {}))
                except AssertionError as error:
                    raise AssertionError(f"step {index}: {error}") from error
            self.counting.counts = dict.fromkeys(self.counting.counts, 0)
            await self._restart()
            await self._settle()
            assert not any(self.counting.counts.values()), f"not settled: {self.counting.counts}"
        finally:
            await self._stop()

    # --- the engine ---

    async def _start(self) -> None:
        self.engine = runtime.Engine(Client(self.counting), SETTINGS, self.clock)
        self.task = asyncio.create_task(self.engine.run())
        await asyncio.wait_for(self.engine.started.wait(), 10)

    async def _stop(self) -> None:
        if self.engine is not None and self.task is not None:
            self.engine.stop()
            await asyncio.wait_for(self.task, 40)
            self.engine = None

    async def _restart(self) -> None:
        await self._stop()
        await self._start()

    async def _settle(self) -> None:
        """Until the engine was idle for some rounds of the loop in a row."""
        calm = 0
        while calm < 20:
            assert self.engine is not None
            await asyncio.sleep(0.002)
            calm = calm + 1 if self.engine.idle else 0

    # --- steps ---

    async def _do(self, operation: Object) -> None:
        (verb,) = set(operation) - {"as"}
        body = operation[verb]
        if verb == "restart":
            await self._restart()
            return
        if verb == "advance":
            assert self.engine is not None
            await self._settle()  # what came before belongs to the time before
            self.clock.advance(body)
            self.engine.wake()
            return
        gvk, space, name = _about(body)
        match verb:
            case "patch":
                change = {k: v for k, v in body.items() if k not in ("apiVersion", "kind", "metadata")}
                meta = {k: v for k, v in body["metadata"].items() if k not in ("name", "namespace")}
                await self.cluster.patch(gvk, space, name, change | ({"metadata": meta} if meta else {}))
            case "delete":
                await self.cluster.delete(gvk, space, name)
            case "create" | "apply" | "status":
                await self.cluster.apply(body)
            case other:
                raise AssertionError(f"the verb {other} is not played here")

    async def _expect(self, expect: Object) -> None:
        for body in expect.get("objects", ()):
            await self._eventually(body, _contains)
        for body in expect.get("absent", ()):
            await self._eventually(body, _is_absent)
        if "rule" in expect:
            rule = self.content["rules"][0]
            named = {k: rule[k] for k in ("apiVersion", "kind", "metadata")}
            await self._eventually({**named, **expect["rule"]}, _contains)
        await self._settle()
        found, wanted = self.counting.counts, expect.get("changes", {})
        assert {k: found[k] for k in wanted} == wanted, f"changes {found}, expected {wanted}"
        for text in expect.get("cel", ()):
            program = cel.compile(text, cel.Env({"objects": cel.types.DYN}))
            assert program.evaluate({"objects": await self._objects()}) is True, text

    async def _eventually(self, body: Object, check: Callable[[Object, Object | None], str]) -> None:
        end = time.monotonic() + 10
        while problem := check(body, await self.cluster.get(*_about(body))):
            assert time.monotonic() < end, problem
            await asyncio.sleep(0.002)

    async def _objects(self) -> list[Object]:
        found: list[Object] = []
        for gvk in sorted(self.kinds):
            resource = await self.cluster.resource(gvk)
            listed = json.decode_object(await self.cluster.connection.list(resource))
            kind = {"apiVersion": gvk.api_version, "kind": gvk.kind}
            found += [kind | item for item in listed["items"]]
        return found

    def _collect(self, value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str):
                self.kinds.add(GroupVersionKind.parse(value["apiVersion"], value["kind"]))
            for item in value.values():
                self._collect(item)
        elif isinstance(value, list):
            for item in value:
                self._collect(item)


def _about(body: Object) -> tuple[GroupVersionKind, str, str]:
    meta = body["metadata"]
    return GroupVersionKind.parse(body["apiVersion"], body["kind"]), meta.get("namespace", ""), meta["name"]


def _contains(wanted: Object, found: Object | None) -> str:
    about = f"{wanted['kind']} {wanted['metadata']['name']}"
    if found is None:
        return f"{about} is not there"
    problem = difference(wanted, found)
    return f"{about}{problem}" if problem else ""


def _is_absent(wanted: Object, found: Object | None) -> str:
    return f"{wanted['kind']} {wanted['metadata']['name']} is still there" if found is not None else ""


@asynccontextmanager
async def stage(content: Object) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """A fresh server for one case; what is yielded plays it."""
    start = content.get("clock")
    clock = Clock(datetime.fromisoformat(start) if start else None)
    server = embedded.Server(clock=clock)
    async with in_process(server) as cluster:
        yield Play(server, cluster, content, clock).play
