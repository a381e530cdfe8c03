"""What one rule sees of the cluster: the interests it holds in the cache, and how readable they are.

A view changes with the rule's generations; what stays is not released and acquired anew. It
decides nothing and hears nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from rulesengine.cache import Cache, CacheSnapshot, Event, Handle, Interest, Phase
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType

_SAID = {
    Phase.UNSERVED: "UnknownKind",
    Phase.FORBIDDEN: "Forbidden",
    Phase.REFUSED: "Refused",
    Phase.SYNCING: "Syncing",
}


class Kinds(Protocol):
    """Discovery without asking, as narrow as it is needed here."""

    def known(self, gvk: GroupVersionKind) -> ResourceType | None: ...
    def preferred(self, kind: GroupKind) -> GroupVersionKind | None: ...


class View:
    """`source` and `target` hear of the held kinds, by the role in which they are held."""

    def __init__(
        self, cache: Cache, kinds: Kinds, *, source: Callable[[Event], None], target: Callable[[Event], None]
    ) -> None:
        self._cache = cache
        self._listeners = {"source": source, "target": target}
        self._handles: dict[Interest, Handle] = {}
        self._by_kind: dict[GroupVersionKind, list[Handle]] = {}
        self._versions: dict[GroupKind, GroupVersionKind] = {}
        self._readable: tuple[GroupKind, ...] = ()
        self._phases: dict[Interest, Phase] = {}
        self.snapshot = CacheSnapshot(self._by_kind, kinds.known, lambda _: self._readable, self._version)

    def hold(self, wanted: Iterable[Interest]) -> None:
        """Acquires what is new before it releases what is not needed any more."""
        before, self._handles = self._handles, {}
        for interest in dict.fromkeys(wanted):
            held = before.pop(interest, None)
            listener = self._listeners[interest.role]
            self._handles[interest] = held or self._cache.acquire(interest, listener)
        for handle in before.values():
            self._cache.release(handle)
        self._by_kind.clear()
        self._versions.clear()
        for interest, handle in self._handles.items():
            self._by_kind.setdefault(interest.gvk, []).append(handle)
            if interest.role == "target":
                self._versions.setdefault(interest.gvk.group_kind, interest.gvk)
        self.look()

    def let_go(self, kinds: set[GroupKind]) -> None:
        """Releases targets of these kinds."""
        self.hold(i for i in self._handles if i.role != "target" or i.gvk.group_kind not in kinds)

    def look(self) -> dict[GroupVersionKind, tuple[Phase, Phase]]:
        """Notes how readable everything is by now; what changed since the last look, before and after."""
        before, self._phases = self._phases, {i: h.status.phase for i, h in self._handles.items()}
        # kinds that are not served hold nothing, and entries of forbidden ones say so themselves
        self._readable = tuple(
            interest.gvk.group_kind
            for interest, phase in self._phases.items()
            if interest.role == "target" and phase in (Phase.SYNCED, Phase.SYNCING)
        )
        return {
            interest.gvk: (before[interest], phase)
            for interest, phase in self._phases.items()
            if interest in before and before[interest] is not phase
        }

    # --- what is held ---

    @property
    def handles(self) -> tuple[Handle, ...]:
        return tuple(self._handles.values())

    def handle(self, interest: Interest | None) -> Handle | None:
        return self._handles.get(interest) if interest is not None else None

    @property
    def targets(self) -> tuple[Handle, ...]:
        """Where the rule makes objects, or once made some."""
        return tuple(handle for interest, handle in self._handles.items() if interest.role == "target")

    def without(self, rule: RuleKey, named: Iterable[GroupVersionKind]) -> set[GroupKind]:
        """The target kinds that are not `named` and hold nothing that claims to be of the rule."""
        kinds = {gvk.group_kind for gvk in named}
        return {
            handle.gvk.group_kind
            for handle in self.targets
            if handle.gvk.group_kind not in kinds and handle.synced and not handle.store.claimed(rule)
        }

    def surplus(self, named: Iterable[GroupVersionKind]) -> bool:
        """Whether target kinds are held that are not `named`."""
        kinds = {gvk.group_kind for gvk in named}
        return any(handle.gvk.group_kind not in kinds for handle in self.targets)

    # --- how readable it is ---

    @property
    def gathered(self) -> bool:
        """Of every kind it is known what is there, or that it cannot be known for now."""
        return all(handle.status.phase is not Phase.SYNCING for handle in self._handles.values())

    @property
    def obstructed(self) -> bool:
        """Whether something of the rule may be where it cannot be seen."""
        unseen = (Phase.FORBIDDEN, Phase.REFUSED, Phase.SYNCING)
        return any(handle.status.phase in unseen for handle in self._handles.values())

    def obstacle(self, *, syncing: bool) -> tuple[str, str] | None:
        """A word and a sentence for what cannot be read, the most lasting first."""
        for phase, word in _SAID.items():
            for handle in self._handles.values():
                if handle.status.phase is phase and (syncing or phase is not Phase.SYNCING):
                    return word, handle.status.why
        return None

    def _version(self, kind: GroupKind) -> GroupVersionKind:
        return self._versions.get(kind) or GroupVersionKind(kind.group, "v1", kind.kind)
