"""The HTTP transport against a server on a socket of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from rulesengine.client import NotLeading, TimedOut, Unreachable, connect, http, split_lines
from rulesengine.client.access import Access
from rulesengine.client.http import HTTPTransport
from rulesengine.core.errors import UsageError


class Entrance:
    """Access that a test can change."""

    def __init__(self, server: str) -> None:
        self.access = Access(server=server, where="the test", authorization="Bearer one")
        self.loads = 0
        self.files: tuple[Path, ...] = ()

    async def load(self) -> Access:
        self.loads += 1
        return self.access

    def watched_files(self) -> tuple[Path, ...]:
        return self.files


class Site:
    """A server whose answers a test sets."""

    def __init__(self) -> None:
        self.token = "Bearer one"
        self.held = asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        self.server = TestServer(app)
        self.lines: list[bytes] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != self.token:
            return web.Response(status=401)
        if request.path == "/slow":
            await self.held.wait()
        if request.path == "/moved":
            return web.Response(status=302, headers={"Location": "/elsewhere"})
        if request.path != "/stream":
            said = {
                "method": request.method,
                "raw": request.raw_path,
                "body": (await request.read()).decode(),
            }
            return web.json_response(said, headers={"Retry-After": "3"})
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in self.lines:
            await answer.write(piece)
        if request.query.get("hold"):
            await self.held.wait()
        return answer


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    await site.server.start_server()
    yield site
    site.held.set()
    await site.server.close()


@pytest.fixture
async def entrance(site: Site) -> Entrance:
    return Entrance(str(site.server.make_url("")).rstrip("/"))


@pytest.fixture
async def transport(entrance: Entrance) -> AsyncIterator[HTTPTransport]:
    transport = await HTTPTransport.open(entrance)
    yield transport
    await transport.close()


async def test_a_request_arrives_as_it_was_built(transport: HTTPTransport) -> None:
    """The encoded path is not encoded or cleaned again; method, body and token go along."""
    answer = await transport.request("PATCH", "/a/system%3Ax%20y?q=a%2Fb", {"X-A": "b"}, b"{}", 5)
    assert answer.status == 200
    assert b'"raw": "/a/system%3Ax%20y?q=a%2Fb"' in answer.body
    assert b'"method": "PATCH"' in answer.body
    assert answer.headers.get("retry-after") == "3"


async def test_redirects_are_not_followed(transport: HTTPTransport) -> None:
    """A token is for the server it was given for."""
    assert (await transport.request("GET", "/moved", {}, None, 5)).status == 302


async def test_lines_may_be_far_longer_than_a_buffer(transport: HTTPTransport, site: Site) -> None:
    """An object of a megabyte is one line, however it is cut into pieces."""
    long = b"x" * 1_000_000
    site.lines = [b"a\nb", b"c\n", long, long, b"\n\nd\n"]
    async with transport.stream("GET", "/stream", {}, 5) as answer:
        assert [line async for line in answer.lines] == [b"a", b"bc", long + long, b"d"]


async def test_a_silent_stream_times_out(transport: HTTPTransport, site: Site) -> None:
    """A half-open connection must not stay silent for ever."""
    site.lines = [b"a\n"]
    async with transport.stream("GET", "/stream?hold=1", {}, 0.05) as answer:
        lines = aiter(answer.lines)
        assert await anext(lines) == b"a"
        with pytest.raises(TimedOut):
            await anext(lines)


async def test_a_slow_answer_times_out(transport: HTTPTransport) -> None:
    """Within the time of the request, and said as that."""
    with pytest.raises(TimedOut, match="no answer in time"):
        await transport.request("GET", "/slow", {}, None, 0.05)


async def test_a_server_that_is_down_is_said_in_one_sentence() -> None:
    """Which address, what happened, where the address comes from."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    transport = await HTTPTransport.open(Entrance(address))
    with pytest.raises(Unreachable) as caught:
        await transport.request("GET", "/", {}, None, 5)
    assert not caught.value.sent
    assert str(caught.value) == (
        f"cannot connect to {address} (from the test): Connection refused. "
        "Is the cluster up, and is this the right one?"
    )
    with pytest.raises(Unreachable):
        async with transport.stream("GET", "/", {}, 5):
            pytest.fail("opened")
    await transport.close()


