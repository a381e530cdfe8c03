"""Plays a case: makes its state, starts an engine, goes through its steps, and sees that it stays still.

The same on the embedded server in this process and on a real one: a `Stage` has the server,
the clock and the pace. The case's rules are real objects in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rulesengine import api, embedded
from rulesengine.api import Path
from rulesengine.client import APIError, Client, Discovery, OpenAPI, Transport
from rulesengine.core.errors import FindingsError, RulesEngineError
from rulesengine.core.json import Object
from rulesengine.runtime.compiling import Compiling
from rulesengine.testing.cases import (
    Advance,
    Case,
    Edit,
    Expect,
    Operation,
    Restart,
    WatchFault,
    WriteFault,
)
from rulesengine.testing.clock import MovableClock
from rulesengine.testing.cluster import Cluster, in_process
from rulesengine.testing.expectations import problems
from rulesengine.testing.outcome import what_came_out
from rulesengine.testing.reasons import reasons
from rulesengine.testing.running import IN_PROCESS, PROMPT, REMOTE, Pace, Running
from rulesengine.testing.user import User, explained
from rulesengine.testing.verdicts import Add, Correction, Problem, Verdict
from rulesengine.testing.wire import Wire


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a case is played. `user` is the user's own client, `running` the engine on its wire."""

    user: User
    connection: Client
    running: Running

    @property
    def wire(self) -> Wire:
        return self.running.wire


@asynccontextmanager
async def embedded_stage(case: Case) -> AsyncIterator[Stage]:
    """A new server in this process, for one case."""
    clock = MovableClock(case.clock)
    server = embedded.Server(clock=clock)
    async with in_process(server) as cluster:
        yield _stage(cluster, clock, IN_PROCESS)


@asynccontextmanager
async def real_stage(connection: Client, case: Case) -> AsyncIterator[Stage]:
    """A real cluster that is one's own: afterwards what the case put there is removed."""
    cluster = Cluster(connection)
    user = User(cluster, REMOTE.patience)
    for crd in api.crds():
        await cluster.apply(crd)
        await user.served(crd)
    stage = _stage(cluster, MovableClock(case.clock), REMOTE)
    try:
        yield stage
    finally:
        await _clear(stage, case)


def _stage(cluster: Cluster, clock: MovableClock, pace: Pace) -> Stage:
    wires: list[Wire] = []

    def wrap(inner: Transport) -> Wire:
        # a server in this process has the clock of the case itself
        read = _as_it_is if pace.alone else clock.translated
        wires.append(Wire(inner, PROMPT.namespace, read))
        return wires[0]

    async def jump(seconds: float) -> None:
        clock.advance(seconds)
        await asyncio.sleep(0)

    connection = cluster.connection.through(wrap, jump if pace.jumps else None)
    running = Running(connection, wires[0], clock, pace)
    return Stage(User(cluster, pace.patience), cluster.connection, running)


def _as_it_is(text: bytes) -> bytes:
    return text


async def _clear(stage: Stage, case: Case) -> None:
    """Rules first, while an engine is there to clean up after them; then what the case made."""
    user, running = stage.user, stage.running
    rules = [rule.value for rule in case.rules]
    if running.engine is None:
        await running.start()
    for rule in rules:
        await user.remove(rule)
    await user.gone(rules)
    await running.stop()
    left = [body for body in reversed(user.touched) if body.get("kind") not in ("ClusterRule", "Rule")]
    for body in left:
        await user.remove(body)
    # an empty namespace takes its time: whoever wants one of that name waits for it then
    await user.gone([body for body in left if body.get("kind") != "Namespace"])


async def play(case: Case, stage: Stage, *, all_steps: bool = False) -> Verdict:
    """What comes of the case. `all_steps`: goes on after a step that fails, to learn what comes out."""
    start = time.monotonic()
    player = _Player(case, stage, all_steps=all_steps)
    try:
        await player.play()
    except APIError as error:
        player.failed(player.path, f"the server refused: {explained(error)}")
    except FindingsError as error:
        player.failed(player.path, "\n".join(finding.render() for finding in error.findings))
    except RulesEngineError as error:
        player.failed(player.path, str(error))
    finally:
        await stage.running.stop()
    return Verdict(
        case.file,
        time.monotonic() - start,
        tuple(player.problems),
        player.step,
        tuple(player.did),
        tuple(player.why),
        tuple(player.corrections),
    )


