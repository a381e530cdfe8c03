"""What the cluster holds, as far as rules need it: followed, kept small, read without waiting."""

from rulesengine.cache.cache import Cache, Handle, Interest
from rulesengine.cache.events import Event, EventType
from rulesengine.cache.records import Record, changed
from rulesengine.cache.settings import Settings
from rulesengine.cache.snapshot import CacheSnapshot
from rulesengine.cache.status import Phase, Status
from rulesengine.cache.store import Store

__all__ = [
    "Cache",
    "CacheSnapshot",
    "Event",
    "EventType",
    "Handle",
    "Interest",
    "Phase",
    "Record",
    "Settings",
    "Status",
    "Store",
    "changed",
]
