"""Workers take work items from the queue and run their passes, side by side, for all rules."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from rulesengine.core.keys import Request
from rulesengine.core.measure import Histogram
from rulesengine.runtime.queue import Queue


class Outcome(Protocol):
    """When to look at the item again; see passes.Again."""

    @property
    def after(self) -> float | None: ...
    @property
    def failed(self) -> bool: ...


Run = Callable[[Request], Awaitable["Outcome | None"]]


class Workers:
    """`count` tasks. `run` must contain its own errors; None means that nothing remains to do."""

    def __init__(self, queue: Queue, run: Run, count: int, name: str = "worker") -> None:
        self._queue = queue
        self._run = run
        self._count = count
        self._name = name
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: dict[asyncio.Task[None], tuple[Request, float]] = {}  # since when
        self.worked = Histogram()
        self._stopping = False

    @property
    def busy(self) -> int:
        return len(self._busy)

    @property
    def running(self) -> dict[Request, float]:
        """The items under way, and for how many seconds."""
        now = time.monotonic()
        return {request: now - begun for request, begun in list(self._busy.values())}

    def start(self) -> None:
        for number in range(self._count):
            task = asyncio.create_task(self._work(), name=f"{self._name} {number}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self, drain: float) -> bool:
        """No new passes; those under way get so many seconds. Whether all came to their end."""
        self._stopping = True
        for task in self._tasks - self._busy.keys():
            task.cancel()
        if self._busy:
            await asyncio.wait(set(self._busy), timeout=drain)
        cut = set(self._busy)
        for task in cut:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        return not cut

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        while not self._stopping:
            request = await self._queue.take()
            begun = time.monotonic()
            self._busy[task] = (request, begun)
            after, failed = None, True
            try:
                outcome = await self._run(request)
                if outcome is None:
                    after, failed = None, False
                else:
                    after, failed = outcome.after, outcome.failed
            finally:
                del self._busy[task]
                self.worked.observe(time.monotonic() - begun)
                self._queue.done(request, after=after, failed=failed)
            await asyncio.sleep(0)  # settled items never wait for anything: others want their turn
