"""From plan to writes, at the edge: what needs a request, the request, and what its answer means."""

from rulesengine.apply.breaker import Breaker
from rulesengine.apply.dry import DryRun, Forecast
from rulesengine.apply.executor import Executor
from rulesengine.apply.ledger import Books
from rulesengine.apply.memory import Memory
from rulesengine.apply.preview import Preview
from rulesengine.apply.recorder import EventSettings, Recorder

__all__ = [
    "Books",
    "Breaker",
    "DryRun",
    "EventSettings",
    "Executor",
    "Forecast",
    "Memory",
    "Preview",
    "Recorder",
]