async def test_an_expired_token_is_renewed_once(
    transport: HTTPTransport, site: Site, entrance: Entrance
) -> None:
    """A 401 loads access again and repeats the request; requests at the same time share that."""
    site.token = "Bearer two"
    entrance.access = replace(entrance.access, authorization="Bearer two")
    answers = await asyncio.gather(*(transport.request("GET", "/a", {}, None, 5) for _ in range(3)))
    assert {a.status for a in answers} <= {200, 401}
    assert 200 in {a.status for a in answers}
    assert entrance.loads == 2  # the first was opening
    site.lines = [b"a\n"]
    async with transport.stream("GET", "/stream", {}, 5) as answer:
        assert answer.status == 200


async def test_a_401_that_stays_is_an_answer(
    transport: HTTPTransport, site: Site, entrance: Entrance
) -> None:
    """Access is not loaded again and again for somebody who is not let in."""
    site.token = "Bearer other"
    for _ in range(3):
        assert (await transport.request("GET", "/a", {}, None, 5)).status == 401
    assert entrance.loads == 2


async def test_new_certificates_mean_new_connections(
    transport: HTTPTransport, site: Site, entrance: Entrance
) -> None:
    """When what secures connections changed, requests use new pools; nothing leaks at the end."""
    before = transport._requests
    site.token = "Bearer two"
    entrance.access = replace(entrance.access, authorization="Bearer two", fingerprint=b"other")
    assert (await transport.request("GET", "/a", {}, None, 5)).status == 200
    assert transport._requests is not before


async def test_watches_do_not_use_up_the_connections_of_requests(site: Site, entrance: Entrance) -> None:
    """With one connection for requests and ten watches open, a request still goes."""
    transport = await HTTPTransport.open(entrance, connections=1)
    site.lines = [b"a\n"]
    streams = [transport.stream("GET", "/stream?hold=1", {}, 5) for _ in range(10)]
    for stream in streams:
        await stream.__aenter__()
    assert (await transport.request("GET", "/a", {}, None, 5)).status == 200
    for stream in streams:
        await stream.__aexit__(None, None, None)
    await transport.close()


async def test_closing_ends_the_task_that_keeps_credentials(entrance: Entrance) -> None:
    """No task is left behind."""
    before = asyncio.all_tasks()
    transport = await HTTPTransport.open(entrance)
    assert asyncio.all_tasks() != before
    await transport.close()
    assert asyncio.all_tasks() == before


async def test_a_changed_file_is_noticed(entrance: Entrance, tmp_path: Path) -> None:
    """A rotated token or CA file has another modification time."""
    file = tmp_path / "token"
    entrance.files = (file,)
    transport = await HTTPTransport.open(entrance)
    absent = transport._file_stamps()
    file.write_text("a")
    present = transport._file_stamps()
    os.utime(file, (1, 1))
    assert len({absent, present, transport._file_stamps()}) == 3
    await transport.close()


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b""], []),
        ([b"\n\n"], []),
        ([b"a"], [b"a"]),
        ([b"a\n"], [b"a"]),
        ([b"a", b"\n"], [b"a"]),
        ([b"a", b"b", b"c\nd", b"\n", b"e"], [b"abc", b"d", b"e"]),
        ([b"a\nb\nc"], [b"a", b"b", b"c"]),
    ],
)
async def test_lines_come_out_however_they_are_cut(chunks: list[bytes], lines: list[bytes]) -> None:
    """Only line ends divide; the last line may lack its own."""

    async def given() -> AsyncIterator[Any]:
        for chunk in chunks:
            yield chunk

    assert [line async for line in split_lines(given())] == lines


