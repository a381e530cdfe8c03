"""An engine under test: started, settled, stopped, and started anew with empty caches."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from rulesengine import runtime
from rulesengine.client import Client
from rulesengine.core.errors import RulesEngineError
from rulesengine.testing.clock import MovableClock
from rulesengine.testing.wire import Wire

SOON = 1.0  # seconds: what is due within is waited for, as backoffs are
JUMPS = 40
RESTLESS = 30.0  # seconds after which an engine that goes on writing is said to do so

# Everything is told at once: a step looks at the status and the Events of the moment.
PROMPT = runtime.Settings(
    status_delay=0.0,
    status_interval=0.0,
    kinds_delay=0.0,
    kinds_second_look=0.0,
    events_burst=1000,
    events_interval=0.0,
    events_series=0.0,
)


class Restless(RulesEngineError):
    """The engine goes on and on."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How it is known that an engine has settled: it was idle for `rounds` looks, `tick` seconds apart.

    `jumps`: time that it waits for is not waited but jumped over. `patience`: seconds for what
    comes later all the same: a kind that is served a moment after its CRD, and, where the engine
    is not `alone`, what other controllers do.
    """

    tick: float = 0.0
    rounds: int = 40
    jumps: bool = True
    patience: float = 2.0
    alone: bool = True


IN_PROCESS = Pace()
REMOTE = Pace(tick=0.02, rounds=15, jumps=False, patience=60.0, alone=False)


@dataclass
class Running:
    """The engine of one case; `connection` goes over `wire`."""

    connection: Client
    wire: Wire
    clock: MovableClock
    pace: Pace
    engine: runtime.Engine | None = None
    task: asyncio.Task[None] | None = field(default=None)

    async def start(self) -> None:
        self.engine = runtime.Engine(self.connection, PROMPT, self.clock)
        self.task = asyncio.create_task(self.engine.run(), name="engine")
        started = asyncio.create_task(self.engine.started.wait())
        await asyncio.wait({started, self.task}, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            started.cancel()
            self.task.result()

    async def stop(self) -> None:
        if self.engine is not None and self.task is not None:
            self.engine.stop()
            await self.task
            self.wire.forget_watches()
        self.engine = self.task = None

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def advance(self, seconds: float) -> None:
        assert self.engine is not None
        self.clock.advance(seconds)
        self.engine.wake()

    async def settle(self) -> None:
        """Until nothing is under way and nothing is due soon. Raises Restless."""
        engine, pace = self.engine, self.pace
        assert engine is not None
        end = time.monotonic() + RESTLESS
        calm = jumps = 0
        while time.monotonic() < end:
            await asyncio.sleep(pace.tick)
            if self.task is not None and self.task.done():
                self.task.result()
            calm = calm + 1 if engine.idle and self.wire.quiet else 0
            if calm < pace.rounds:
                continue
            due = 0.0 if self._gathering() else engine.due_in
            if due is None or due > SOON or jumps > JUMPS:
                return
            if pace.jumps:
                self.advance(max(due, 0.05) if self._gathering() else due)
                jumps += 1
            calm = 0
        raise Restless(f"the engine has not come to rest within {RESTLESS:.0f} s")

    @property
    def complete(self) -> bool:
        """Whether nothing more can come: no rule waits for a kind, and nobody else is at work."""
        assert self.engine is not None
        controllers = self.engine.rules.controllers.values()
        return self.pace.alone and all(controller.blocked() is None for controller in controllers)

    def _gathering(self) -> bool:
        """Whether a rule still reads what it is about, and nothing hinders it."""
        assert self.engine is not None
        return any(
            controller.state is runtime.State.GATHERING and controller.blocked() is None
            for controller in self.engine.rules.controllers.values()
        )
