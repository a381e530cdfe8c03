"""The election with injected clocks and a Lease in memory: never two, whatever clocks and networks do."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rulesengine.client import Client, Response, Retries, Unreachable
from rulesengine.core import json
from rulesengine.runtime.election import NAME, Candidate, Times

TIMES = Times(15.0, 10.0, 2.0)
PATH = f"/apis/coordination.k8s.io/v1/namespaces/engine/leases/{NAME}"


class Server:
    """One Lease, with resourceVersions. `down` are those who cannot reach it."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.namespace = True
        self.version = 0
        self.down: set[str] = set()
        self.writes: list[str] = []
        self.answer: Response | Exception | None = None

    def store(self, body: Any) -> Response:
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.lease = body
        self.writes.append(body["spec"]["holderIdentity"])
        return Response(200, {}, json.encode(body))


class Wire:
    server = "fake"

    def __init__(self, server: Server, who: str) -> None:
        self._server = server
        self._who = who

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response:
        server = self._server
        if self._who in server.down:
            raise Unreachable("cut", sent=False)
        if server.answer is not None:
            if isinstance(server.answer, Exception):
                raise server.answer
            return server.answer
        found = json.decode(body) if body else None
        if path.partition("?")[0] == "/api/v1/namespaces":
            server.namespace = True
            return Response(201, {}, json.encode(found))
        if not server.namespace or (server.lease is None and method != "POST"):
            return refusal(404, "NotFound")
        match method:
            case "GET":
                return Response(200, {}, json.encode(server.lease))
            case "POST" if server.lease is not None:
                return refusal(409, "AlreadyExists")
            case "PUT" if found["metadata"]["resourceVersion"] != str(server.version):
                return refusal(409, "Conflict")
            case _:
                return server.store(found)

    @asynccontextmanager
    async def stream(self, *_: Any) -> Any:
        raise AssertionError("nothing is watched")
        yield

    async def close(self) -> None:
        pass


def refusal(code: int, reason: str) -> Response:
    return Response(code, {}, json.encode({"kind": "Status", "reason": reason, "code": code}))


class Engine:
    """A candidate with clocks of its own; `writing` is whether it would send a write now."""

    def __init__(self, server: Server, name: str, *, skew: float = 0.0) -> None:
        self.name = name
        self.time = 1000.0
        self.hung = 0.0
        wall = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(seconds=skew)
        self.candidate = Candidate(
            Client(Wire(server, name), retries=Retries(attempts=1)),
            "engine",
            name,
            TIMES,
            monotonic=lambda: self.time,
            now=lambda: wall + timedelta(seconds=self.time),
            heart=lambda: self.hung,
        )

    @property
    def writing(self) -> bool:
        return self.time < self.candidate.deadline


@pytest.fixture
def server() -> Server:
    return Server()


async def test_the_first_takes_it_and_the_second_waits(server: Server) -> None:
    """And the namespace is made where there is none yet."""
    server.namespace = False
    a, b = Engine(server, "a"), Engine(server, "b")
    assert await a.candidate.attempt()
    assert not await b.candidate.attempt()
    assert (a.writing, b.writing) == (True, False)
    assert b.candidate.holder == "a"
    spec = server.lease["spec"]
    assert spec["leaseDurationSeconds"] == 15
    assert spec["leaseTransitions"] == 0
    assert spec["renewTime"].endswith("Z")


async def test_a_dead_leader_is_followed_when_its_lease_ran_out(server: Server) -> None:
    """Not a moment before, counted from when the last renewal was seen; no sooner asked than needed."""
    a, b = Engine(server, "a"), Engine(server, "b")
    await a.candidate.attempt()
    await b.candidate.attempt()
    b.time += 14.9
    assert not await b.candidate.attempt()
    assert b.candidate.pause == pytest.approx(0.1)
    b.time += b.candidate.pause
    assert await b.candidate.attempt()
    assert server.lease["spec"]["leaseTransitions"] == 1


@pytest.mark.parametrize("skew", [-7200.0, -300.0, 300.0, 7200.0])
async def test_a_wrong_clock_neither_steals_nor_loses(server: Server, skew: float) -> None:
    """Clocks are not compared; only whether the Lease changed is."""
    a, b = Engine(server, "a"), Engine(server, "b", skew=skew)
    await a.candidate.attempt()
    for _ in range(30):
        for engine in (a, b):
            engine.time += 2.0
        assert await a.candidate.attempt()
        assert not await b.candidate.attempt()


