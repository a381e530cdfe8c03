"""A server in memory for reflectors, and time that a test moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rulesengine.cache import Cache, Event, EventType, Handle, Interest, Record, Settings
from rulesengine.client import Client, Response, Retries, Streaming, Unreachable
from rulesengine.core.kinds import GroupVersionKind, ResourceType

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
WIDGET = GroupVersionKind("example.com", "v1", "Widget")
VERBS = frozenset({"get", "list", "watch", "patch", "delete"})
CONFIG_MAPS = ResourceType(CONFIG_MAP, "configmaps", namespaced=True, verbs=VERBS)
WIDGETS = ResourceType(WIDGET, "widgets", namespaced=True, verbs=VERBS)

OWNER = "rulesengine.dev/owner"


def config_map(
    name: str, version: int, *, namespace: str = "ns", uid: str = "", **more: Any
) -> dict[str, Any]:
    """A ConfigMap; `metadata` in `more` is merged, the rest set."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-05T08:00:00Z",
        **more.pop("metadata", {}),
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def claimed(rule: str = "r", source: str = "s", namespace: str = "ns") -> dict[str, Any]:
    """Metadata with a claim of ClusterRule `rule` and a ConfigMap source."""
    claim = {
        "rule": ["ClusterRule", "", rule, "rule-uid"],
        "source": ["", "ConfigMap", namespace, source, "source-uid"],
    }
    return {"annotations": {OWNER: json.dumps(claim)}}


def line(kind: str, about: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": about}).encode()


def bookmark(version: int, *, end: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return line("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})


def too_old() -> bytes:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    return line("ERROR", status)


@dataclass
class Watch:
    """One watch that the server has open. A test sends lines and ends it."""

    path: str
    query: dict[str, str]
    idle: float
    lines: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)
    closed: bool = False

    def send(self, *lines: bytes) -> None:
        for each in lines:
            self.lines.put_nowait(each)

    def end(self, error: Exception | None = None) -> None:
        self.lines.put_nowait(error)

    async def read(self) -> AsyncIterator[bytes]:
        while (each := await self.lines.get()) is not None:
            if isinstance(each, Exception):
                raise each
            yield each


@dataclass
class Server:
    """`refusals` are given to the next requests in order; watches beyond them are opened."""

    server: str = "https://fake"
    watches: list[Watch] = field(default_factory=list)
    refusals: list[Response | Exception] = field(default_factory=list)
    pages: list[Any] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        parts = urlsplit(path)
        self.asked.append((f"{method} {parts.path}", _flat(parts.query)))
        answer = self.pages.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Response):
            return answer
        return Response(200, {}, json.dumps(answer).encode())

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AsyncIterator[Streaming]:
        parts = urlsplit(path)
        query = _flat(parts.query)
        self.asked.append((f"WATCH {parts.path}", query))
        if self.refusals:
            refusal = self.refusals.pop(0)
            if isinstance(refusal, Exception):
                raise refusal

            async def body() -> AsyncIterator[bytes]:
                yield refusal.body

            yield Streaming(refusal.status, refusal.headers, body())
            return
        watch = Watch(parts.path, query, idle)
        self.watches.append(watch)
        try:
            yield Streaming(200, {}, watch.read())
        finally:
            watch.closed = True

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def watch(self) -> Watch:
        """The watch opened last."""
        return self.watches[-1]


def _flat(query: str) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(query, keep_blank_values=True).items()}


def refusal(status: int, reason: str = "", **headers: str) -> Response:
    said = {"kind": "Status", "code": status, "reason": reason, "message": "no"}
    return Response(status, headers, json.dumps(said).encode())


def down() -> Unreachable:
    return Unreachable("cannot connect", sent=False)


@dataclass
class Time:
    """A clock that stands still, and pauses that last until the test lets them go."""

    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    gates: list[asyncio.Event] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime.fromtimestamp(1_767_600_000 + self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def pause(self, wake: asyncio.Event, seconds: float) -> None:
        self.waits.append(seconds)
        self.gates.append(wake)
        await wake.wait()
        self.seconds += seconds

    def go(self) -> None:
        """Ends the pauses that go on."""
        for gate in self.gates:
            gate.set()
        self.gates.clear()


@dataclass
class Resources:
    """Discovery as a dict."""

    served: dict[GroupVersionKind, ResourceType] = field(
        default_factory=lambda: {CONFIG_MAP: CONFIG_MAPS, WIDGET: WIDGETS}
    )
    asked: int = 0
    forgotten: list[GroupVersionKind] = field(default_factory=list)
    error: Exception | None = None

    async def resource(self, gvk: GroupVersionKind) -> ResourceType | None:
        self.asked += 1
        if self.error:
            raise self.error
        return self.served.get(gvk)

    def forget(self, gvk: GroupVersionKind) -> None:
        self.forgotten.append(gvk)


SETTINGS = Settings(grace=0.0)


class Bench:
    """A cache before a server, and everything it told. `random` always gives a half."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.server = Server()
        self.time = Time()
        self.resources = Resources()
        client = Client(self.server, retries=Retries(attempts=1))
        self.cache = Cache(
            client, self.resources, self.time, settings=settings, random=lambda: 0.5, pause=self.time.pause
        )
        self.events: list[Event] = []
        self.cache.subscribe(self.events.append)

    async def follow(self, *objects: dict[str, Any], version: int = 100, **interest: Any) -> Handle:
        """Acquires ConfigMaps and lets the first watch tell what there is."""
        handle = self.cache.acquire(Interest(**{"gvk": CONFIG_MAP, **interest}))
        await settle()
        self.server.watch.send(*(line("ADDED", o) for o in objects), bookmark(version, end=True))
        await settle()
        assert handle.synced
        self.events.clear()
        return handle

    async def send(self, *lines: bytes) -> None:
        self.server.watch.send(*lines)
        await settle()

    @property
    def told(self) -> list[tuple[str, str]]:
        """Type and name of the events so far."""
        return [(e.type.value, e.record.key.name if e.record else "") for e in self.events]

    def of(self, kind: EventType) -> list[Event]:
        return [e for e in self.events if e.type is kind]


async def settle() -> None:
    """Lets every task run until all of them wait for something."""
    for _ in range(30):
        await asyncio.sleep(0)


def names(records: Any) -> list[str]:
    return sorted(record.key.name for record in records)


def data_of(record: Record | None) -> Any:
    assert record is not None
    return record.object().get("data")


def watch_tasks() -> list[str]:
    """The names of the tasks that follow kinds."""
    return sorted(t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("watch "))
