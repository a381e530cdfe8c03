"""The process around an engine: its endpoints first, then the engine; stopped in the reverse.

Kubernetes asks /healthz while caches fill, and /readyz until the last piece of work is over, so
the endpoints outlive what they tell of.
"""

from __future__ import annotations

from rulesengine.client import Client
from rulesengine.core.settings import Settings
from rulesengine.runtime.engine import Engine


class Manager:
    """The client stays the caller's to close."""

    def __init__(self, client: Client, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.engine = Engine(client, self.settings)
        self.addresses: dict[str, str] = {}  # where endpoints listen, by what they serve

    async def run(self, *, signals: bool = False) -> None:
        """Until SIGTERM, SIGINT or `engine.stop`. Raises UsageError, NoOwnerKey, APIError from the start."""
        settings = self.settings
        if not (settings.metrics_address or settings.health_address or settings.debug_address):
            await self.engine.run(signals=signals)
            return
        # the server and the metrics are loaded where somebody wants them: 0.3 s
        from rulesengine.runtime.endpoints import Endpoints  # noqa: PLC0415
        from rulesengine.runtime.metrics import Metrics  # noqa: PLC0415

        endpoints = Endpoints(self.engine, Metrics(self.engine), settings)
        try:
            await endpoints.start()
            self.addresses = endpoints.addresses
            await self.engine.run(signals=signals)
        finally:
            await endpoints.stop()
