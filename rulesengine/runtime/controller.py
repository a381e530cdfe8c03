"""One rule at work: what it sees, what it was made into, and how far it is.

A controller lives as long as its rule and outlasts its generations. It holds the interests in
the cache, turns events of sources into work items, plans them, and counts what became of them.
Who decides about its life is the rule controller (`rules.py`); who runs its passes are the
workers; nothing is sent from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from itertools import chain
from typing import Protocol

from rulesengine.cache import Cache, CacheSnapshot, Event, EventType, Handle, Interest, Phase
from rulesengine.compiler.rule import CompiledRule, Mode
from rulesengine.core.clock import Clock
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType
from rulesengine.reconcile import Context, Item, Ownership, Tally, Verdict, cleanup, plan
from rulesengine.reconcile.plan import Plan
from rulesengine.runtime.interests import (
    namespace_interest,
    reads_own,
    source_interest,
    target_interests,
)
from rulesengine.runtime.queue import Priority, Queue
from rulesengine.runtime.routing import NamespaceRoute, SourceRoute, claimant


class State(Enum):
    IDLE = "idle"  # nothing is done: not compiled (yet), or suspended
    GATHERING = "gathering"  # waits for its caches
    ACTIVE = "active"
    CLEANING = "cleaning"  # the rule is being deleted: what it made goes


class Kinds(Protocol):
    """Discovery without asking, as narrow as it is needed here."""

    def known(self, gvk: GroupVersionKind) -> ResourceType | None: ...
    def preferred(self, kind: GroupKind) -> GroupVersionKind | None: ...


@dataclass(frozen=True, slots=True)
class Around:
    """What every controller shares. `changed` is told of what may move a rule's status;
    `fill` runs a long enqueueing in the background; `served` hears that a kind came to be.
    """

    cache: Cache
    kinds: Kinds
    queue: Queue
    clock: Clock
    ownership: Ownership
    namespace: str
    changed: Callable[[RuleKey], None]
    served: Callable[[RuleKey, GroupVersionKind], None]
    finished: Callable[[RuleKey], None]
    fill: Callable[[RuleKey, Iterator[Request]], None]


@dataclass(eq=False)
class Controller:
    """See the module. `written` are the kinds it may have made objects of."""

    key: RuleKey
    around: Around
    rule: CompiledRule | None = None
    state: State = State.IDLE
    written: set[GroupKind] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)
    rejected: str = ""  # why the present generation does not compile
    observes: bool = False  # whether expressions read what the rule itself makes
    seen: bytes = b""  # the state of the rule that `rule` or `rejected` is about

    def __post_init__(self) -> None:
        self._handles: dict[Interest, Handle] = {}
        self._by_kind: dict[GroupVersionKind, list[Handle]] = {}
        self._phases: dict[Interest, Phase] = {}
        self._readable: tuple[GroupKind, ...] = ()
        self._surplus: list[Handle] = []  # targets of earlier generations
        self._versions: dict[GroupKind, GroupVersionKind] = {}
        self._source: SourceRoute | None = None
        self._spaces: NamespaceRoute | None = None
        self._unplanned: set[Request] = set()
        self._filling = False
        self._epoch = 0  # a change of it ends what is still being enqueued
        self._started: datetime = self.around.clock.now()
        self._settling_since = self.around.clock.monotonic()
        self._snapshot = CacheSnapshot(
            self._by_kind, self.around.kinds.known, lambda _: self._readable, self._version
        )

    # --- life ---

    def use(self, rule: CompiledRule) -> None:
        """Works by this generation from now on: all of its work items are looked at."""
        self.rule, self.rejected = rule, ""
        self.observes = reads_own(rule)
        self._reset()
        self._source = SourceRoute.of(rule) if rule.source is not None else None
        self._spaces = NamespaceRoute.of(rule)
        if rule.mode is Mode.SUSPENDED:
            self._hold([])
            self.state = State.IDLE
            self.around.changed(self.key)
            return
        wanted = target_interests(rule, self.written, self._served)
        wanted += [i for i in (source_interest(rule), namespace_interest(rule)) if i is not None]
        self._begin(State.GATHERING, wanted)

    def clean(self, rule: CompiledRule) -> None:
        """The rule is being deleted: everything proven to be its own goes, in any mode."""
        self.rule = rule
        self._reset()
        self._source = self._spaces = None
        self._begin(State.CLEANING, target_interests(rule, self.written, self._served))

    def freeze(self, why: str) -> None:
        """The present generation does not compile: nothing is done, watches stay."""
        self.rejected = why
        self.state = State.IDLE
        self._stop()
        self.around.changed(self.key)

    def close(self) -> None:
        """Lets go of everything; the controller is of no use afterwards."""
        self.state = State.IDLE
        self._stop()
        self._hold([])

    def again(self) -> None:
        """Everything is looked at once more, without hurry."""
        if self.state is State.ACTIVE or (self.state is State.CLEANING and self.gathered):
            self._fill()

    def _reset(self) -> None:
        self._stop()
        self.tally = Tally()
        self._settling_since = self.around.clock.monotonic()

    def _stop(self) -> None:
        self.around.queue.forget(self.key)
        self._unplanned.clear()
        self._filling = False
        self._epoch += 1

    def _begin(self, state: State, wanted: list[Interest]) -> None:
        self.state = state
        self._hold(wanted)
        self._check()

    # --- what it sees ---

    def _served(self, kind: GroupKind) -> GroupVersionKind | None:
        return self.around.kinds.preferred(kind)

    def _version(self, kind: GroupKind) -> GroupVersionKind:
        return self._versions.get(kind) or GroupVersionKind(kind.group, "v1", kind.kind)

    def _hold(self, wanted: Iterable[Interest]) -> None:
        """Acquires what is new before it releases what is not needed: what stays is not disturbed."""
        interests = dict.fromkeys(wanted)
        before, self._handles = self._handles, {}
        for interest in interests:
            listener = self._hear if interest.role == "source" else self._hear_target
            held = before.pop(interest, None) or self.around.cache.acquire(interest, listener)
            self._handles[interest] = held
        for handle in before.values():
            self.around.cache.release(handle)
        self._by_kind.clear()
        self._versions.clear()
        for interest, handle in self._handles.items():
            self._by_kind.setdefault(interest.gvk, []).append(handle)
            if interest.role == "target":
                self._versions.setdefault(interest.gvk.group_kind, interest.gvk)
        self._phases = {i: h.status.phase for i, h in self._handles.items()}
        named = {gvk.group_kind for gvk in self.rule.target_kinds} if self.rule is not None else set()
        self._surplus = [
            handle
            for interest, handle in self._handles.items()
            if interest.role == "target" and interest.gvk.group_kind not in named
        ]
        self._note_readable()

    def _note_readable(self) -> None:
        """Kinds that are not served hold nothing, and entries of forbidden ones say so themselves."""
        self._readable = tuple(
            interest.gvk.group_kind
            for interest, handle in self._handles.items()
            if interest.role == "target" and handle.status.phase in (Phase.SYNCED, Phase.SYNCING)
        )

    @property
    def gathered(self) -> bool:
        """Of every kind it is known what is there, or that it cannot be known for now."""
        return all(handle.status.phase is not Phase.SYNCING for handle in self._handles.values())

    @property
    def handles(self) -> tuple[Handle, ...]:
        return tuple(self._handles.values())

    def _check(self) -> None:
        if self.state is State.GATHERING and self.gathered:
            self.state = State.ACTIVE
            self._started = self.around.clock.now()
            self._fill()
        elif self.state is State.CLEANING and self.gathered:
            self._fill()
        self.around.changed(self.key)

    # --- events ---

    def _hear_target(self, event: Event) -> None:
        """Changes of what it made come by their claims; here only whether the kind can be read."""
        if event.type in (EventType.SYNCED, EventType.STATUS):
            self._hear_status()

    def _hear(self, event: Event) -> None:
        match event.type:
            case EventType.SYNCED | EventType.STATUS:
                self._hear_status()
            case EventType.ADDED | EventType.MODIFIED | EventType.DELETED:
                if self.state is State.ACTIVE:
                    self._hear_object(event)
            case EventType.UNREADABLE:
                pass  # counted by the cache; what cannot be read is absent from lists

    def _hear_object(self, event: Event) -> None:
        record = event.record
        rule = self.rule
        assert record is not None
        assert rule is not None
        if self._spaces is not None and event.gvk.group_kind == ("", "Namespace"):
            self._hear_namespace(event, record.key.name)
        if self._source is None or rule.source is None or event.gvk != rule.source.gvk:
            return
        if self._source.matters(event):
            request = Request(self.key, record.key.namespace, record.key.name)
            self.around.queue.add(request, Priority.LOW if event.initial else Priority.NORMAL)

    def _hear_namespace(self, event: Event, name: str) -> None:
        if self._spaces is None or not self._spaces.matters(event):
            return
        inside = (r for r in self._sources() if r.namespace == name)
        self.around.fill(self.key, inside)

    def _hear_status(self) -> None:
        phases = {i: h.status.phase for i, h in self._handles.items()}
        came = [i for i, phase in phases.items() if phase is not self._phases.get(i)]
        before, self._phases = self._phases, phases
        self._note_readable()
        for interest in came:
            if before.get(interest) is Phase.UNSERVED and phases[interest] is Phase.SYNCED:
                self.around.served(self.key, interest.gvk)
        if self.state is State.ACTIVE and any(phases[i] is Phase.SYNCED for i in came):
            self._fill()  # what was unknown until now may be decided
        self._check()

    # --- work items ---

    def _fill(self) -> None:
        self._filling = True
        self._settling_since = self.around.clock.monotonic()
        self.around.fill(self.key, self._requests())

    def _requests(self) -> Iterator[Request]:
        """Every source, and every source that something was made for: it may have gone meanwhile."""
        epoch = self._epoch
        found: set[Request] = set()
        for request in chain(self._sources(), self.claimed()):
            if self._epoch != epoch:
                return
            if request not in found:
                found.add(request)
                self._unplanned.add(request)
                yield request
        if self._epoch == epoch:
            self._filling = False
            self._planned()

    def _sources(self) -> Iterator[Request]:
        rule = self.rule
        if rule is None or rule.source is None or self._source is None:
            return
        interest = source_interest(rule)
        handle = self._handles.get(interest) if interest is not None else None
        for record in handle.records() if handle is not None else ():
            if self._source.selects(record):
                yield Request(self.key, record.key.namespace, record.key.name)

    def claimed(self) -> Iterator[Request]:
        """The work items that the objects it made name, once for each object."""
        for handle in self.handles:
            if handle.interest.role == "target":
                for record in handle.store.claimed(self.key):
                    request = claimant(record.claim)
                    if request is not None:
                        yield request

    def wake(self, request: Request) -> None:
        """Something it made, or waits for, changed."""
        if self.state is State.ACTIVE or (self.state is State.CLEANING and self.gathered):
            self.around.queue.add(request)

    def missed(self, request: Request) -> None:
        """A pass began before and ended after a change of generation or state: it may have made things."""
        if self.state is not State.IDLE:
            self._unplanned.add(request)
            self.around.queue.add(request, Priority.LOW)

    def plan(self, request: Request) -> Plan:
        """What shall be, of one work item."""
        assert self.rule is not None
        around = self.around
        context = Context(around.clock.now(), self._started, around.ownership, around.namespace)
        decide = cleanup if self.state is State.CLEANING else plan
        return decide(self.rule, self._snapshot, request, context)

    def leftover(self, request: Request) -> bool:
        """In a clean-up: whether something proven is still there and going."""
        for kind in self._readable:
            handle = self._by_kind[self._version(kind)][0]
            for record in handle.store.by_claim(self.key, request.namespace, request.name):
                if record.deleting and self.around.ownership.verify(record.claim, record.key) is not None:
                    return True
        return False

    def note(self, request: Request, item: Item, *, finished: bool = True) -> None:
        """Takes what became of a work item. `finished` False: it counts as not looked at yet."""
        self.tally.record(request, item)
        if finished and request in self._unplanned:
            self._unplanned.discard(request)
            self._planned()
        elif not finished:
            self._unplanned.add(request)
        if self.tally.changed:
            self.tally.changed = False
            self.around.changed(self.key)
        if self._surplus and self.planned:
            self._let_go()

    def _let_go(self) -> None:
        """Of kinds that the rule no longer names and that hold nothing of it any more."""
        rule = self.rule
        empty = {h.gvk.group_kind for h in self._surplus if h.synced and not h.store.claimed(self.key)}
        if not empty or rule is None or self.state is not State.ACTIVE:
            return
        self.written -= empty
        self._hold(i for i in self._handles if i.role != "target" or i.gvk.group_kind not in empty)
        self.around.changed(self.key)

    def _planned(self) -> None:
        if self.planned:
            self.around.changed(self.key)
            if self.state is State.CLEANING:
                self.around.finished(self.key)

    # --- how far it is ---

    @property
    def planned(self) -> bool:
        """Whether every work item was looked at since the start or the last generation."""
        active = self.state is State.ACTIVE or (self.state is State.CLEANING and self.gathered)
        return active and not self._filling and not self._unplanned

    @property
    def unplanned(self) -> frozenset[Request]:
        """The work items that were not looked at yet."""
        return frozenset(self._unplanned)

    @property
    def settling_for(self) -> float:
        """Seconds since it began with this generation."""
        return self.around.clock.monotonic() - self._settling_since

    def obstacles(self) -> bool:
        """Whether a kind cannot be read, so that something of the rule may be left there unseen."""
        return any(h.status.phase in (Phase.FORBIDDEN, Phase.REFUSED, Phase.SYNCING) for h in self.handles)

    def blocked(self) -> Verdict | None:
        """What keeps the whole rule from working, as a condition's reason and message."""
        words = {
            Phase.UNSERVED: "UnknownKind",
            Phase.FORBIDDEN: "Forbidden",
            Phase.REFUSED: "Refused",
            Phase.SYNCING: "Syncing",
        }
        for phase, word in words.items():
            for handle in self.handles:
                status = handle.status
                if status.phase is phase and (phase is not Phase.SYNCING or self.settling_for > 1.0):
                    return Verdict("Ready", status=False, reason=word, message=status.why)
        return None
