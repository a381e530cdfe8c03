"""Fakes for the runtime: a clock that is moved by hand, a cache without a server, rules as data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rulesengine.cache import Event, EventType, Handle, Interest, Phase, Status, Store
from rulesengine.cache.events import Listener
from rulesengine.cache.projection import Projection
from rulesengine.cache.reflector import Scope
from rulesengine.compiler.rule import (
    CompiledRule,
    LabelSelector,
    Mode,
    OnRuleDeletion,
    Resource,
    Source,
    SourceStatus,
)
from rulesengine.core import json
from rulesengine.core.keys import ObjectKey, Request, RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType
from rulesengine.reconcile import ANNOTATION, Claim, Ownership
from rulesengine.reconcile.ownership import timestamp
from rulesengine.runtime.controller import Around, Controller
from rulesengine.runtime.queue import Priority, Queue

WIDGET = GroupVersionKind("example.com", "v1", "Widget")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
SECRET = GroupVersionKind("", "v1", "Secret")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
OWNERSHIP = Ownership(b"k" * 32)
KEY = RuleKey("ClusterRule", "", "r")


async def until(condition: Callable[[], object]) -> None:
    """Lets the loop turn until the condition holds; fails when nothing is left to happen."""
    for _ in range(5_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


class FakeClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.start = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.seconds - 1000.0)

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


def item(name: str = "a", rule: str = "r") -> Request:
    return Request(RuleKey("ClusterRule", "", rule), "ns", name)


# --- a cache ---


@dataclass
class FakeInformer:
    scope: Scope
    current: Status


class FakeCache:
    """Cache's acquire, release, put and subscribe over real stores; tests say what is there."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.stores: dict[tuple[GroupVersionKind, str], Store] = {}
        self.phases: dict[GroupVersionKind, Phase] = {}
        self.held: list[Handle] = []
        self.listeners: list[Listener] = []
        self.version = 100

    def acquire(self, interest: Interest, listener: Listener | None = None) -> Handle:
        part = (interest.gvk, interest.field_selector)
        store = self.stores.get(part)
        if store is None:
            store = self.stores[part] = Store(interest.gvk, self.clock, self._tell)
        store.maker.sources = store.maker.sources or interest.role == "source"
        paths = set(store.maker.projection.paths) | set(interest.fields)
        store.maker.projection = Projection(paths)
        phase = self.phases.setdefault(interest.gvk, Phase.SYNCED)
        names = interest.namespaces or {""}
        informers = tuple(FakeInformer(Scope(interest.gvk, n), _status(phase, interest.gvk)) for n in names)
        handle = Handle(interest, store, informers, listener)  # type: ignore[arg-type]
        self.held.append(handle)
        return handle

    def release(self, handle: Handle) -> None:
        if handle in self.held:
            self.held.remove(handle)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def put(self, resource: ResourceType, raw: bytes) -> None:
        store = self.stores.get((resource.gvk, ""))
        if store is not None:
            store.put(store.maker.make(raw), own=True)

    def recheck(self, kind: GroupVersionKind) -> None:
        pass

    # --- what tests say ---

    def set(self, body: dict[str, Any], *, own: bool = False, initial: bool = False) -> None:
        """An object came or changed; it gets the next resourceVersion."""
        self.version += 1
        meta = body["metadata"]
        meta["resourceVersion"] = str(self.version)
        meta.setdefault("uid", f"uid-{meta['name']}")
        meta.setdefault("creationTimestamp", timestamp(self.clock.now()))
        gvk = GroupVersionKind.parse(body["apiVersion"], body["kind"])
        for (kind, _), store in self.stores.items():
            if kind == gvk:
                store.put(store.maker.make(json.encode(body)), own=own, initial=initial)

    def remove(self, gvk: GroupVersionKind, namespace: str, name: str) -> None:
        for (kind, _), store in self.stores.items():
            if kind == gvk and (record := store.get(namespace, name)) is not None:
                store.delete(record)

    def phase(self, gvk: GroupVersionKind, phase: Phase) -> None:
        """The kind became readable, or not."""
        self.phases[gvk] = phase
        for handle in self.held:
            if handle.gvk == gvk:
                for informer in handle.informers:
                    informer.current = _status(phase, gvk)  # type: ignore[misc]
        kind = EventType.SYNCED if phase is Phase.SYNCED else EventType.STATUS
        self._tell(Event(kind, gvk))

    def watched(self) -> set[GroupVersionKind]:
        return {handle.gvk for handle in self.held}

    def _tell(self, event: Event) -> None:
        for listener in (*self.listeners, *(h.listener for h in self.held if h.gvk == event.gvk)):
            if listener is not None:
                listener(event)


