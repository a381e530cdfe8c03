"""The engine's line to the server, looked at and disturbed: what it wrote, and faults on the way.

Counted is what moved: a write after which the object's resourceVersion is another one. To
know that, the object is read before each write, by the user and not by the engine. Writes to
rules, Events and the engine's own namespace are its accounts and not what rules want.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rulesengine.client import Response, Streaming, Transport, Unreachable
from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.json import Object

READ = {"Accept": "application/json"}
REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}
OPERATIONS = {"created": "create", "updated": "update", "deleted": "delete", "status": "status of"}


@dataclass(frozen=True, slots=True)
class Address:
    """What a path is about."""

    group: str
    plural: str
    namespace: str
    name: str
    subresource: str

    @classmethod
    def of(cls, path: str) -> Address:
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
        rest = parts[3:] if parts[0] == "apis" else parts[2:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
        rest += [""] * (3 - len(rest))
        return cls(group, rest[0], namespace, rest[1], rest[2])

    @property
    def of_events(self) -> bool:
        return self.plural == "events"

    def is_upkeep(self, own: str) -> bool:
        """Whether this is about the engine's own accounts; `own` is its namespace."""
        return (
            self.of_events
            or self.group == "rulesengine.dev"
            or self.namespace == own
            or (self.plural == "namespaces" and self.name == own)
        )


@dataclass(frozen=True, slots=True)
class Write:
    """One write of the engine: `what` is a key of OPERATIONS, or "" where it moved nothing."""

    what: str
    verb: str
    about: str
    status: int
    reason: str = ""
    body: Object | None = None  # the object afterwards

    def __str__(self) -> str:
        if self.status >= 400:
            return f"{self.verb} {self.about}: refused with {self.status} {self.reason}".rstrip()
        return (
            f"{OPERATIONS[self.what]} {self.about}" if self.what else f"{self.verb} {self.about}: no change"
        )


