"""A transport that counts what goes through another one, as client-go counts its requests."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rulesengine.client.errors import APIError
from rulesengine.client.transport import Response, Streaming, Transport
from rulesengine.core.measure import Histogram

NO_ANSWER = "<error>"  # client-go's word for a request without an answer


@dataclass(slots=True)
class Requests:
    """Requests by code and method, and how long they took by method. Watches count when opened."""

    host: str = ""
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    durations: dict[str, Histogram] = field(default_factory=dict)


class Measured:
    """A Transport around another; closing closes that one."""

    def __init__(self, inner: Transport, requests: Requests) -> None:
        self._inner = inner
        self._requests = requests
        requests.host = urlsplit(inner.server).netloc or inner.server

    @property
    def server(self) -> str:
        return self._inner.server

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        begun, code = time.perf_counter(), NO_ANSWER
        try:
            answer = await self._inner.request(method, path, headers, body, seconds)
            code = str(answer.status)
        finally:
            self._note(method, code, time.perf_counter() - begun)
        return answer

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AsyncIterator[Streaming]:
        code = NO_ANSWER
        try:
            async with self._inner.stream(method, path, headers, idle) as answer:
                code = str(answer.status)
                self._requests.codes[code, method] += 1
                yield answer
        except APIError:
            if code is NO_ANSWER:
                self._requests.codes[code, method] += 1
            raise

    async def close(self) -> None:
        await self._inner.close()

    def _note(self, method: str, code: str, seconds: float) -> None:
        self._requests.codes[code, method] += 1
        durations = self._requests.durations.get(method)
        if durations is None:
            durations = self._requests.durations[method] = Histogram()
        durations.observe(seconds)
