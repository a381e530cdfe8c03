"""What a pass is given besides the rule and the snapshot: time, key, and where the engine lives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.keys import ObjectKey
from rulesengine.reconcile.ownership import Ownership

OWNER_KEY = "rulesengine-owner-key"  # the Secret, in the engine's namespace, that claims are proven with
SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})

_LEASE = ("coordination.k8s.io", "Lease")


@dataclass(frozen=True, slots=True)
class Context:
    """Constant for one pass.

    `started` is when the engine's caches were filled: of objects whose source was never seen
    it is only known that they were there then. `engine_namespace` counts as a system namespace.
    """

    now: datetime
    started: datetime
    ownership: Ownership
    engine_namespace: str = "rulesengine-system"

    def is_engine(self, key: ObjectKey) -> bool:
        """Whether `key` is the engine's own: whoever could read its Secret could forge claims, and
        whoever could write its Lease could stop it. No rule has to do with these, whatever it says.
        """
        if key.namespace != self.engine_namespace:
            return False
        return (key[:2] == ("", "Secret") and key.name == OWNER_KEY) or key[:2] == _LEASE

    def is_system(self, rule: CompiledRule, key: ObjectKey) -> bool:
        """Whether `key` is an object that rules leave alone unless they say otherwise."""
        if self.is_engine(key):
            return True
        if rule.source is not None and rule.source.system_namespaces:
            return False
        namespace = key.name if key.group_kind == ("", "Namespace") else key.namespace
        return namespace in SYSTEM_NAMESPACES or (bool(namespace) and namespace == self.engine_namespace)
