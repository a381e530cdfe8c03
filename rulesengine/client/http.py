"""The transport over HTTP(S): aiohttp, told everything once so that a request stays cheap.

Two pools: answers that end share a limited number of connections, watches have their own
without a limit, else forty watched kinds would leave no connection for a write. The proxy is
known beforehand (`trust_env` would cost 0.4 ms a request).

Credentials are renewed beside the traffic: when a plugin's token is about to run out, when a
file changed, and once when the server answers 401. Open connections are given up only when
certificates, address or proxy changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

import aiohttp
from yarl import URL

from rulesengine.client.access import Access, is_due
from rulesengine.client.errors import TimedOut, Unreachable
from rulesengine.client.transport import Response, Streaming, split_lines
from rulesengine.core.errors import UsageError

CONNECTIONS = 32  # requests at once; beyond it they wait. An API server's default is 400 in flight for all
CONNECT_TIMEOUT = 10.0
KEEP_ALIVE = 60.0  # below the 90 s after which API servers and proxies usually close
CHECK_CREDENTIALS = 60.0  # a pod's token is written anew about every 50 minutes
RENEW_AGAIN = 10.0  # a 401 soon after a renewal is an answer, not a reason to renew
READ_BUFFER = 2**18
LARGE_BODY = 2**20  # beyond it aiohttp warns of bytes, which it would hand to the socket in one piece

logger = logging.getLogger(__name__)


class Entrance(Protocol):
    """Where access comes from, and can come from again."""

    async def load(self) -> Access: ...
    def watched_files(self) -> tuple[Any, ...]: ...


class HTTPTransport:
    """Made by `open`; must be closed."""

    def __init__(
        self,
        entrance: Entrance,
        access: Access,
        connections: int = CONNECTIONS,
        fence: Callable[[], float] | None = None,
    ) -> None:
        self._entrance = entrance
        self._access = access
        self._connections = connections
        self._fence = fence
        self._requests, self._watches = self._sessions()
        self._timeouts: dict[float, aiohttp.ClientTimeout] = {}
        self._stamps = self._file_stamps()
        self._renewing = asyncio.Lock()
        self._renewed = float("-inf")
        self._retired: list[aiohttp.ClientSession] = []
        self._keeper = asyncio.create_task(self._keep_credentials(), name="client-credentials")

    @classmethod
    async def open(
        cls,
        entrance: Entrance,
        connections: int = CONNECTIONS,
        fence: Callable[[], float] | None = None,
    ) -> HTTPTransport:
        return cls(entrance, await entrance.load(), connections, fence)

    @property
    def server(self) -> str:
        return self._access.server

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        if self._fence is not None and method != "GET":
            seconds = min(seconds, self._fence())
        limits = self._timeouts.get(seconds)
        if limits is None and self._fence is not None:
            limits = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_TIMEOUT)
        elif limits is None:
            limits = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_TIMEOUT)
            self._timeouts[seconds] = limits
        answer = await self._once(method, path, headers, body, limits)
        if answer.status == 401 and await self._renew():
            answer = await self._once(method, path, headers, body, limits)
        return answer

    async def _once(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        limits: aiohttp.ClientTimeout,
    ) -> Response:
        access = self._access
        try:
            async with self._requests.request(
                method,
                URL(access.server + path, encoded=True),
                headers=_with_token(headers, access),
                data=_chunked(body),
                timeout=limits,
                proxy=access.proxy,
                server_hostname=access.server_hostname,
                allow_redirects=False,
                trace_request_ctx=method,
            ) as answer:
                return Response(answer.status, answer.headers, await answer.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(error, access, f"{method} {path.partition('?')[0]}") from error

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AsyncIterator[Streaming]:
        answer = await self._open_stream(method, path, headers, idle)
        if answer.status == 401 and await self._renew():
            answer.close()
            answer = await self._open_stream(method, path, headers, idle)
        try:
            yield Streaming(answer.status, answer.headers, split_lines(self._chunks(answer, method, path)))
        finally:
            answer.close()  # not release: the rest of a watch is of no use to anybody

    async def _open_stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> aiohttp.ClientResponse:
        access = self._access
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=idle)
        try:
            return await self._watches.request(
                method,
                URL(access.server + path, encoded=True),
                headers=_with_token(headers, access),
                timeout=limits,
                proxy=access.proxy,
                server_hostname=access.server_hostname,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(error, access, f"{method} {path.partition('?')[0]}") from error

    async def _chunks(self, answer: aiohttp.ClientResponse, method: str, path: str) -> AsyncIterator[bytes]:
        try:
            async for chunk in answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(error, self._access, f"{method} {path.partition('?')[0]}") from error

    # --- credentials ---

    async def _keep_credentials(self) -> None:
        while True:
            await asyncio.sleep(CHECK_CREDENTIALS)
            await self._close_retired()  # those of the last round: what ran on them is over
            stamps = self._file_stamps()
            if stamps != self._stamps or is_due(self._access, datetime.now(UTC)):
                self._stamps = stamps
                await self._renew()

    async def _renew(self) -> bool:
        """Loads access again; whether there is reason to try a refused request once more."""
        async with self._renewing:
            now = asyncio.get_running_loop().time()
            if now - self._renewed < RENEW_AGAIN:
                return False
            self._renewed = now
            before = self._access
            try:
                access = await self._entrance.load()
            except UsageError as error:
                logger.warning("credentials could not be renewed", extra={"error": error})
                return False
            self._access = access
            if access.fingerprint != before.fingerprint:
                # requests under way finish on the old pools, which are closed at the next check
                self._retired += [self._requests, self._watches]
                self._requests, self._watches = self._sessions()
            return access.authorization != before.authorization or access.fingerprint != before.fingerprint

    def _file_stamps(self) -> tuple[float, ...]:
        stamps = []
        for path in self._entrance.watched_files():
            try:
                stamps.append(path.stat().st_mtime)
            except OSError:
                stamps.append(0.0)
        return tuple(stamps)

    # --- pools ---

    def _sessions(self) -> tuple[aiohttp.ClientSession, aiohttp.ClientSession]:
        return self._session(self._connections), self._session(0)

    def _session(self, limit: int) -> aiohttp.ClientSession:
        tls = self._access.tls
        connector = aiohttp.TCPConnector(
            limit=limit, ssl=tls if tls is not None else True, keepalive_timeout=KEEP_ALIVE
        )
        return aiohttp.ClientSession(
            connector=connector,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=READ_BUFFER,
            # compressing costs both sides more time than it saves on a cluster's network
            skip_auto_headers=("Accept-Encoding",),
            trace_configs=[_last_look(self._fence)] if self._fence is not None else None,
        )

    async def _close_retired(self) -> None:
        while self._retired:
            await self._retired.pop().close()

    async def close(self) -> None:
        self._keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._keeper
        self._retired += [self._requests, self._watches]
        await self._close_retired()


def _last_look(fence: Callable[[], float]) -> aiohttp.TraceConfig:
    """Asks the fence once more when a connection is there: a wait for one may have been long."""
    trace = aiohttp.TraceConfig()

    async def look(_session: object, context: Any, _about: object) -> None:
        if context.trace_request_ctx not in (None, "GET"):
            fence()

    trace.on_connection_reuseconn.append(look)
    trace.on_connection_create_end.append(look)
    return trace


def _chunked(body: bytes | None) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if body is not None and len(body) > LARGE_BODY else body


def _with_token(headers: Mapping[str, str], access: Access) -> Mapping[str, str]:
    return {**headers, "Authorization": access.authorization} if access.authorization else headers


def _unreachable(error: Exception, access: Access, request: str) -> Unreachable:
    """One sentence: which address, what happened, where the address comes from."""
    about = f"{access.server} (from {access.where})"
    if isinstance(error, (aiohttp.ServerTimeoutError, TimeoutError)):
        return TimedOut(f"no answer in time from {about}", request=request)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        message = f"the certificate of {about} is not trusted: {error.certificate_error}"
        return Unreachable(message, sent=False, request=request)
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        cause = os.strerror(number) if number and number > 0 else str(error.os_error)
        message = f"cannot connect to {about}: {cause}. Is the cluster up, and is this the right one?"
        return Unreachable(message, sent=False, request=request)
    return Unreachable(
        f"the connection to {about} broke: {str(error) or type(error).__name__}", request=request
    )
