"""The process around an engine: its endpoints first, then the engine; stopped in the reverse.

Kubernetes asks /healthz while caches fill, and /readyz until the last piece of work is over, so
the endpoints outlive what they tell of.
"""

from __future__ import annotations

from rulesengine.client import Client
from rulesengine.core.settings import Settings
from rulesengine.runtime.elector import Elector
from rulesengine.runtime.engine import Engine


class Manager:
    """The client stays the caller's to close. Without an `elector` the engine is always at work."""

    def __init__(
        self, client: Client, settings: Settings | None = None, elector: Elector | None = None
    ) -> None:
        self.settings = settings or Settings()
        self._elector = elector
        self.engine = Engine(client, self.settings, lead=elector.lead if elector is not None else None)
        self.addresses: dict[str, str] = {}  # where endpoints listen, by what they serve

    async def run(self, *, signals: bool = False) -> None:
        """Until SIGTERM, SIGINT or `engine.stop`.

        Raises UsageError, NoOwnerKey, APIError from the start, LostLease when the engine had to stop.
        """
        settings = self.settings
        if not (settings.metrics_address or settings.health_address or settings.debug_address):
            await self._run(signals=signals)
            return
        # the server and the metrics are loaded where somebody wants them: 0.3 s
        from rulesengine.runtime.endpoints import Endpoints  # noqa: PLC0415
        from rulesengine.runtime.metrics import Metrics  # noqa: PLC0415

        elector = self._elector
        leading = (lambda: elector.leading) if elector is not None else self.engine.started.is_set
        endpoints = Endpoints(self.engine, Metrics(self.engine, leading), settings)
        try:
            await endpoints.start()
            self.addresses = endpoints.addresses
            await self._run(signals=signals)
        finally:
            await endpoints.stop()

    async def _run(self, *, signals: bool) -> None:
        try:
            await self.engine.run(signals=signals)
        finally:
            if self._elector is not None:
                # given back only when nothing of ours can reach the server any more
                await self._elector.stop(release=self.engine.complete)
