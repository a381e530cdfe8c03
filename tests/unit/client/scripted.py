"""A transport that answers from a script and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rulesengine.client import Response, Streaming
from rulesengine.core.kinds import GroupVersionKind, ResourceType

CONFIG_MAPS = ResourceType(GroupVersionKind("", "v1", "ConfigMap"), "configmaps", namespaced=True)
NAMESPACES = ResourceType(GroupVersionKind("", "v1", "Namespace"), "namespaces", namespaced=False)
DEPLOYMENTS = ResourceType(GroupVersionKind("apps", "v1", "Deployment"), "deployments", namespaced=True)


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


Answer = Response | Exception
Script = Callable[[Asked], Answer]


def ok(body: Any = None, status: int = 200) -> Response:
    return Response(status, {}, json.dumps({} if body is None else body).encode())


def refused(
    status: int, reason: str = "", message: str = "", headers: Mapping[str, str] | None = None, **details: Any
) -> Response:
    said = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": status,
        "details": details,
    }
    return Response(status, headers or {}, json.dumps(said).encode())


@dataclass
class Scripted:
    """`answers` are given one after the other, the last one again and again; or a function answers."""

    answers: list[Answer] | Script
    asked: list[Asked] = field(default_factory=list)
    closed: bool = False
    server: str = "https://scripted"

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        self.asked.append(Asked(method, path, dict(headers), json.loads(body) if body else None))
        if callable(self.answers):
            answer = self.answers(self.asked[-1])
        else:
            answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AsyncIterator[Streaming]:
        answer = await self.request(method, path, headers, None, idle)

        async def lines() -> AsyncIterator[bytes]:
            for line in answer.body.split(b"\n"):
                yield line

        yield Streaming(answer.status, answer.headers, lines())

    async def close(self) -> None:
        self.closed = True


@dataclass
class Sleeps:
    """A sleep that only writes down for how long."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
