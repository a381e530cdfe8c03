"""The server over HTTP/1.1 on a loopback address, for kubectl and any client. The door to aiohttp.web.

Connections are handled by aiohttp's low-level server: a router, middlewares and request
objects of an application would cost more than the calls themselves.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from rulesengine.core import json
from rulesengine.core.errors import UsageError
from rulesengine.embedded.calls import Answer, call
from rulesengine.embedded.server import Server

BODY_LIMIT = 3 * 1024 * 1024  # a real server's limit for one request
CONTEXT = "rulesengine"


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that answers at `url` as long as its context is open."""

    server: Server
    url: str
    kubeconfig: Path | None


@asynccontextmanager
async def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    kubeconfig: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    *,
    server: Server | None = None,
) -> AsyncIterator[Serving]:
    """Serves until the context ends; port 0 takes a free one. Writes a kubeconfig if told where."""
    if data is not None:
        raise UsageError("keeping the embedded server's data in a file is not there yet; leave it out")
    behind = server or Server()
    runner = web.ServerRunner(
        web.Server(_Handler(behind).handle, access_log=None), handle_signals=False, shutdown_timeout=0.5
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(f"cannot serve on {host}:{port}: {error.strerror}") from error
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        url = f"http://{shown}:{address[1]}"
        path = Path(kubeconfig) if kubeconfig is not None else None
        if path is not None:
            _write_kubeconfig(path, url)
        yield Serving(behind, url, path)
    finally:
        behind.drop_watches()
        await runner.cleanup()


def _write_kubeconfig(path: Path, url: str) -> None:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": {"server": url}}],
        "users": [{"name": CONTEXT, "user": {}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
    }
    try:
        path.unlink(missing_ok=True)  # a file that is there may have wider rights
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.encode(content) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write the kubeconfig {path}: {error.strerror}") from error


class _Handler:
    def __init__(self, server: Server) -> None:
        self._server = server

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if (request.content_length or 0) > BODY_LIMIT:
            return web.Response(status=413, text="the request is too large")
        body = await request.read() if request.can_read_body else b""
        made = self._server.handle(call(request.method, request.raw_path, request.headers, body))
        if isinstance(made, Answer):
            headers = {
                **made.headers,
                "Content-Type": made.content_type,
                "Cache-Control": "no-cache, private",
            }
            return web.Response(body=made.body, status=made.status, headers=headers)
        response = web.StreamResponse(status=made.status, headers={"Content-Type": made.content_type})
        try:
            await response.prepare(request)
            async for line in made.lines:
                await response.write(line + b"\n")
            await response.write_eof()
        except ConnectionError:
            pass  # the client left; that is how watches usually end
        finally:
            made.close()
        return response
