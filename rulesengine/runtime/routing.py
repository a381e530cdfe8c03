"""From events of the cache to work items to look at: precise, cheap, and never deciding more.

Three ways lead to a work item. Its *source* changed in something that the rule reads. Something
it *made* changed, which the object's claim says (anybody may write a claim; a false one costs
a pass that finds nothing to do). Or an object changed that its last pass was *waiting* for.

Writes of our own come back as events marked `own`: whose pass it was knows about them, all
others hear of them like of anybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from rulesengine.cache import Event, EventType, Record, changed
from rulesengine.compiler.rule import CompiledRule, FieldPath, LabelSelector
from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.keys import ObjectKey, Request, RuleKey
from rulesengine.core.kinds import GroupKind

RECONCILE_AT = "rulesengine.dev/reconcile-at"
ASKED: FieldPath = ("metadata", "annotations", RECONCILE_AT)
NAMESPACE = GroupKind("", "Namespace")
_OBJECT_EVENTS = (EventType.ADDED, EventType.MODIFIED, EventType.DELETED)


def source_paths(rule: CompiledRule) -> frozenset[FieldPath]:
    """The fields of a source whose change asks for a pass.

    Besides what expressions read: what `sourceStatus` owns, so that others' edits of it are
    repaired, and the annotation that asks for another look.
    """
    paths = {*rule.source_reads, ASKED}
    if rule.source_status is not None:
        paths |= {("status", name) for name in rule.source_status.value}
        if rule.source_status.conditions:
            paths |= {("status", "conditions"), ("metadata", "generation")}
    return frozenset(paths)


@dataclass(frozen=True, slots=True)
class SourceRoute:
    """Whether an event of the source's kind matters to one rule."""

    selector: LabelSelector
    paths: frozenset[FieldPath]

    @classmethod
    def of(cls, rule: CompiledRule) -> SourceRoute:
        assert rule.source is not None
        return cls(rule.source.selector, source_paths(rule))

    def selects(self, record: Record) -> bool:
        return self.selector == _EVERYTHING or self.selector.matches(record.labels)

    def matters(self, event: Event) -> bool:
        """Moving into and out of the selection matters, and so does any change within."""
        old, new = event.old, event.new
        was, is_ = old is not None and self.selects(old), new is not None and self.selects(new)
        if was != is_:
            return True
        if not is_ or old is None or new is None:
            return False
        return old.claim != new.claim or changed(old, new, self.paths)


@dataclass(frozen=True, slots=True)
class NamespaceRoute:
    """Whether an event of a namespace matters to the sources of one rule in it."""

    selector: LabelSelector | None
    reads: bool

    @classmethod
    def of(cls, rule: CompiledRule) -> NamespaceRoute | None:
        """None for rules to which namespaces are nothing but names."""
        selector = rule.source.namespace_selector if rule.source is not None else None
        if selector is None and not rule.reads_namespace:
            return None
        return cls(selector, rule.reads_namespace)

    @property
    def paths(self) -> frozenset[FieldPath]:
        return frozenset({()} if self.reads else {("metadata", "labels")})

    def matters(self, event: Event) -> bool:
        old, new = event.old, event.new
        if old is None or new is None:
            return True
        if self.reads:
            return changed(old, new, self.paths)
        return self.selector is not None and self.selector.matches(old.labels) != self.selector.matches(
            new.labels
        )


class Waiters:
    """Which work items wait for a change of which objects, as their last passes said."""

    def __init__(self) -> None:
        self._by_key: dict[ObjectKey, set[Request]] = {}
        self._by_request: dict[Request, frozenset[ObjectKey]] = {}

    def __len__(self) -> int:
        return len(self._by_request)

    def set(self, request: Request, keys: Collection[ObjectKey]) -> None:
        """From now on `request` waits for these, and for nothing else."""
        before = self._by_request.get(request, frozenset())
        if not keys and not before:
            return
        now = frozenset(keys)
        for key in before - now:
            waiting = self._by_key[key]
            waiting.discard(request)
            if not waiting:
                del self._by_key[key]
        for key in now - before:
            self._by_key.setdefault(key, set()).add(request)
        if now:
            self._by_request[request] = now
        else:
            self._by_request.pop(request, None)

    def on(self, key: ObjectKey) -> frozenset[Request]:
        return frozenset(self._by_key.get(key, ()))

    def of(self, request: Request) -> frozenset[ObjectKey]:
        """What a work item waits for."""
        return self._by_request.get(request, frozenset())

    def forget(self, rule: RuleKey) -> None:
        for request in [request for request in self._by_request if request.rule == rule]:
            self.set(request, ())


class Router:
    """Hears every event of the cache and looks up whom it concerns by claim and by waiting.

    `wake(request)` takes the work items; it knows which rules are at work. `moved(namespace)`
    hears that a namespace came, went or changed.
    """

    def __init__(
        self,
        waiters: Waiters,
        wake: Callable[[Request], None],
        moved: Callable[[str], None],
    ) -> None:
        self._waiters = waiters
        self._wake = wake
        self._moved = moved

    def hear(self, event: Event) -> None:
        """Cheap and synchronous: it runs for every change of every watched object."""
        if event.type not in _OBJECT_EVENTS:
            return
        old, new = event.old, event.new
        record = event.record
        assert record is not None
        if record.key.group_kind == NAMESPACE and not event.initial:
            self._moved(record.key.name)
        before = claimant(old.claim) if old is not None and old.claim else None
        if old is not None and new is not None and old.claim == new.claim:
            after = before
        else:
            after = claimant(new.claim) if new is not None and new.claim else None
        author = (after or before) if event.own else None  # its pass knows already
        for request in {before, after, *self._waiters.on(record.key)}:
            if request is not None and request != author:
                self._wake(request)


def claimant(claim: str) -> Request | None:
    """The work item that a claim names. Unproven: good for looking, not for deciding."""
    try:
        body = json.decode(claim)
        rule, source = body["rule"], body["source"]
        parts = (*rule[:3], *source[2:4])
    except (InvalidJSON, KeyError, TypeError, IndexError):
        return None
    if len(parts) != 5 or not all(isinstance(part, str) for part in parts):
        return None
    return Request(RuleKey(*parts[:3]), parts[3], parts[4])


def asked(metadata: Mapping[str, object]) -> str:
    """What stands in annotation `rulesengine.dev/reconcile-at`."""
    annotations = metadata.get("annotations")
    found = annotations.get(RECONCILE_AT) if isinstance(annotations, Mapping) else None
    return found if isinstance(found, str) else ""


_EVERYTHING = LabelSelector()
