"""What the cache tells its listeners: when to look. What is there, they read from the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from rulesengine.cache.records import Record
from rulesengine.core.kinds import GroupVersionKind


class EventType(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    SYNCED = "SYNCED"  # the initial objects are all there; objects that are not, are absent
    STATUS = "STATUS"  # reading the kind became possible or impossible; see the handle's status
    UNREADABLE = "UNREADABLE"  # an object of the kind could not be decoded and is left out


@dataclass(frozen=True, slots=True)
class Event:
    """`own`: made known by an answer to this engine's own write, ahead of the watch.

    `initial`: part of the first listing, not news. `namespace` of SYNCED and STATUS says
    which part of the kind, "" for all of it.
    """

    type: EventType
    gvk: GroupVersionKind
    old: Record | None = None
    new: Record | None = None
    own: bool = False
    initial: bool = False
    namespace: str = ""

    @property
    def record(self) -> Record | None:
        """The newest state there is of the object it is about."""
        return self.new or self.old


Listener: TypeAlias = Callable[[Event], None]
