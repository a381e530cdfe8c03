"""Whether an object is ready: the usual health of its kind, as kstatus reads it.

From the conventions of the kinds themselves: a status that is older than the spec
(observedGeneration) is never ready; workloads are ready when their rollout is done;
anything else is ready unless its conditions say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupKind


def is_ready(kind: GroupKind, live: Object) -> bool:
    """The health of `live`; absent fields count as their defaults, unknown kinds as ready."""
    meta = live.get("metadata", {})
    if meta.get("deletionTimestamp"):
        return False
    status = live.get("status") or {}
    observed = status.get("observedGeneration")
    if observed is not None and observed < meta.get("generation", 0):
        return False
    judge = _KINDS.get(kind)
    return judge(live.get("spec") or {}, status) if judge else _generic(status)


def _condition(status: Object, name: str) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == name:
            return str(condition.get("status", ""))
    return ""


def _generic(status: Object) -> bool:
    if _condition(status, "Reconciling") == "True" or _condition(status, "Stalled") == "True":
        return False
    return _condition(status, "Ready") in ("", "True")


def _deployment(spec: Object, status: Object) -> bool:
    wanted = spec.get("replicas", 1)
    updated, total = status.get("updatedReplicas", 0), status.get("replicas", 0)
    return (
        "observedGeneration" in status
        and updated >= wanted
        and total <= updated
        and status.get("availableReplicas", 0) >= updated
        and _condition(status, "Available") in ("", "True")
    )


def _replica_set(spec: Object, status: Object) -> bool:
    wanted = spec.get("replicas", 1)
    return (
        "observedGeneration" in status
        and status.get("availableReplicas", 0) >= wanted
        and status.get("replicas", 0) <= wanted
    )


def _stateful_set(spec: Object, status: Object) -> bool:
    wanted = spec.get("replicas", 1)
    if "observedGeneration" not in status or status.get("readyReplicas", 0) < wanted:
        return False
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return True
    partition: Any = (strategy.get("rollingUpdate") or {}).get("partition", 0)
    return bool(status.get("updatedReplicas", 0) >= wanted - partition)


def _daemon_set(_spec: Object, status: Object) -> bool:
    wanted = status.get("desiredNumberScheduled", 0)
    return bool(
        "observedGeneration" in status
        and status.get("updatedNumberScheduled", 0) >= wanted
        and status.get("numberAvailable", 0) >= wanted
    )


def _job(_spec: Object, status: Object) -> bool:
    return _condition(status, "Complete") == "True"


def _pod(_spec: Object, status: Object) -> bool:
    return bool(status.get("phase") == "Succeeded") or _condition(status, "Ready") == "True"


def _claim(_spec: Object, status: Object) -> bool:
    return bool(status.get("phase") == "Bound")


def _namespace(_spec: Object, status: Object) -> bool:
    return bool(status.get("phase", "Active") == "Active")


def _service(spec: Object, status: Object) -> bool:
    if spec.get("type") != "LoadBalancer":
        return True
    return bool((status.get("loadBalancer") or {}).get("ingress"))


def _crd(_spec: Object, status: Object) -> bool:
    return _condition(status, "Established") == "True"


def _budget(_spec: Object, status: Object) -> bool:
    return "observedGeneration" in status


_KINDS: dict[GroupKind, Callable[[Object, Object], bool]] = {
    GroupKind("apps", "Deployment"): _deployment,
    GroupKind("apps", "ReplicaSet"): _replica_set,
    GroupKind("apps", "StatefulSet"): _stateful_set,
    GroupKind("apps", "DaemonSet"): _daemon_set,
    GroupKind("batch", "Job"): _job,
    GroupKind("", "Pod"): _pod,
    GroupKind("", "PersistentVolumeClaim"): _claim,
    GroupKind("", "Namespace"): _namespace,
    GroupKind("", "Service"): _service,
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
    GroupKind("policy", "PodDisruptionBudget"): _budget,
}
