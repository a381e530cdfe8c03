"""The process around an engine: its endpoints first, then the engine; stopped in the reverse.

Kubernetes asks /healthz while caches fill, and /readyz until the last piece of work is over, so
the endpoints outlive what they tell of.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rulesengine.client import Client
from rulesengine.core.clock import SystemClock
from rulesengine.core.settings import Settings
from rulesengine.runtime.elector import Elector
from rulesengine.runtime.engine import Engine

if TYPE_CHECKING:
    from rulesengine.runtime.endpoints import Endpoints


class Manager:
    """The client stays the caller's to close. Without an `elector` the engine is always at work."""

    def __init__(
        self, client: Client, settings: Settings | None = None, elector: Elector | None = None
    ) -> None:
        self.settings = settings or Settings()
        self._client = client
        self._elector = elector
        self.engine = Engine(client, self.settings, lead=elector.lead if elector is not None else None)
        self.addresses: dict[str, str] = {}  # where endpoints listen, by what they serve

    async def run(self, *, signals: bool = False) -> None:
        """Until SIGTERM, SIGINT or `engine.stop`.

        Raises UsageError, NoOwnerKey, APIError from the start, LostLease when the engine had to stop.
        """
        settings = self.settings
        served = (settings.metrics_address, settings.health_address, settings.debug_address)
        if not any((*served, settings.webhook_address)):
            await self._run(signals=signals)
            return
        # the server and the metrics are loaded where somebody wants them: 0.3 s
        from rulesengine.runtime.endpoints import Endpoints  # noqa: PLC0415
        from rulesengine.runtime.metrics import Metrics  # noqa: PLC0415

        endpoints = Endpoints(self.engine, Metrics(self.engine, self._leading), settings)
        self.addresses = endpoints.addresses
        keeping = None
        try:
            await endpoints.start()
            if settings.webhook_address:
                keeping = await self._review(endpoints)
            await self._run(signals=signals)
        finally:
            if keeping is not None:
                keeping.cancel()
                await asyncio.wait([keeping])
            await endpoints.stop()

    async def _review(self, endpoints: Endpoints) -> asyncio.Task[None]:
        """Serves the webhook; the task keeps its certificates."""
        from rulesengine.runtime.admission import Admission  # noqa: PLC0415
        from rulesengine.runtime.webhook import PATH, Keeper  # noqa: PLC0415 - cryptography: 0.1 s

        keeper = Keeper(self._client, self.settings, self._leading, SystemClock().now)
        await endpoints.review(PATH, Admission(self.engine.compiling).review, keeper.context)
        return asyncio.create_task(keeper.run(), name="webhook-certificates")

    def _leading(self) -> bool:
        return self.engine.started.is_set() and (self._elector is None or self._elector.leading)

    async def _run(self, *, signals: bool) -> None:
        try:
            await self.engine.run(signals=signals)
        finally:
            if self._elector is not None:
                # given back only when nothing of ours can reach the server any more
                await self._elector.stop(release=self.engine.complete)
