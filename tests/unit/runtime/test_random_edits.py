"""Random edits, faults and restarts: afterwards the cluster is as the rules say, and nothing else.

Sources are ConfigMaps of a user, children Secrets and ConfigMaps of two rules whose entries,
kinds, names, conditions and selectors change; users edit and delete children; engines stop, die
and start; requests are refused, cut and lost, watches end. What ought to be there is worked out
by a few lines that know nothing of the engine.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from rulesengine import api, embedded
from rulesengine.client import APIError, Client, Discovery, NotFound, Response, Streaming, Unreachable
from rulesengine.core import json
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.runtime import Engine, Settings

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
SECRET = GroupVersionKind("", "v1", "Secret")
RULE = GroupVersionKind("rulesengine.dev", "v1alpha1", "ClusterRule")
KINDS = {"ConfigMap": CONFIG_MAP, "Secret": SECRET}
SPACES = ("one", "two")
Children = dict[tuple[str, str, str], str]  # kind, namespace, name → value


@dataclass(frozen=True)
class Entry:
    """Makes `<source>-<suffix>` of this kind where the source's size is above `least`, after `needs`."""

    name: str
    kind: str
    suffix: str
    least: int
    needs: str = ""

    def body(self) -> dict[str, Any]:
        meta: dict[str, Any] = {"name": "${object.metadata.name}-" + self.suffix}
        if self.needs:
            meta["labels"] = {"after": "${resources." + self.needs + ".metadata.name}"}
        where = "stringData" if self.kind == "Secret" else "data"
        template = {"apiVersion": "v1", "kind": self.kind, "metadata": meta}
        template[where] = {"size": "${object.data.size}"}
        return {
            "name": self.name,
            "includeWhen": [f"int(object.data.size) > {self.least}"],
            "template": template,
        }


@dataclass(frozen=True)
class Rule:
    selected: str  # "" selects every source
    entries: tuple[Entry, ...]

    def body(self, name: str) -> dict[str, Any]:
        labels = {"source": "yes"} | ({"on": self.selected} if self.selected else {})
        source = {"apiVersion": "v1", "kind": "ConfigMap", "selector": {"matchLabels": labels}}
        spec = {"for": source, "resources": [entry.body() for entry in self.entries]}
        api_version = RULE.api_version
        return {"apiVersion": api_version, "kind": RULE.kind, "metadata": {"name": name}, "spec": spec}

    def children(self, sources: Mapping[tuple[str, str], tuple[int, str]]) -> Children:
        found: Children = {}
        for (space, name), (size, on) in sources.items():
            made: set[str] = set()
            for entry in self.entries if self.selected in ("", on) else ():
                if size > entry.least and (not entry.needs or entry.needs in made):
                    made.add(entry.name)
                    found[entry.kind, space, f"{name}-{entry.suffix}"] = str(size)
        return found


