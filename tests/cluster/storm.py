"""A network and a server in bad shape: a proxy before the API server that fails at random.

Requests are refused (409, 410, 429 with Retry-After, 500, 504), lost before or after they were
carried out, delayed, or never answered for seconds (half-open). Watches are refused, cut, delayed,
repeated, silent, or ended with 410 in the middle. By seed, and counted by kind of fault.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import threading
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

WORDS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 504: "Timeout"}
HALF_OPEN = (1.0, 4.0)  # seconds that a connection stays open and silent


class Storm:
    """Listens on 127.0.0.1:`port` over plain HTTP, in a thread of its own; `calm` ends all faults."""

    def __init__(self, server_port: int, seed: int) -> None:
        self._target = f"https://127.0.0.1:{server_port}"
        self._chance = random.Random(seed)
        self._calm = False
        self._loop = asyncio.new_event_loop()
        self.port = 0
        self.faults: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self._open())

    def calm(self) -> None:
        """From now on everything passes; connections that are silent are reset by themselves."""
        self._calm = True

    def close(self) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _open(self) -> None:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        connector = aiohttp.TCPConnector(ssl=trusting, limit=0)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            read_bufsize=2**20,
            skip_auto_headers=("Accept-Encoding",),  # the server would compress, watches too
        )
        app = web.Application(client_max_size=2**24)
        app.add_routes([web.route("*", "/{path:.*}", self._answer)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        await self._runner.cleanup()
        await self._session.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _luck(self) -> float:
        return 1.0 if self._calm else self._chance.random()

    # --- requests ---

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if request.query.get("watch") == "true":
            return await self._watch(request)
        luck = self._luck()
        if luck < 0.04:
            return self._refusal(request)
        if luck < 0.06:
            return self._abort(request, "lost before")
        if luck < 0.07:
            await self._hold("half-open")
            return self._abort(request, "reset")
        if luck < 0.15:
            self.faults["delayed"] += 1
            await asyncio.sleep(self._chance.random() * 0.3)
        try:
            async with self._send(request, body) as answer:
                content = await answer.read()
        except aiohttp.ClientError:
            return self._abort(request, "server away")
        if luck > 0.97 and luck < 1.0:
            return self._abort(request, "lost after")
        headers = {k: v for k, v in answer.headers.items() if k in ("Content-Type", "Retry-After")}
        return web.Response(status=answer.status, body=content, headers=headers)

    def _send(self, request: web.Request, body: bytes) -> Any:
        headers = {k: v for k, v in request.headers.items() if k not in ("Host", "Content-Length")}
        url = URL(self._target + request.raw_path, encoded=True)
        return self._session.request(request.method, url, headers=headers, data=body or None)

    def _refusal(self, request: web.Request) -> web.Response:
        write = request.method != "GET"
        status = self._chance.choice([409, 429, 500, 504] if write else [410, 429, 500, 504])
        self.faults[str(status)] += 1
        return web.Response(
            status=status,
            text=json.dumps(status_body(status)),
            content_type="application/json",
            headers={"Retry-After": "1"} if status == 429 else {},
        )

    def _abort(self, request: web.Request, why: str) -> web.Response:
        self.faults[why] += 1
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=502)

    async def _hold(self, why: str) -> None:
        self.faults[why] += 1
        await asyncio.sleep(self._chance.uniform(*HALF_OPEN))

    # --- watches ---

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if self._luck() < 0.1:
            return self._refusal(request)
        try:
            async with self._send(request, b"") as answer:
                told = web.StreamResponse(status=answer.status)
                told.content_type = "application/json"
                await told.prepare(request)
                if await self._lines(answer, told):
                    return told
        except (aiohttp.ClientError, ConnectionError):
            pass
        return self._abort(request, "watch cut")

    async def _lines(self, answer: aiohttp.ClientResponse, told: web.StreamResponse) -> bool:
        """Passes events on; False: the connection is to be reset."""
        while True:
            try:
                async with asyncio.timeout(1.0):
                    line = await answer.content.readline()
            except TimeoutError:
                if self._luck() < 0.04:
                    await self._hold("watch half-open")
                    return False
                continue
            luck = self._luck()
            if not line:
                return True
            if luck < 0.01:
                return False
            if luck < 0.02:
                self.faults["watch 410"] += 1
                await told.write(json.dumps({"type": "ERROR", "object": status_body(410)}).encode() + b"\n")
                return True
            if luck < 0.03:
                await self._hold("watch half-open")
                return False
            if luck < 0.06:
                self.faults["watch delayed"] += 1
                await asyncio.sleep(self._chance.random())
            await told.write(line)
            if luck > 0.94 and luck < 1.0:
                self.faults["watch repeated"] += 1
                await told.write(line)


def status_body(code: int) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": WORDS[code],
        "code": code,
    }