class Wire:
    """A transport around the server's. `own` is the engine's namespace, `read` makes of what comes
    from the server what the engine reads.
    """

    def __init__(
        self, inner: Transport, own: str, read: Callable[[bytes], bytes] = lambda text: text
    ) -> None:
        self._inner = inner
        self._own = own
        self._read = read
        self._under_way = 0
        self._streams: dict[asyncio.Future[str], str] = {}
        self._missing: Counter[str] = Counter()  # watches that were ended and are not back
        self._refusals: list[str] = []  # how the next attempts to watch end
        self._faults: list[int] = []
        self.moved = 0  # everything that was written, ever
        self.mark()

    @property
    def server(self) -> str:
        return self._inner.server

    @property
    def quiet(self) -> bool:
        """Nothing is under way, and every watch that was ended has been opened anew."""
        return not self._under_way and not self._missing

    def mark(self) -> None:
        """From here on writes and events are counted anew."""
        self.writes: list[Write] = []
        self.events: list[Object] = []

    def forget_watches(self) -> None:
        """The engine that watched is gone."""
        self._missing.clear()
        self._refusals.clear()

    def counts(self) -> dict[str, int]:
        found = Counter(write.what for write in self.writes)
        return {what: found[what] for what in OPERATIONS}

    # --- faults ---

    def refuse_writes(self, status: int, times: int) -> None:
        """The next writes to what rules want are answered so, and not carried out."""
        self._faults += [status] * times

    def end_watches(self, *, expired: bool, times: int) -> None:
        """Every watch ends, and the next `times` - 1 attempts to open one fail."""
        how = "expired" if expired else "dropped"
        self._refusals += [how] * (times - 1)
        for cut, path in list(self._streams.items()):
            self._missing[path] += 1
            if not cut.done():
                cut.set_result(how)

    # --- requests ---

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        self._under_way += 1
        try:
            if method in ("GET", "HEAD") or _only_tried(path, body):
                answer = await self._inner.request(method, path, headers, body, seconds)
            else:
                answer = await self._write(method, path, headers, body, seconds)
            return Response(answer.status, answer.headers, self._read(answer.body))
        finally:
            self._under_way -= 1

    async def _write(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        address = Address.of(path)
        if method == "POST" and not address.name and body:
            address = replace(address, name=str((_decoded(body).get("metadata") or {}).get("name", "")))
        if address.is_upkeep(self._own) or (method == "POST" and address.subresource):
            answer = await self._inner.request(method, path, headers, body, seconds)
            if address.of_events and answer.status < 300:
                self.events.append(json.decode_object(answer.body))
            return answer
        if address.group == "authorization.k8s.io":
            return await self._inner.request(method, path, headers, body, seconds)
        if self._faults:
            status = self._faults.pop(0)
            self._note(method, address, _status(status), {})
            return _status(status)
        before = await self._live(path, seconds) if method != "POST" else {}
        answer = await self._inner.request(method, path, headers, body, seconds)
        self._note(method, address, answer, before)
        return answer

    async def _live(self, path: str, seconds: float) -> Object:
        answer = await self._inner.request("GET", urlsplit(path).path, READ, None, seconds)
        return _decoded(answer.body) if answer.status < 300 else {}

    def _note(self, method: str, address: Address, answer: Response, before: Object) -> None:
        after = _decoded(answer.body)
        verb = "delete" if method == "DELETE" else "create" if method == "POST" else "update"
        refused = answer.status >= 300
        kind = str(before.get("kind") or ("" if refused else after.get("kind")) or address.plural)
        where = f"{address.namespace}/{address.name}" if address.namespace else address.name
        about = f"{kind} {where}" + (
            f"/{address.subresource}" if address.subresource not in ("", "status") else ""
        )
        if refused:
            self.writes.append(Write("", verb, about, answer.status, str(after.get("reason") or "")))
            return
        what = _moved(method, address, answer.status, before, after)
        self.moved += bool(what)
        self.writes.append(Write(what, verb, about, answer.status, "", after))

    # --- watches ---

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AsyncIterator[Streaming]:
        if self._refusals:
            how = self._refusals.pop(0)
            if how == "dropped":
                raise Unreachable("the fault of the case", sent=False)
            yield Streaming(410, {}, _one(_status(410).body))
            return
        collection = urlsplit(path).path
        async with self._inner.stream(method, path, headers, idle) as answer:
            if answer.status >= 300:
                yield answer
                return
            self._came_back(collection)
            cut: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._streams[cut] = collection
            lines = _until(cut, answer.lines, self._read)
            try:
                yield Streaming(answer.status, answer.headers, lines)
            finally:
                del self._streams[cut]
                await lines.aclose()

    def _came_back(self, collection: str) -> None:
        self._missing[collection] -= 1
        if self._missing[collection] <= 0:
            del self._missing[collection]

    async def close(self) -> None:
        await self._inner.close()


async def _until(
    cut: asyncio.Future[str], lines: AsyncIterator[bytes], read: Callable[[bytes], bytes]
) -> Any:
    """The lines, until the watch is cut: without a word, or as the server ends one that is too old."""
    following: asyncio.Task[bytes | None] | None = None
    try:
        while True:
            following = asyncio.create_task(_next(lines))
            both: set[asyncio.Future[Any]] = {following, cut}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if cut.done():
                if cut.result() == "expired":
                    yield json.encode({"type": "ERROR", "object": json.decode(_status(410).body)})
                    return
                raise Unreachable("the fault of the case", sent=True)
            line = following.result()
            if line is None:
                return
            yield read(line)
    finally:
        if following is not None and not following.done():
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following


async def _next(lines: AsyncIterator[bytes]) -> bytes | None:
    """The next line, None at the end: a task cannot raise StopAsyncIteration."""
    return await anext(lines, None)


async def _one(line: bytes) -> AsyncIterator[bytes]:
    yield line


def _only_tried(path: str, body: bytes | None) -> bool:
    return "dryRun" in parse_qs(urlsplit(path).query) or (body is not None and b'"dryRun"' in body[:4096])


def _moved(method: str, address: Address, status: int, before: Object, after: Object) -> str:
    meta = before.get("metadata") or {}
    if method == "DELETE":
        return "" if meta.get("deletionTimestamp") else "deleted"
    if status == 201:
        return "created"
    if (after.get("metadata") or {}).get("resourceVersion") == meta.get("resourceVersion"):
        return ""
    return "status" if address.subresource == "status" else "updated"


def _status(status: int) -> Response:
    reason = REASONS[status]
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}
    headers = {"retry-after": "1"} if status == 429 else {}
    return Response(status, headers, json.encode(body | {"message": "the fault of the case"}))


def _decoded(body: bytes) -> Object:
    try:
        return json.decode_object(body)
    except InvalidJSON:
        return {}
