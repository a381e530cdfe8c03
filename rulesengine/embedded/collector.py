"""Garbage collection by ownerReferences: background, foreground and orphan.

The collector hears every change and works off what they mean when the request that caused
them is done, before its answer is sent: what a real cluster does within a second is done at
once, and tests need not wait. Rules are those of kube-controller-manager's collector.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.embedded.deletes import FOREGROUND, ORPHAN, DeleteOptions, Deletes
from rulesengine.embedded.kinds import Kind, Registry
from rulesengine.embedded.store import Change, Entry, Key, Store
from rulesengine.embedded.writes import Writes

MANAGER = "kube-controller-manager"


class _Place(NamedTuple):
    collection: str
    key: Key


class Collector:
    def __init__(self, store: Store, registry: Registry, writes: Writes, deletes: Deletes) -> None:
        self._store = store
        self._registry = registry
        self._writes = writes
        self._deletes = deletes
        self._dependents: dict[str, set[_Place]] = {}  # uid of an owner → who names it
        self._work: deque[_Place] = deque()

    def heard(self, change: Change) -> None:
        """Takes note of a change; the work itself is done by `step`."""
        place = _Place(change.collection, change.new.key)
        old = _owners(change.old.object) if change.old else []
        new = _owners(change.new.object) if change.type != "DELETED" else []
        for owner in old:
            self._dependents.get(owner["uid"], set()).discard(place)
        for owner in new:
            self._dependents.setdefault(owner["uid"], set()).add(place)
        if change.type == "DELETED":
            uid = change.new.object["metadata"]["uid"]
            self._work.extend(sorted(self._dependents.get(uid, ())))
            if not self._dependents.get(uid):
                self._dependents.pop(uid, None)
            # an owner that waits for its dependents may have waited for this one
            self._work.extend(p for owner in old if (p := self._place_of(owner, place)) is not None)
        elif change.new.object["metadata"].get("deletionTimestamp") or (new and new != old):
            self._work.append(place)

    def step(self) -> bool:
        """Works off one place; False when there is nothing to do."""
        if not self._work:
            return False
        place = self._work.popleft()
        entry = self._store.get(*place)
        kind = self._registry.in_collection(place.collection)
        if entry is not None and kind is not None:
            self._process(kind, entry)
        return True

    def _process(self, kind: Kind, entry: Entry) -> None:
        meta = entry.object["metadata"]
        finalizers = meta.get("finalizers") or ()
        if meta.get("deletionTimestamp"):
            if FOREGROUND in finalizers:
                self._foreground(kind, entry)
            elif ORPHAN in finalizers:
                self._orphan(kind, entry)
            return
        owners = _owners(entry.object)
        if not owners:
            return
        states = [self._state(owner, kind, entry) for owner in owners]
        if "unknown" in states:
            return
        if "solid" in states:
            keep = [o for o, s in zip(owners, states, strict=True) if s == "solid"]
            if len(keep) < len(owners):
                self._writes.rewrite(kind, entry, lambda body: _set_owners(body, keep), MANAGER)
            return
        waiting = "waiting" in states and bool(self._dependents.get(meta["uid"]))
        policy = "Foreground" if waiting else ""
        if not policy and ORPHAN not in finalizers:
            policy = "Foreground" if FOREGROUND in finalizers else "Background"
        self._deletes.remove(kind, entry, DeleteOptions(propagation=policy))

    def _state(self, owner: Object, kind: Kind, entry: Entry) -> str:
        """solid, absent, waiting (for its dependents to go) or unknown."""
        found = self._find(owner, kind, entry)
        if found == "unknown":
            return "unknown"
        if not isinstance(found, Entry):
            return "absent"
        meta = found.object["metadata"]
        if meta.get("deletionTimestamp") and FOREGROUND in (meta.get("finalizers") or ()):
            return "waiting"
        return "solid"

    def _find(self, owner: Object, kind: Kind, entry: Entry) -> Entry | str:
        gvk = GroupVersionKind.parse(owner.get("apiVersion", ""), owner.get("kind", ""))
        theirs = self._registry.kind(gvk) or self._registry.of_group_kind(gvk.group, gvk.kind)
        if theirs is None or (theirs.namespaced and not kind.namespaced):
            return "unknown"
        namespace = entry.key.namespace if theirs.namespaced else ""
        found = self._store.get(theirs.collection, Key(namespace, owner.get("name", "")))
        if found is None or found.object["metadata"]["uid"] != owner["uid"]:
            return "absent"
        return found

    def _place_of(self, owner: Object, place: _Place) -> _Place | None:
        gvk = GroupVersionKind.parse(owner.get("apiVersion", ""), owner.get("kind", ""))
        theirs = self._registry.kind(gvk) or self._registry.of_group_kind(gvk.group, gvk.kind)
        if theirs is None:
            return None
        return _Place(theirs.collection, Key(place.key.namespace if theirs.namespaced else "", owner["name"]))

    def _below(self, entry: Entry) -> Iterator[tuple[_Place, Kind, Entry]]:
        for place in sorted(self._dependents.get(entry.object["metadata"]["uid"], ())):
            child, kind = self._store.get(*place), self._registry.in_collection(place.collection)
            if child is not None and kind is not None:
                yield place, kind, child

    def _foreground(self, kind: Kind, entry: Entry) -> None:
        """Deletes what depends on it; lets it go when nothing that blocks is left."""
        uid = entry.object["metadata"]["uid"]
        blocked = False
        for _, child_kind, child in list(self._below(entry)):
            if not child.object["metadata"].get("deletionTimestamp"):
                self._process(child_kind, child)
            left = self._store.get(child_kind.collection, child.key)
            blocked = blocked or (left is not None and _blocks(left.object, uid))
        if not blocked:
            self._without(kind, entry, FOREGROUND)

    def _orphan(self, kind: Kind, entry: Entry) -> None:
        uid = entry.object["metadata"]["uid"]
        for _, child_kind, child in list(self._below(entry)):
            keep = [o for o in _owners(child.object) if o["uid"] != uid]
            self._rewrite_owners(child_kind, child, keep)
        self._without(kind, entry, ORPHAN)

    def _rewrite_owners(self, kind: Kind, entry: Entry, keep: list[Object]) -> None:
        self._writes.rewrite(kind, entry, lambda body: _set_owners(body, keep), MANAGER)

    def _without(self, kind: Kind, entry: Entry, finalizer: str) -> None:
        current = self._store.get(kind.collection, entry.key)
        if current is not None:
            self._writes.rewrite(kind, current, lambda body: drop_finalizer(body, finalizer), MANAGER)


def _owners(body: Object) -> list[Object]:
    return [o for o in body["metadata"].get("ownerReferences") or () if o.get("uid")]


def _set_owners(body: Object, owners: list[Object]) -> None:
    if owners:
        body["metadata"]["ownerReferences"] = owners
    else:
        body["metadata"].pop("ownerReferences", None)


def drop_finalizer(body: Object, finalizer: str) -> None:
    left = [f for f in body["metadata"].get("finalizers") or () if f != finalizer]
    if left:
        body["metadata"]["finalizers"] = left
    else:
        body["metadata"].pop("finalizers", None)


def _blocks(body: Object, uid: str) -> bool:
    return any(o["uid"] == uid and o.get("blockOwnerDeletion") for o in _owners(body))
