"""A server on a clock that tests move, spoken to with plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rulesengine.core import json
from rulesengine.embedded import Server
from rulesengine.embedded.calls import Answer, Stream, call

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


@dataclass
class Clock:
    time: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass
class Said:
    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


class Api:
    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        self.server = Server(clock=self.clock, **options)

    def send(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", **headers: str
    ) -> Said:
        given = {"content-type": kind, "user-agent": "tester/1", **headers}
        content = body if isinstance(body, bytes) else json.encode(body) if body is not None else None
        made = self.server.handle(call(method, path, given, content))
        assert isinstance(made, Answer), "a stream came where an answer was expected"
        text = made.body
        value = json.decode(text) if text[:1] in (b"{", b"[") else text.decode()
        return Said(made.status, value, dict(made.headers))

    def get(self, path: str, **headers: str) -> Said:
        return self.send("GET", path, None, **headers)

    def create(self, path: str, body: Any) -> Any:
        said = self.send("POST", path, body)
        assert said.status == 201, said.body
        return said.body

    def patch(self, path: str, body: Any, kind: str = MERGE) -> Said:
        return self.send("PATCH", path, body, kind)

    def apply(self, path: str, body: Any, manager: str = "me", *, force: bool = False) -> Said:
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        return self.send("PATCH", path + query, body, APPLY)

    def delete(self, path: str, **options: Any) -> Said:
        return self.send("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **options})

    def names(self, path: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(path).body["items"]]

    def watch(self, path: str) -> Watched:
        made = self.server.handle(call("GET", path, {}, None))
        assert isinstance(made, Stream), made
        return Watched(made)


class Watched:
    """An open watch, read event by event."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    async def next(self) -> tuple[str, Any]:
        event = json.decode(await anext(aiter(self._stream.lines)))
        return event["type"], event["object"]

    async def events(self, count: int) -> list[tuple[str, str]]:
        """The next events as type and name."""
        return [
            (kind, body["metadata"].get("name", ""))
            for kind, body in [await self.next() for _ in range(count)]
        ]

    async def rest(self) -> list[tuple[str, Any]]:
        return [(e["type"], e["object"]) for e in [json.decode(line) async for line in self._stream.lines]]

    def close(self) -> None:
        self._stream.close()


def config_map(name: str, **fields: Any) -> dict[str, Any]:
    meta = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **fields}


def owned_by(owner: dict[str, Any], *, blocks: bool = False) -> dict[str, Any]:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    if blocks:
        reference["blockOwnerDeletion"] = True
    return {"ownerReferences": [reference]}


def crd(schema: dict[str, Any] | None = None, **version: Any) -> dict[str, Any]:
    spec_schema = schema or {"type": "object", "properties": {"size": {"type": "integer"}}}
    root = {
        "type": "object",
        "properties": {
            "spec": spec_schema,
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [served],
        },
    }


def widget(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, **fields}
