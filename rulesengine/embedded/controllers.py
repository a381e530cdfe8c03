"""The few controllers a bare API server cannot do without, run to their end after each request.

CRDs are accepted and served, and emptied when they go; a deleted namespace is drained;
dependents are collected. Nothing else of a cluster runs here: no Pod is ever started.
"""

from __future__ import annotations

from collections import deque

from rulesengine.core.json import Object, same
from rulesengine.embedded import crds
from rulesengine.embedded.admission import NAMESPACES
from rulesengine.embedded.collector import MANAGER, Collector, drop_finalizer
from rulesengine.embedded.deletes import DeleteOptions, Deletes
from rulesengine.embedded.kinds import Kind, Registry
from rulesengine.embedded.store import Change, Entry, Key, Store
from rulesengine.embedded.writes import Writes

APISERVER = "kube-apiserver"  # whose controllers accept and establish CRDs


class Controllers:
    def __init__(self, store: Store, registry: Registry, writes: Writes, deletes: Deletes) -> None:
        self._store = store
        self._registry = registry
        self._writes = writes
        self._deletes = deletes
        self._collector = Collector(store, registry, writes, deletes)
        self._crds: deque[Key] = deque()
        self._namespaces: deque[Key] = deque()
        self._dying: dict[str, Key] = {}  # collection → its CRD that is being deleted
        store.observe(self._heard)

    def settle(self) -> None:
        """Works until nothing is left to do."""
        while self._crds or self._namespaces or self._collector.step():
            if self._crds:
                self._crd(self._crds.popleft())
            if self._namespaces:
                self._drain(self._namespaces.popleft())

    def _heard(self, change: Change) -> None:
        key, body = change.new.key, change.new.object
        if change.collection == crds.COLLECTION:
            if change.type == "DELETED":
                self._registry.drop_crd(key.name)
                self._dying = {c: k for c, k in self._dying.items() if k != key}
            else:
                self._crds.append(key)
        elif change.collection == NAMESPACES and body["metadata"].get("deletionTimestamp"):
            if change.type != "DELETED":
                self._namespaces.append(key)
        elif change.type == "DELETED":
            if key.namespace:
                self._recheck(key.namespace)
            if (crd := self._dying.get(change.collection)) is not None:
                self._crds.append(crd)
        self._collector.heard(change)

    def _recheck(self, namespace: str) -> None:
        entry = self._store.get(NAMESPACES, Key("", namespace))
        if entry is not None and entry.object["metadata"].get("deletionTimestamp"):
            self._namespaces.append(entry.key)

    # --- CRDs ---

    def _crd(self, key: Key) -> None:
        entry = self._store.get(crds.COLLECTION, key)
        kind = self._registry.in_collection(crds.COLLECTION)
        if entry is None or kind is None:
            return
        if entry.object["metadata"].get("deletionTimestamp"):
            self._serve(entry.object)
            self._empty(kind, entry)
            return
        others = [e.object for e in self._store.entries(crds.COLLECTION)]
        refusal = crds.clash(entry.object, others)
        status = crds.status(entry.object, refusal, self._writes.stamp())
        if not same(status, entry.object.get("status")):
            self._writes.rewrite(kind, entry, lambda body: body.update(status=status), APISERVER, "status")
        if refusal is None:
            self._serve(entry.object)

    def _serve(self, crd: Object) -> None:
        self._registry.set_crd(crd["metadata"]["name"], crds.kinds(crd))

    def _empty(self, kind: Kind, entry: Entry) -> None:
        """Deletes all objects of a CRD that goes; lets it go when none is left."""
        spec = entry.object["spec"]
        collection = f"{spec['names']['plural']}.{spec['group']}"
        self._dying[collection] = entry.key
        theirs = self._registry.in_collection(collection)
        for each in self._store.entries(collection) if theirs else ():
            if theirs is not None and not each.object["metadata"].get("deletionTimestamp"):
                self._deletes.remove(theirs, each, DeleteOptions())
        if not self._store.entries(collection) and (current := self._store.get(crds.COLLECTION, entry.key)):
            self._writes.rewrite(kind, current, lambda body: drop_finalizer(body, crds.FINALIZER), MANAGER)

    # --- namespaces ---

    def _drain(self, key: Key) -> None:
        """Deletes all that is in a namespace; lets it go when nothing is left."""
        entry = self._store.get(NAMESPACES, key)
        kind = self._registry.in_collection(NAMESPACES)
        if entry is None or kind is None:
            return
        left: list[tuple[Kind, Entry]] = []
        for collection in self._store.collections():
            theirs = self._registry.in_collection(collection)
            if theirs is None or not theirs.namespaced:
                continue
            for each in self._store.entries(collection, key.name):
                if not each.object["metadata"].get("deletionTimestamp"):
                    self._deletes.remove(theirs, each, DeleteOptions(propagation="Background"))
                if (still := self._store.get(collection, each.key)) is not None:
                    left.append((theirs, still))
        current = self._store.get(NAMESPACES, key)
        if current is None:
            return
        if left:
            self._report(current, left)
        elif (current.object.get("spec") or {}).get("finalizers"):
            self._writes.rewrite(kind, current, _finalized, MANAGER)

    def _report(self, entry: Entry, left: list[tuple[Kind, Entry]]) -> None:
        """Says in the namespace's status what it waits for."""
        kinds: dict[str, int] = {}
        finalizers: dict[str, int] = {}
        for kind, each in left:
            kinds[kind.resource.group_resource] = kinds.get(kind.resource.group_resource, 0) + 1
            for finalizer in each.object["metadata"].get("finalizers") or ():
                finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
        listed = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(kinds.items()))
        held = ", ".join(
            f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())
        )
        status = entry.object.get("status") or {}
        now = self._writes.stamp()
        wanted = (
            (
                "NamespaceDeletionDiscoveryFailure",
                "False",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                "False",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            (
                "NamespaceContentRemaining",
                "True",
                "SomeResourcesRemain",
                f"Some resources are remaining: {listed}",
            ),
            (
                "NamespaceFinalizersRemaining",
                "True",
                "SomeFinalizersRemain",
                f"Some content in the namespace has finalizers remaining: {held}",
            ),
        )
        conditions = [crds.condition(status, *each, now=now) for each in wanted]
        wanted_status = {**status, "phase": "Terminating", "conditions": conditions}
        if not same(status, wanted_status):
            self._store.put(NAMESPACES, "", _fresh(entry.object, status=wanted_status))


def _fresh(body: Object, **changed: object) -> Object:
    """A copy that the store may stamp."""
    return {**body, **changed, "metadata": dict(body["metadata"])}


def _finalized(body: Object) -> None:
    body["spec"] = {k: v for k, v in (body.get("spec") or {}).items() if k != "finalizers"}
