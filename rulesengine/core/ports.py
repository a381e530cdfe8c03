"""What the pure stages need from the outside, as protocols that stdlib types can meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey, RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType


class Live(Protocol):
    """One object as the cache has it."""

    @property
    def key(self) -> ObjectKey: ...
    @property
    def uid(self) -> str: ...
    @property
    def version(self) -> int:
        """The resourceVersion as a number; comparable within one resource (Kubernetes 1.35)."""
        ...

    @property
    def created(self) -> str:
        """metadata.creationTimestamp, RFC 3339."""
        ...

    @property
    def deleting(self) -> bool:
        """Whether metadata.deletionTimestamp is set."""
        ...

    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def claim(self) -> str:
        """The text of annotation `rulesengine.dev/owner`, or ""."""
        ...

    @property
    def owners(self) -> tuple[str, ...]:
        """The uids of metadata.ownerReferences."""
        ...

    @property
    def foreign(self) -> bool:
        """True when only the identity was kept: a target kind's object without a claim."""
        ...

    def fields(self) -> Object:
        """The fields that the rules read (a projection; at least metadata's identity)."""
        ...

    def object(self) -> Object:
        """The whole object; of managedFields only the entries of our managers.

        For a foreign record: its identity only.
        """
        ...


@dataclass(frozen=True, slots=True)
class Absent:
    """Read and not there. `since`: when it was seen to go, None if it was never seen here."""

    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not known: forbidden, not synced, not served. Never the same as absent.

    `why` is for people and ends up on the rule: "secrets: forbidden", "kind Foo.example.com
    is not served".
    """

    why: str
    kind: GroupVersionKind | None = None


class Snapshot(Protocol):
    """What one work item sees of the cluster: caches only, no I/O."""

    def resource(self, gvk: GroupVersionKind) -> ResourceType | None:
        """What discovery says of a kind; None when it is not served."""
        ...

    def version(self, kind: GroupKind) -> GroupVersionKind:
        """The version in which a written kind is watched, for kinds the rule no longer names."""
        ...

    def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> Live | Absent | Unreadable:
        """One object of a kind the rule watches."""
        ...

    def made(self, rule: RuleKey, namespace: str, name: str) -> Iterable[Live] | Unreadable:
        """Every object whose claim names this rule and this source, over all written kinds.

        Claims are not verified here. Unreadable when any of the written kinds is.
        """
        ...

    def written_kinds(self, rule: RuleKey) -> tuple[GroupKind, ...]:
        """The kinds that the rule's status lists as written."""
        ...
