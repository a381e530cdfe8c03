"""Whether a write may happen at all: the namespace is there, is not going, may be deleted."""

from __future__ import annotations

from rulesengine.embedded.errors import Refused, forbidden, method_not_allowed, not_found
from rulesengine.embedded.kinds import Kind, Registry
from rulesengine.embedded.store import Key, Store

NAMESPACES = "namespaces"
KEPT_NAMESPACES = frozenset(("default", "kube-system", "kube-public"))


class Admission:
    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    def create(self, kind: Kind, namespace: str, name: str) -> None:
        """Raises Refused when nothing may be created there."""
        if kind.terminating:
            raise method_not_allowed(
                kind.resource, "create not allowed while custom resource definition is terminating"
            )
        if not kind.namespaced:
            return
        found = self._store.get(NAMESPACES, Key("", namespace))
        if found is None:
            raise self.no_namespace(namespace)
        if found.object["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(kind.resource, name, why, [cause])

    def delete(self, kind: Kind, name: str) -> None:
        if kind.collection == NAMESPACES and name in KEPT_NAMESPACES:
            raise forbidden(kind.resource, name, "this namespace may not be deleted")

    def no_namespace(self, namespace: str) -> Refused:
        kind = self._registry.find("", "v1", NAMESPACES)
        assert kind is not None
        return not_found(kind.resource, namespace)
