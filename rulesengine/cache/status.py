"""Whether a kind can be read at present, and if not, why: in words for the rule's status."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    SYNCING = "syncing"
    SYNCED = "synced"
    UNSERVED = "unserved"  # the kind is not there; its CRD may come
    FORBIDDEN = "forbidden"
    REFUSED = "refused"  # the server rejects the request itself, such as a field selector


@dataclass(frozen=True, slots=True)
class Status:
    """`why` is "" only when synced."""

    phase: Phase
    why: str = ""

    @property
    def synced(self) -> bool:
        return self.phase is Phase.SYNCED


_WORST_FIRST = (Phase.REFUSED, Phase.FORBIDDEN, Phase.UNSERVED, Phase.SYNCING, Phase.SYNCED)


def worst(statuses: list[Status]) -> Status:
    """What can be said of several parts of a kind together."""
    return min(statuses, key=lambda status: _WORST_FIRST.index(status.phase))