async def turns(reached: Callable[[], bool]) -> None:
    """Lets the loop turn until something holds."""
    for _ in range(1000):
        if reached():
            return
        await asyncio.sleep(0)
    pytest.fail("not reached")


async def test_credentials_are_looked_after_beside_the_traffic(
    site: Site, entrance: Entrance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed file and a plugin's expiry load access again; pools that were left are closed."""
    monkeypatch.setattr(http, "CHECK_CREDENTIALS", 0)
    monkeypatch.setattr(http, "RENEW_AGAIN", 0)
    entrance.files = (tmp_path / "token",)
    transport = await HTTPTransport.open(entrance)
    left = transport._requests
    entrance.access = replace(entrance.access, fingerprint=b"other")
    (tmp_path / "token").write_text("a")
    await turns(lambda: left.closed)
    assert entrance.loads == 2
    assert (await transport.request("GET", "/a", {}, None, 5)).status == 200
    transport._access = replace(entrance.access, expires=datetime(2020, 1, 1, tzinfo=UTC))
    await turns(lambda: entrance.loads == 3)
    await transport.close()


async def test_credentials_that_cannot_be_renewed_leave_the_old_ones(
    transport: HTTPTransport, site: Site, entrance: Entrance, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; the server's 401 stays the answer."""

    async def fail() -> Access:
        raise UsageError("the plugin is gone")

    site.token = "Bearer two"
    entrance.load = fail  # type: ignore[method-assign]
    assert (await transport.request("GET", "/a", {}, None, 5)).status == 401
    assert "the plugin is gone" in str(vars(caplog.records[-1])["error"])


async def test_a_kubeconfig_is_all_it_takes(site: Site, tmp_path: Path) -> None:
    """connect() gives a client that reaches the server."""
    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "current-context": "a",
                "clusters": [{"name": "a", "cluster": {"server": str(site.server.make_url(""))}}],
                "users": [{"name": "a", "user": {"token": "one"}}],
                "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            }
        )
    )
    async with await connect(path) as client:
        assert b'"raw": "/version"' in await client.read("/version")
        assert client.server.startswith("http://127.0.0.1:")


class Fence:
    """How long a write may take; None: none may be sent."""

    def __init__(self) -> None:
        self.left: float | None = 5.0
        self.asked = asyncio.Event()

    def __call__(self) -> float:
        self.asked.set()
        if self.left is None:
            raise NotLeading("not now", sent=False)
        return self.left


async def test_a_write_beyond_the_fence_is_never_sent(entrance: Entrance) -> None:
    """Reads are; and so is a write when it may be."""
    fence = Fence()
    transport = await HTTPTransport.open(entrance, fence=fence)
    try:
        assert (await transport.request("PATCH", "/x", {}, b"{}", 5.0)).status == 200
        fence.left = None
        with pytest.raises(NotLeading):
            await transport.request("PATCH", "/x", {}, b"{}", 5.0)
        assert (await transport.request("GET", "/x", {}, None, 5.0)).status == 200
    finally:
        await transport.close()


async def test_the_fence_is_asked_again_when_a_connection_is_there(site: Site, entrance: Entrance) -> None:
    """The wait for one may have been longer than the lease: the write is not sent then."""
    fence = Fence()
    transport = await HTTPTransport.open(entrance, 1, fence)
    try:
        first = asyncio.create_task(transport.request("GET", "/slow", {}, None, 5.0))
        await asyncio.sleep(0)
        second = asyncio.create_task(transport.request("PATCH", "/x", {}, b"{}", 5.0))
        await fence.asked.wait()
        fence.left = None
        site.held.set()
        await first
        with pytest.raises(NotLeading):
            await second
    finally:
        await transport.close()


async def test_a_write_ends_with_the_lease(entrance: Entrance) -> None:
    """An answer that does not come in time is not waited for."""
    fence = Fence()
    fence.left = 0.05
    transport = await HTTPTransport.open(entrance, fence=fence)
    try:
        with pytest.raises(TimedOut):
            await transport.request("PATCH", "/slow", {}, b"{}", 30.0)
    finally:
        await transport.close()