def _status(phase: Phase, gvk: GroupVersionKind) -> Status:
    return Status(phase, "" if phase is Phase.SYNCED else f"{gvk.kind}: {phase.value}")


# --- rules ---


@dataclass(frozen=True)
class Code:
    """A template or expression as a Python function of the names."""

    run: Callable[[Mapping[str, Any]], Any]
    reads: frozenset[tuple[str, ...]] = frozenset({("object", "spec")})
    text: str = "code"

    def evaluate(self, names: Mapping[str, Any]) -> Any:
        return self.run(names)

    render = evaluate


def child(gvk: GroupVersionKind = CONFIG_MAP, name: str = "c", **more: Any) -> Resource:
    """An entry that makes `<source>-<name>` in the source's namespace."""

    def render(names: Mapping[str, Any]) -> dict[str, Any]:
        meta = names["object"]["metadata"]
        where = {"name": f"{meta['name']}-{name}", "namespace": meta["namespace"]}
        return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": where}

    return Resource(name=name, gvk=gvk, template=more.pop("template", Code(render)), **more)


def make_rule(*resources: Resource, **more: Any) -> CompiledRule:
    values: dict[str, Any] = {
        "key": KEY,
        "uid": "rule-uid",
        "generation": 1,
        "mode": Mode.ENFORCE,
        "on_rule_deletion": OnRuleDeletion.DELETE,
        "source": Source(WIDGET),
        "match_conditions": (),
        "variables": {},
        "resources": resources or (child(),),
        "source_status": None,
        "source_reads": frozenset({("spec",)}),
        "reads_namespace": False,
        "reads_now": False,
        "metadata": {"name": "r"},
        "digest": b"",
    }
    return CompiledRule(**(values | more))


def widget(name: str = "w", namespace: str = "a", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, **more}


def made(
    source: str = "w", namespace: str = "a", gvk: GroupVersionKind = CONFIG_MAP, name: str = "", **more: Any
) -> dict[str, Any]:
    """An object that rule r made for widget `source`, with a claim that verifies."""
    name = name or f"{source}-c"
    claim = Claim(
        rule=more.pop("rule", KEY),
        rule_uid="rule-uid",
        source=ObjectKey("example.com", "Widget", namespace, source),
        source_uid=f"uid-{source}",
        entry="c",
        object=ObjectKey(gvk.group, gvk.kind, namespace, name),
        at="2026-01-05T08:00:00Z",
    )
    annotations = {ANNOTATION: OWNERSHIP.stamp(claim)}
    meta = {"name": name, "namespace": namespace, "annotations": annotations, **more.pop("metadata", {})}
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": meta, **more}


SELECTED = LabelSelector(labels=(("on", "yes"),))
STATUS = SourceStatus({"ready": Code(lambda _: True, frozenset({("ready", "c")}))}, ())


# --- a controller with what is around it ---


class FakeKinds:
    def __init__(self) -> None:
        self.unserved: set[GroupKind] = set()

    def known(self, gvk: GroupVersionKind) -> ResourceType | None:
        if gvk.group_kind in self.unserved:
            return None
        return ResourceType(gvk, f"{gvk.kind.lower()}s", namespaced=gvk.kind != "Namespace")

    def preferred(self, kind: GroupKind) -> GroupVersionKind | None:
        return None if kind in self.unserved else GroupVersionKind(kind.group, "v1", kind.kind)


@dataclass
class Bench:
    """A controller, its cache and its queue; `ready` takes out what is to be looked at."""

    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.cache = FakeCache(self.clock)
        self.kinds = FakeKinds()
        self.queue = Queue(self.clock)
        self.changed: list[RuleKey] = []
        self.served: list[GroupVersionKind] = []
        self.finished: list[RuleKey] = []
        self.around = Around(
            cache=self.cache,  # type: ignore[arg-type]
            kinds=self.kinds,
            queue=self.queue,
            clock=self.clock,
            ownership=OWNERSHIP,
            namespace="rulesengine-system",
            changed=self.changed.append,
            served=lambda _, gvk: self.served.append(gvk),
            finished=self.finished.append,
            fill=self._fill,
        )
        self.controller = Controller(KEY, self.around)

    def _fill(self, key: RuleKey, requests: Iterator[Request]) -> None:
        for request in requests:
            self.queue.add(request, Priority.LOW)

    def use(self, rule: CompiledRule | None = None) -> Controller:
        rule = rule or make_rule()
        self.controller.written |= {gvk.group_kind for gvk in rule.target_kinds}
        self.controller.use(rule)
        return self.controller

    async def ready(self) -> list[str]:
        """The sources that are to be looked at, by name; none of them is afterwards."""
        names = []
        while self.queue.ready:
            request = await self.queue.take()
            self.queue.done(request)
            names.append(request.name)
        return sorted(names)