class Unsteady:
    """A transport on which a request in twelve fails, before or after it was carried out."""

    server = "unsteady"

    def __init__(self, inner: Any, chance: random.Random) -> None:
        self._inner = inner
        self._chance = chance

    async def request(self, method: str, path: str, headers: Any, body: Any, seconds: float) -> Response:
        luck = self._chance.random()
        if luck < 0.03:
            raise Unreachable("refused", sent=False)
        if luck < 0.06:
            status = self._chance.choice([429, 500, 503, 504])
            return Response(status, {}, json.encode({"kind": "Status", "code": status}))
        answer: Response = await self._inner.request(method, path, headers, body, seconds)
        if luck > 0.97:
            raise Unreachable("cut", sent=True)
        if luck > 0.9:
            await asyncio.sleep(self._chance.random() * 0.02)
        return answer

    @asynccontextmanager
    async def stream(self, *request: Any) -> AsyncIterator[Streaming]:
        async with self._inner.stream(*request) as answer:
            yield Streaming(answer.status, answer.headers, self._cut(answer.lines))

    async def _cut(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        left = self._chance.randint(1, 30)
        async for line in lines:
            yield line
            left -= 1
            if left == 0:
                raise Unreachable("the watch was cut")

    async def close(self) -> None:
        pass


class Play:
    """The cluster, what its users want, and an engine that may or may not be there."""

    def __init__(self, seed: int, *, faults: bool) -> None:
        self.chance = random.Random(seed)
        transport = embedded.Server().transport()
        self.user = Client(transport)
        inner = Unsteady(transport, random.Random(seed + 1)) if faults else transport
        self.machine = Client(inner)
        self.discovery = Discovery(self.user)
        self.rules: dict[str, Rule] = {}
        self.leaving: set[str] = set()
        self.sources: dict[tuple[str, str], tuple[int, str]] = {}
        self.engine: Engine | None = None
        self.running: asyncio.Task[None] | None = None

    # --- the cluster ---

    async def apply(self, body: dict[str, Any]) -> None:
        resource = await self.discovery.resource(GroupVersionKind.parse(body["apiVersion"], body["kind"]))
        assert resource is not None
        meta = body["metadata"]
        space = meta.get("namespace", "")
        await self.user.apply(resource, space, meta["name"], body, field_manager="user", force=True)

    async def remove(self, gvk: GroupVersionKind, space: str, name: str) -> None:
        resource = await self.discovery.resource(gvk)
        assert resource is not None
        with contextlib.suppress(NotFound):
            await self.user.delete(resource, space, name)

    async def listed(self, gvk: GroupVersionKind, selector: str = "") -> list[dict[str, Any]]:
        resource = await self.discovery.resource(gvk)
        assert resource is not None
        found: list[dict[str, Any]] = json.decode(
            await self.user.list(resource, "", label_selector=selector)
        )["items"]
        return found

    async def children(self) -> Children:
        found: Children = {}
        for kind, gvk in KINDS.items():
            for item in await self.listed(gvk, "rulesengine.dev/rule"):
                value, meta = item["data"]["size"], item["metadata"]
                text = base64.b64decode(value).decode() if kind == "Secret" else value
                found[kind, meta["namespace"], meta["name"]] = text
        return found

    # --- the engine ---

    def start(self) -> None:
        if self.running is None:
            self.running = asyncio.create_task(self._keep_running())

    async def _keep_running(self) -> None:
        """As a Deployment does it: an engine that cannot start is started again."""
        while True:
            self.engine = Engine(self.machine, Settings(status_interval=0.2, status_delay=0.02))
            with contextlib.suppress(APIError):
                await self.engine.run()
                return

    async def stop(self, *, kill: bool) -> None:
        if self.running is None:
            return
        if self.engine is not None and not kill:
            self.engine.stop()
        elif self.engine is not None:
            for task in (*self.engine.workers._tasks, *self.engine.rules._workers._tasks):
                task.cancel()
            self.running.cancel()
        else:
            self.running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.running
        self.engine = self.running = None

    # --- edits ---

    async def edit(self) -> None:
        space, name = self.chance.choice(SPACES), f"w{self.chance.randint(0, 3)}"
        edits = [self._source] * 5 + [self._no_source] * 2 + [self._child] * 4
        await self.chance.choice([*edits, self._rule, self._rule, self._no_rule, self._engine])(space, name)

    async def _source(self, space: str, name: str) -> None:
        size, on = self.chance.randint(0, 9), self.chance.choice(["yes", "no"])
        self.sources[space, name] = (size, on)
        meta = {"name": name, "namespace": space, "labels": {"source": "yes", "on": on}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"size": str(size)}}
        await self.apply(body)

    async def _no_source(self, space: str, name: str) -> None:
        self.sources.pop((space, name), None)
        await self.remove(CONFIG_MAP, space, name)

    async def _child(self, space: str, name: str) -> None:
        found = await self.children()
        if not found:
            return
        kind, space, name = self.chance.choice(sorted(found))
        if self.chance.random() < 0.5:
            await self.remove(KINDS[kind], space, name)
            return
        resource = await self.discovery.resource(KINDS[kind])
        assert resource is not None
        change = {"data" if kind == "ConfigMap" else "stringData": {"size": "99"}}
        with contextlib.suppress(NotFound):
            await self.user.patch(resource, space, name, change, field_manager="user")

    async def _rule(self, space: str, name: str) -> None:
        rule = self.chance.choice(["r", "s"])
        if rule in self.leaving:
            return
        entries = [
            Entry(
                f"e{n}",
                self.chance.choice(list(KINDS)),
                f"{rule}{self.chance.choice('abcd')}{n}",
                self.chance.choice([-1, -1, 2, 5]),
                "e0" if n == 2 else "",
            )
            for n in range(self.chance.randint(1, 3))
        ]
        self.rules[rule] = Rule(self.chance.choice(["", "yes"]), tuple(entries))
        await self.apply(self.rules[rule].body(rule))

    async def _no_rule(self, space: str, name: str) -> None:
        rule = self.chance.choice(["r", "s"])
        if self.rules.pop(rule, None) is not None:
            self.leaving.add(rule)
            await self.remove(RULE, "", rule)

    async def _engine(self, space: str, name: str) -> None:
        if self.running is None:
            self.start()
        else:
            await self.stop(kill=self.chance.random() < 0.5)

    # --- the end ---

    def wanted(self) -> Children:
        found: Children = {}
        for rule in self.rules.values():
            found |= rule.children(self.sources)
        return found

    async def settle(self, seconds: float) -> None:
        """Until the cluster is as the rules say; fails with what is different after so long."""
        self.start()
        wanted = self.wanted()
        for _ in range(int(seconds / 0.02)):
            present = await self.children()
            rules = {item["metadata"]["name"] for item in await self.listed(RULE)}
            if present == wanted and rules == set(self.rules):
                self.leaving.clear()
                return
            await asyncio.sleep(0.02)
        assert present == wanted
        assert rules == set(self.rules)


@pytest.mark.parametrize(("seed", "faults"), [(1, False), (2, False), (3, True), (4, True)])
async def test_after_any_edits_the_cluster_is_as_the_rules_say(seed: int, faults: bool) -> None:
    """Nothing missing, nothing left over, and the sources are untouched."""
    play = Play(seed, faults=faults)
    before = asyncio.all_tasks()
    for crd in api.crds():
        await play.apply(crd)
    for space in SPACES:
        await play.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    play.start()
    for _ in range(25):
        for _ in range(play.chance.randint(1, 6)):
            await play.edit()
            await asyncio.sleep(play.chance.random() * 0.01)
        await play.settle(40.0)
    sources = {
        (s["metadata"]["namespace"], s["metadata"]["name"]) for s in await play.listed(CONFIG_MAP, "source")
    }
    assert sources == set(play.sources)
    await play.stop(kill=False)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
