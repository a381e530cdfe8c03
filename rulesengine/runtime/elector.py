"""The election in a thread of its own, with a connection of its own: a busy loop keeps its lease.

What the two threads share is read in one step each: whether the lease is held, and until when.
`seconds_left` is asked right before each write is sent (client/http.py), so that an engine that
was stopped and resumed sends nothing on the strength of what it knew before.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rulesengine.client import Client, NotLeading
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.settings import Settings
from rulesengine.runtime.election import Candidate, Times

logger = logging.getLogger(__name__)

BEAT = 1.0  # seconds between signs of life of the loop that does the work


class LostLease(RulesEngineError):
    """Another engine is at work now, or may be: this one has stopped at once."""


def own_name() -> str:
    """The pod's name where there is one, and something that no other start has."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class _Hold:
    """Since when the lease is held; replaced as a whole, so that it is read in one step."""

    begin_until: float
    end_until: float


class Elector:
    """`connect` opens the election's own connection. Starts when `lead` is awaited."""

    def __init__(
        self,
        settings: Settings,
        connect: Callable[[], Awaitable[Client]],
        *,
        identity: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = identity or own_name()
        self._namespace = settings.namespace
        self._times = Times(
            settings.leader_elect_lease_duration,
            settings.leader_elect_renew_deadline,
            settings.leader_elect_retry_period,
        )
        self._connect = connect
        self._monotonic = monotonic
        self._hold: _Hold | None = None
        self._beat_at = monotonic()
        self._beating: asyncio.TimerHandle | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop that does the work
        self._end: Callable[[], object] = lambda: None
        self._ended = False
        self._release = False
        self._lost: Callable[[], None] = lambda: None
        self._acquired = asyncio.Event()

    @property
    def leading(self) -> bool:
        hold = self._hold
        return hold is not None and self._monotonic() < hold.begin_until

    def seconds_left(self) -> float:
        """How long a write that begins now may take. Raises NotLeading where none may begin."""
        hold, now = self._hold, self._monotonic()
        if hold is None or now >= hold.begin_until:
            raise NotLeading("this engine does not hold the lease", sent=False)
        return hold.end_until - now

    async def lead(self, lost: Callable[[], None]) -> None:
        """Returns when this engine holds the lease; `lost` is called, once, when it does no more."""
        self._loop = asyncio.get_running_loop()
        self._lost = lost
        self._beat()
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)
        self._thread.start()
        await self._acquired.wait()

    async def stop(self, *, release: bool) -> None:
        """Ends the election; `release`: no write of this engine is under way any more."""
        if self._beating is not None:
            self._beating.cancel()
        self._release = release
        self._ended = True
        self._end()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _beat(self) -> None:
        self._beat_at = self._monotonic()
        self._beating = asyncio.get_running_loop().call_later(BEAT, self._beat)

    # --- in the thread ---

    def _run(self) -> None:
        try:
            asyncio.run(self._campaign())
        except Exception as error:  # noqa: BLE001 - without an election nothing may be written
            logger.error("the election failed", extra={"error": type(error).__name__})  # noqa: TRY400
        finally:
            self._give_way()

    async def _campaign(self) -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._end = lambda: loop.call_soon_threadsafe(ended.set)
        async with await self._connect() as client:
            candidate = Candidate(
                client,
                self._namespace,
                self.identity,
                self._times,
                monotonic=self._monotonic,
                heart=lambda: self._monotonic() - self._beat_at,
            )
            told = ""
            while not self._ended:
                await candidate.attempt()
                if candidate.holding:
                    self._take_over(candidate)
                elif self._hold is not None:
                    return
                elif candidate.holder and candidate.holder != told:
                    told = candidate.holder
                    logger.info("standing by", extra={"leader": told})
                await _wait(ended, candidate.pause)
            if self._release:
                self._hold = None
                await candidate.release()

    def _take_over(self, candidate: Candidate) -> None:
        begun, first = candidate.renewed, self._hold is None
        self._hold = _Hold(candidate.deadline, begun + self._times.lease_duration)
        if first and self._loop is not None:
            logger.info("leading", extra={"identity": self.identity})
            self._loop.call_soon_threadsafe(self._acquired.set)

    def _give_way(self) -> None:
        held, self._hold = self._hold is not None, None
        if held and not self._release and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lost)


async def _wait(ended: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    except TimeoutError:
        return
