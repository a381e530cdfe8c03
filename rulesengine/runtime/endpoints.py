"""The engine's own HTTP endpoints: /metrics, /healthz, /readyz, /debug/why and the webhook.

One listener for each address that was given, each with only what belongs there. This is one of
the three doors to aiohttp; see docs/decisions/0060.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import web

from rulesengine.core import json
from rulesengine.core.errors import UsageError
from rulesengine.core.settings import Settings
from rulesengine.runtime import health
from rulesengine.runtime.admission import BadReview
from rulesengine.runtime.metrics import Metrics
from rulesengine.runtime.why import FORM, why

if TYPE_CHECKING:
    from rulesengine.runtime.engine import Engine

logger = logging.getLogger(__name__)

LARGEST_REVIEW = 8 * 2**20  # an object of at most 1.5 MB, twice, and as somebody may have indented it
Review: TypeAlias = Callable[[bytes], Awaitable[bytes]]
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]


class Endpoints:
    """`start` listens on what the settings name; where that is nothing it does nothing."""

    def __init__(self, engine: Engine, metrics: Metrics, settings: Settings) -> None:
        self._engine = engine
        self._metrics = metrics
        self._settings = settings
        self._runners: list[web.AppRunner] = []
        self.addresses: dict[str, str] = {}  # what is served where: "metrics" → "127.0.0.1:8080"

    async def start(self) -> None:
        """Raises UsageError for an address that is none, or cannot be listened on."""
        routes: dict[str, list[tuple[str, str, Handler]]] = {}
        for name, address, paths in (
            ("metrics", self._settings.metrics_address, {"/metrics": self._show_metrics}),
            ("health", self._settings.health_address, {"/healthz": self._alive, "/readyz": self._ready}),
            ("debug", self._settings.debug_address, {"/debug/why": self._why}),
        ):
            if address:
                routes.setdefault(address, []).extend((name, path, each) for path, each in paths.items())
        for address, found in routes.items():
            await self._listen(address, found)

    async def stop(self) -> None:
        while self._runners:
            await self._runners.pop().cleanup()

    async def _listen(self, address: str, routes: list[tuple[str, str, Handler]]) -> None:
        names = sorted({name for name, _, _ in routes})
        host, port = parsed(address, "-address and ".join(names) + "-address")
        if "debug" in names and not _loopback(host):
            raise UsageError(
                f"debug-address {address}: must be on 127.0.0.1 or ::1; it asks nobody for rights"
            )
        app = web.Application()
        app.add_routes([web.get(path, handler) for _, path, handler in routes])
        await self._serve(app, host, port, names)

    async def review(self, path: str, review: Review, context: ssl.SSLContext) -> None:
        """Serves the admission webhook, over TLS. Raises UsageError as `start` does."""
        host, port = parsed(self._settings.webhook_address, "webhook-address")
        app = web.Application(client_max_size=LARGEST_REVIEW)

        async def answer(request: web.Request) -> web.Response:
            try:
                return web.Response(body=await review(await request.read()), content_type="application/json")
            except BadReview as error:
                return web.Response(status=400, text=f"{error}\n")

        app.add_routes([web.post(path, answer)])
        await self._serve(app, host, port, ["webhook"], context)

    async def _serve(
        self,
        app: web.Application,
        host: str,
        port: int,
        names: list[str],
        context: ssl.SSLContext | None = None,
    ) -> None:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        self._runners.append(runner)
        await runner.setup()
        try:
            await web.TCPSite(runner, host or None, port, ssl_context=context).start()
        except OSError as error:
            where = f"{host}:{port} ({', '.join(names)})"
            raise UsageError(f"cannot listen on {where}: {error.strerror}") from error
        for name in names:
            self.addresses[name] = "{}:{}".format(*runner.addresses[0][:2])
            logger.info("serving", extra={"what": name, "address": self.addresses[name]})

    # --- what is served ---

    async def _show_metrics(self, request: web.Request) -> web.Response:
        accept = request.headers.get("Accept", "")
        # a thousand rules have some ten thousand lines: written beside the loop
        content_type, text = await asyncio.to_thread(self._metrics.expose, accept)
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def _alive(self, request: web.Request) -> web.Response:
        return _told(health.answer(health.alive(), verbose="verbose" in request.query, what="healthz"))

    async def _ready(self, request: web.Request) -> web.Response:
        checks = health.ready(self._engine)
        return _told(health.answer(checks, verbose="verbose" in request.query, what="readyz"))

    async def _why(self, request: web.Request) -> web.Response:
        rule, source = request.query.get("rule", ""), request.query.get("object", "")
        try:
            found = why(self._engine, rule, source)
        except UsageError:
            return _json(400, {"error": f"expected /debug/why?{FORM.replace(', and ', '&')}"})
        except KeyError:
            return _json(404, {"error": "there is no such rule, or it was not looked at yet"})
        return _json(200, found)


def parsed(address: str, name: str) -> tuple[str, int]:
    """Host ("" for all) and port of "host:port", ":port" or "[::1]:port". Raises UsageError."""
    host, colon, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{name} {address}: expected HOST:PORT or :PORT, such as 127.0.0.1:8080")
    return host, int(port)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _told(found: health.Answer) -> web.Response:
    return web.Response(status=200 if found.ok else 500, text=found.text)


def _json(status: int, body: object) -> web.Response:
    return web.Response(status=status, body=json.encode(body), content_type="application/json")