async def test_who_is_cut_off_stops_before_another_may_begin(server: Server) -> None:
    """Deadline of the one lies before the other's turn, by the margin."""
    a, b = Engine(server, "a"), Engine(server, "b")
    await a.candidate.attempt()
    await b.candidate.attempt()
    server.down.add("a")
    for _ in range(4):
        a.time += 2.0
        assert not await a.candidate.attempt()
        assert a.writing
    a.time += 2.0
    assert not a.writing
    assert not await a.candidate.attempt()
    assert not a.candidate.holding


async def test_who_was_stopped_and_goes_on_holds_nothing(server: Server) -> None:
    """Its clock went on, and no answer of before counts; it does not renew what ran out."""
    a, b = Engine(server, "a"), Engine(server, "b")
    await a.candidate.attempt()
    await b.candidate.attempt()
    a.time += 60.0
    assert not a.writing
    b.time += 60.0
    assert await b.candidate.attempt()
    assert not await a.candidate.attempt()
    assert not a.candidate.holding
    assert server.writes == ["a", "b"]


async def test_a_hung_loop_is_not_renewed_for(server: Server) -> None:
    """The thread lives, the work does not."""
    a = Engine(server, "a")
    await a.candidate.attempt()
    a.hung = 10.0
    a.time += 2.0
    assert not await a.candidate.attempt()
    assert server.writes == ["a"]


@pytest.mark.parametrize(
    "answer",
    [
        refusal(500, "InternalError"),
        refusal(403, "Forbidden"),
        Response(200, {}, b"no json"),
        Response(200, {}, b"[]"),
        Response(200, {}, b'{"spec": {"leaseTransitions": "x"}}'),
        RuntimeError("a defect"),
        TimeoutError(),
    ],
)
async def test_any_failure_counts_as_one(server: Server, answer: Response | Exception) -> None:
    """It never raises, and holds no longer than the deadline."""
    a = Engine(server, "a")
    await a.candidate.attempt()
    server.answer = answer
    a.time += 2.0
    assert not await a.candidate.attempt()
    assert a.writing
    server.answer = None
    a.time += 2.0
    assert await a.candidate.attempt()


async def test_what_is_given_back_is_taken_at_once(server: Server) -> None:
    """And nothing is given back that another has."""
    a, b = Engine(server, "a"), Engine(server, "b")
    await a.candidate.attempt()
    await b.candidate.attempt()
    await a.candidate.release()
    assert not a.writing
    assert await b.candidate.attempt()
    await a.candidate.release()
    assert server.lease["spec"]["holderIdentity"] == "b"


async def test_of_two_at_once_one_wins(server: Server) -> None:
    """The server refuses the second: what it read was changed."""
    a, b, c = (Engine(server, name) for name in "abc")
    await a.candidate.attempt()
    await b.candidate.attempt()
    await c.candidate.attempt()
    b.time = c.time = 1016.0
    won = [await b.candidate.attempt(), await c.candidate.attempt()]
    assert won == [True, False]


@pytest.mark.parametrize("seed", range(20))
async def test_never_two_write(server: Server, seed: int) -> None:
    """Cuts, stops, hangs and attempts at random moments; clocks that run up to 10 % apart."""
    chance = random.Random(seed)
    engines = [Engine(server, name, skew=chance.uniform(-1e4, 1e4)) for name in "abc"]
    speeds = [chance.uniform(0.95, 1.05) for _ in engines]
    due = [0.0] * len(engines)
    stopped = [0.0] * len(engines)
    now, led = 0.0, set()
    for _ in range(1500):
        step = chance.uniform(0.05, 1.0)
        now += step
        for engine, speed in zip(engines, speeds, strict=True):
            engine.time += step * speed
        event = chance.random()
        victim = chance.randrange(len(engines))
        if event < 0.02:
            server.down ^= {engines[victim].name}
        elif event < 0.04:
            stopped[victim] = now + chance.uniform(1, 40)
        elif event < 0.05:
            engines[victim].hung = chance.choice([0.0, 20.0])
        writing = [e.name for e in engines if e.writing]
        assert len(writing) <= 1, writing
        led |= set(writing)
        for index, engine in enumerate(engines):
            if now >= due[index] and now >= stopped[index]:
                await engine.candidate.attempt()
                due[index] = now + engine.candidate.pause
        assert sum(e.writing for e in engines) <= 1
    assert len(led) > 1, "nothing happened"