class _Player:
    def __init__(self, case: Case, stage: Stage, *, all_steps: bool) -> None:
        self._case = case
        self._stage = stage
        self._all = all_steps
        self.path: Path = ()  # what is being done, for errors
        self.problems: list[Problem] = []
        self.step: int | None = None
        self.did: list[str] = []
        self.why: list[str] = []
        self.corrections: list[Correction] = []

    async def play(self) -> None:
        case, stage = self._case, self._stage
        for name, bodies in (("crds", case.crds), ("state", case.state)):
            self.path = (name,)
            for body in bodies:
                await stage.user.make(body)
        self.path = ("rules",)
        if case.rejects:
            await self._rejects()
            return
        for rule in case.rules:
            await stage.user.make(rule.value)
        await stage.running.start()
        for index in range(len(case.steps)):
            await self._step(index)
            if self.problems and not self._all:
                return
        if case.settled and not self.problems:
            await self._stays_settled()

    async def _rejects(self) -> None:
        """The rules are compiled as the engine does it: exactly the given codes come out."""
        connection = self._stage.connection
        discovery = Discovery(connection)
        await discovery.refresh()
        compiling = Compiling(discovery, OpenAPI(connection))
        found: dict[str, str] = {}
        for rule in self._case.rules:
            try:
                await compiling.compile(rule.value)
            except FindingsError as error:
                found |= {f.code: f"{f.code}: {f.message} ({f.path})" for f in error.findings}
        if set(found) == set(self._case.rejects):
            return
        said = "\n".join(found.values()) or "the rules are accepted"
        expected = ", ".join(self._case.rejects)
        self.failed(("rejects",), f"expected {expected}, found {', '.join(found) or 'nothing'}", said)

    async def _step(self, index: int) -> None:
        step, path = self._case.steps[index], ("steps", index)
        wire = self._stage.wire
        if index:
            wire.mark()
        elif step.operations:
            await self._stage.running.settle()  # the start is over before the user does anything
        for number, operation in enumerate(step.operations):
            self.path = (*path, "do", number)
            await self._do(operation)
        self.path = (*path, "expect")
        await self._stage.running.settle()
        if step.expect is None:
            if self._all:
                came = await what_came_out(wire, self._stage.user)
                self.corrections.append(Add(path, "expect", came))
            return
        found = await self._eventually(step.expect, self.path)
        if not found:
            return
        self.corrections += [one for problem in found for one in problem.corrections]
        if not self.problems:
            self.step = index
            await self._account()
        self.problems += found

    async def _eventually(self, expect: Expect, path: Path) -> list[Problem]:
        """What others do may come a moment later; what the engine itself does has come."""
        stage = self._stage
        end = time.monotonic() + stage.running.pace.patience
        while True:
            found = await problems(self._case, expect, path, stage.user, stage.wire)
            late = any(problem.path[3:4] != ("changes",) for problem in found)
            if not late or stage.running.complete or time.monotonic() > end or await self._is_refused():
                return found
            await asyncio.sleep(stage.running.pace.tick or 0.02)
            await stage.running.settle()

    async def _is_refused(self) -> bool:
        """Whether a rule does not compile: nothing more will come of it."""
        for rule in await self._rules():
            status = rule.get("status")
            for condition in status.get("conditions") or () if isinstance(status, dict) else ():
                if condition.get("type") == "Accepted" and condition.get("status") == "False":
                    return True
        return False

    async def _stays_settled(self) -> None:
        running, wire = self._stage.running, self._stage.wire
        self.path = ()
        for restart in (False, False, True):
            wire.mark()
            if restart:
                await running.restart()
            await running.settle()
            moved = [write for write in wire.writes if write.what]
            if moved:
                when = "after a restart" if restart else "although nothing happened"
                await self._account()
                self.failed(("steps",), f"it is not settled: {len(moved)} more writes {when}")
                return

    async def _do(self, operation: Operation) -> None:
        running, wire = self._stage.running, self._stage.wire
        match operation:
            case Restart():
                await running.restart()
            case Advance(seconds=seconds):
                await running.settle()  # what came before belongs to the time before
                running.advance(seconds)
            case WatchFault(expired=expired, times=times):
                wire.end_watches(expired=expired, times=times)
            case WriteFault(status=status, times=times):
                wire.refuse_writes(status, times)
            case Edit():
                await self._stage.user.edit(operation)

    # --- what is said about a failure ---

    def failed(self, path: Path, message: str, detail: str = "") -> None:
        self.problems.append(Problem(path, message, detail))

    async def _account(self) -> None:
        """What the engine did since the step began, and why it did not do more."""
        stage = self._stage
        self.did = [str(write) for write in stage.wire.writes]
        self.why = await reasons(stage.connection, await self._rules(), stage.running.clock)

    async def _rules(self) -> Sequence[Object]:
        found = [await self._stage.user.get(rule.value) for rule in self._case.rules]
        return [rule for rule in found if rule is not None]
