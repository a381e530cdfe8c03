"""The client's transport to an API server in the same process: a function call per request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rulesengine.client.transport import Response, Streaming
from rulesengine.embedded.calls import Stream, call

if TYPE_CHECKING:
    from rulesengine.embedded.server import Server


class InProcess:
    """Meets `client.Transport`. Every request gives other tasks a turn, as a socket would."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def server(self) -> str:
        return "the embedded API server"

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        del seconds  # nothing here takes time
        await asyncio.sleep(0)
        made = self._server.handle(call(method, path, headers, body))
        if isinstance(made, Stream):
            lines = [line async for line in made.lines]
            return Response(made.status, {"content-type": made.content_type}, b"\n".join(lines))
        lowered = {name.lower(): value for name, value in made.headers.items()}
        return Response(made.status, {"content-type": made.content_type, **lowered}, made.body)

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AsyncIterator[Streaming]:
        del idle  # the other end is this process: it cannot hang alone
        await asyncio.sleep(0)
        made = self._server.handle(call(method, path, headers, None))
        if isinstance(made, Stream):
            try:
                yield Streaming(made.status, {"content-type": made.content_type}, made.lines)
            finally:
                made.close()
        else:
            lowered = {name.lower(): value for name, value in made.headers.items()}
            yield Streaming(made.status, lowered, _lines(made.body))

    async def close(self) -> None:
        """There is nothing to close: the server may have other clients."""


async def _lines(body: bytes) -> AsyncIterator[bytes]:
    yield body
