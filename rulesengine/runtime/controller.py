"""One rule at work: what it sees, what it was made into, and how far it is.

A controller lives as long as its rule and outlasts its generations. It holds the interests in
the cache, turns events of sources into work items, plans them, and counts what became of them.
Who decides about its life is the rule controller (`rules.py`); who runs its passes are the
workers; nothing is sent from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from itertools import chain

from rulesengine.cache import Cache, Event, EventType, Interest, Phase
from rulesengine.compiler.rule import CompiledRule, Mode
from rulesengine.core.clock import Clock
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.reconcile import Context, Item, Ownership, Tally, Verdict, cleanup, plan
from rulesengine.reconcile.plan import Plan
from rulesengine.runtime.gate import WITHIN, Gate
from rulesengine.runtime.interests import (
    reads_own,
    source_interest,
    target_interests,
    wanted_interests,
)
from rulesengine.runtime.queue import Priority, Queue
from rulesengine.runtime.routing import NamespaceRoute, SourceRoute, claimant
from rulesengine.runtime.view import Kinds, View

SLOW = 1.0  # seconds that a cache may take to fill before the rule says what it waits for


class State(Enum):
    IDLE = "idle"  # nothing is done: not compiled (yet), or suspended
    GATHERING = "gathering"  # waits for its caches
    ACTIVE = "active"
    CLEANING = "cleaning"  # the rule is being deleted: what it made goes


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
    unavailable: str = ""  # why it could not be brought into effect: the server did not answer
    observes: bool = False  # whether expressions read what the rule itself makes
    seen: bytes = b""  # the state of the rule that `rule` or `rejected` is about

    def __post_init__(self) -> None:
        around = self.around
        self.view = View(around.cache, around.kinds, source=self._hear, target=self._hear_target)
        self._surplus = False  # whether kinds of earlier generations are held
        self._source: SourceRoute | None = None
        self._spaces: NamespaceRoute | None = None
        self._unplanned: set[Request] = set()
        self._filling = False
        self._gate: Gate | None = None  # where removals are counted before they are carried out
        self._approved = ""
        self._epoch = 0  # a change of it ends what is still being enqueued
        self._started: datetime = self.around.clock.now()
        self._settling_since = self.around.clock.monotonic()

    # --- life ---

    def use(self, rule: CompiledRule) -> None:
        """Works by this generation from now on: all of its work items are looked at."""
        self.rule, self.rejected = rule, ""
        self.observes = reads_own(rule)
        self._reset()
        self._source = SourceRoute.of(rule) if rule.source is not None else None
        self._spaces = NamespaceRoute.of(rule)
        if rule.mode is Mode.SUSPENDED:
            self.view.hold([])
            self.state = State.IDLE
            self.around.changed(self.key)
            return
        wanted = wanted_interests(rule, self.written, self.around.kinds.preferred)
        self._begin(State.GATHERING, wanted)

    def clean(self, rule: CompiledRule) -> None:
        """The rule is being deleted: everything proven to be its own goes, in any mode."""
        self.rule = rule
        self._reset()
        self._source = self._spaces = None
        self._begin(State.CLEANING, target_interests(rule, self.written, self.around.kinds.preferred))

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
        self.view.hold([])

    def again(self) -> None:
        """Everything is looked at once more, without hurry."""
        if self.state is State.ACTIVE or (self.state is State.CLEANING and self.view.gathered):
            self._fill()

    def _reset(self) -> None:
        self._stop()
        self._gate = None
        self.tally = Tally()
        self._settling_since = self.around.clock.monotonic()

    def _stop(self) -> None:
        self.around.queue.forget(self.key)
        self._unplanned.clear()
        self._filling = False
        self._epoch += 1

    def _begin(self, state: State, wanted: list[Interest]) -> None:
        assert self.rule is not None
        self.state = state
        self.view.hold(wanted)
        self._surplus = self.view.surplus(self.rule.target_kinds)
        self._check()

    def _check(self) -> None:
        if self.state is State.GATHERING and self.view.gathered:
            assert self.rule is not None
            self.state = State.ACTIVE
            self._started = self.around.clock.now()
            if self.rule.mode is Mode.ENFORCE:
                self._gate = Gate(self.rule.limits, self.rule.generation)
            self._fill()
        elif self.state is State.CLEANING and self.view.gathered:
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
        moved = self.view.look()
        for gvk, phases in moved.items():
            if phases == (Phase.UNSERVED, Phase.SYNCED):
                self.around.served(self.key, gvk)
        if self.state is State.ACTIVE and any(phase is Phase.SYNCED for _, phase in moved.values()):
            self._fill()  # what was unknown until now may be decided
        self._check()

    # --- work items ---

    def _fill(self) -> None:
        self._epoch += 1  # what an earlier call has not enqueued yet, this one will
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
        handle = self.view.handle(source_interest(rule))
        for record in handle.records() if handle is not None else ():
            if self._source.selects(record):
                yield Request(self.key, record.key.namespace, record.key.name)

    def claimed(self) -> Iterator[Request]:
        """The work items that the objects it made name, once for each object."""
        for handle in self.view.targets:
            for record in handle.store.claimed(self.key):
                if (request := claimant(record.claim)) is not None:
                    yield request

    def wake(self, request: Request) -> None:
        """Something it made, or waits for, changed."""
        if self.state is State.ACTIVE or (self.state is State.CLEANING and self.view.gathered):
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
        return decide(self.rule, self.view.snapshot, request, context)

    def admit(self, plan: Plan) -> Plan:
        """What of a plan may be carried out now; see gate.py."""
        return self._gate.passing(plan) if self._gate is not None else plan

    def approve(self, generation: str) -> None:
        """Somebody approved the removals of a generation; "" nobody did."""
        self._approved = generation
        if self.planned:
            self._decide()

    def _decide(self) -> None:
        """Opens the gate for removals, if it may be, once every work item was looked at."""
        if self._gate is None or self._gate.open:
            return
        for request in self._gate.decide(self._approved):
            self.around.queue.add(request, Priority.LOW)
        self.around.changed(self.key)

    @property
    def deletes(self) -> Verdict:
        """Condition DeletesHeld."""
        return self._gate.verdict() if self._gate is not None else WITHIN

    def leftover(self, request: Request) -> bool:
        """In a clean-up: whether something proven is still there and going."""
        verify = self.around.ownership.verify
        return any(
            record.deleting and verify(record.claim, record.key) is not None
            for handle in self.view.targets
            for record in handle.store.by_claim(self.key, request.namespace, request.name)
        )

    def note(self, request: Request, item: Item, *, finished: bool = True) -> None:
        """Takes what became of a work item. `finished` False: it counts as not looked at yet."""
        self.tally.record(request, item)
        if finished and request in self._unplanned:
            self._unplanned.discard(request)
            self._planned()
        elif not finished:
            self._unplanned.add(request)
        elif self._gate is not None and self._gate.held and self.planned:
            self._decide()
        if self.tally.changed:
            self.tally.changed = False
            self.around.changed(self.key)
        if self._surplus and self.planned:
            self._let_go()

    def _let_go(self) -> None:
        """Of kinds that the rule no longer names and that hold nothing of it any more."""
        if self.rule is None or self.state is not State.ACTIVE:
            return
        empty = self.view.without(self.key, self.rule.target_kinds)
        if empty:
            self.written -= empty
            self.view.let_go(empty)
            self._surplus = self.view.surplus(self.rule.target_kinds)
            self.around.changed(self.key)

    def _planned(self) -> None:
        if self.planned:
            self.around.changed(self.key)
            self._decide()
            if self.state is State.CLEANING:
                self.around.finished(self.key)

    # --- how far it is ---

    @property
    def planned(self) -> bool:
        """Whether every work item was looked at since the start or the last generation."""
        active = self.state is State.ACTIVE or (self.state is State.CLEANING and self.view.gathered)
        return active and not self._filling and not self._unplanned

    @property
    def unplanned(self) -> frozenset[Request]:
        """The work items that were not looked at yet."""
        return frozenset(self._unplanned)

    @property
    def settling_for(self) -> float:
        """Seconds since it began with this generation."""
        return self.around.clock.monotonic() - self._settling_since

    def blocked(self) -> Verdict | None:
        """What keeps the whole rule from working, as a condition's reason and message."""
        found: tuple[str, str] | None = ("Unavailable", self.unavailable)
        if not self.unavailable:
            found = self.view.obstacle(syncing=self.settling_for > SLOW)
        return Verdict("Ready", status=False, reason=found[0], message=found[1]) if found else None
