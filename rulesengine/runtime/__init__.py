"""Rules that come and go, their work items in turn, and the engine that runs it all."""

from rulesengine.core.settings import Settings
from rulesengine.runtime import health
from rulesengine.runtime.controller import Controller, State
from rulesengine.runtime.elector import Elector, LostLease
from rulesengine.runtime.engine import Engine
from rulesengine.runtime.logs import configure
from rulesengine.runtime.manager import Manager
from rulesengine.runtime.oneshot import RuleForecast, SourceForecast, forecast, stored_rule
from rulesengine.runtime.queue import Priority, Queue
from rulesengine.runtime.secret import NoOwnerKey, read_key

__all__ = [
    "Controller",
    "Elector",
    "Engine",
    "LostLease",
    "Manager",
    "NoOwnerKey",
    "Priority",
    "Queue",
    "RuleForecast",
    "Settings",
    "SourceForecast",
    "State",
    "configure",
    "forecast",
    "health",
    "read_key",
    "stored_rule",
]
