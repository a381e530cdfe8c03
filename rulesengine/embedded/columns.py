"""Columns of built-in kinds, as the real server's printers show them.

Kinds that people look at every day have their own columns; all others print name and age.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rulesengine.core.json import Object
from rulesengine.embedded.cells import (
    AGE,
    CREATED,
    NAME,
    NONE,
    SELECTOR,
    TEMPLATE,
    UNSET,
    Cell,
    access_modes,
    addresses,
    age,
    balancers,
    claim_modes,
    claim_phase,
    completions,
    count_of,
    crd_versions,
    definition,
    established,
    event_count,
    event_source,
    external,
    field,
    first_seen,
    hosts_of,
    integer_cell,
    job_status,
    joined,
    labels_text,
    last_seen,
    limit_of,
    namespace_phase,
    node_status,
    object_of_event,
    pod_ready,
    pod_status,
    quota_of,
    ready_of,
    replicas_of,
    restarts,
    role_of,
    roles_of,
    scale_target,
    selector_text,
    service_ports,
    subjects_of,
    targets_of,
    value_at,
    wide_cells,
    yes_or_no,
)


def definitions(group: str, kind: str) -> list[Object]:
    return [definition(c.name, c.type, c.format, c.priority) for c in _of(group, kind)]


def cells(group: str, kind: str, body: Object, now: datetime) -> list[Any]:
    return [column.make(body, now) for column in _of(group, kind)]


_EVENT = (
    Cell("Last Seen", last_seen),
    Cell("Type", field("type")),
    Cell("Reason", field("reason")),
    Cell("Object", object_of_event),
    Cell("Subobject", field("involvedObject", "fieldPath"), priority=1),
    Cell("Source", event_source, priority=1),
    Cell("Message", lambda b, _: str(b.get("message") or b.get("note") or "").strip()),
    Cell("First Seen", first_seen, priority=1),
    Cell("Count", event_count, priority=1),
    Cell("Name", field("metadata", "name"), priority=1, format="name"),
)
_REPLICAS = (
    NAME,
    integer_cell("Desired", "spec", "replicas"),
    integer_cell("Current", "status", "replicas"),
    integer_cell("Ready", "status", "readyReplicas"),
    AGE,
    *TEMPLATE,
    SELECTOR,
)
_BINDING = (
    NAME,
    Cell("Role", role_of),
    AGE,
    Cell("Users", subjects_of("User"), priority=1),
    Cell("Groups", subjects_of("Group"), priority=1),
    Cell("ServiceAccounts", subjects_of("ServiceAccount"), priority=1),
)
_WEBHOOKS = (NAME, Cell("Webhooks", count_of("webhooks"), "integer"), AGE)
_DAEMON = (
    ("Desired", "desiredNumberScheduled"),
    ("Current", "currentNumberScheduled"),
    ("Ready", "numberReady"),
    ("Up-to-date", "updatedNumberScheduled"),
    ("Available", "numberAvailable"),
)
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

_COLUMNS: dict[tuple[str, str], tuple[Cell, ...]] = {
    ("", "ConfigMap"): (NAME, Cell("Data", count_of("data", "binaryData")), AGE),
    ("", "Secret"): (NAME, Cell("Type", field("type")), Cell("Data", count_of("data")), AGE),
    ("", "Namespace"): (NAME, Cell("Status", namespace_phase), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "LimitRange"): (NAME, CREATED),
    ("", "ResourceQuota"): (
        NAME,
        Cell("Request", quota_of(limits=False)),
        Cell("Limit", quota_of(limits=True)),
        AGE,
    ),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Service"): (
        NAME,
        Cell("Type", field("spec", "type")),
        Cell("Cluster-IP", field("spec", "clusterIP", missing=NONE)),
        Cell("External-IP", external),
        Cell("Port(s)", service_ports),
        AGE,
        Cell("Selector", lambda b, _: labels_text(value_at(b, "spec", "selector")), priority=1),
    ),
    ("", "Endpoints"): (NAME, Cell("Endpoints", addresses), AGE),
    ("", "Pod"): (
        NAME,
        Cell("Ready", ready_of(pod_ready)),
        Cell("Status", pod_status),
        Cell("Restarts", restarts),
        AGE,
        Cell("IP", field("status", "podIP", missing=NONE), priority=1),
        Cell("Node", field("spec", "nodeName", missing=NONE), priority=1),
        Cell("Nominated Node", field("status", "nominatedNodeName", missing=NONE), priority=1),
        Cell("Readiness Gates", lambda *_: NONE, priority=1),
    ),
    ("", "ReplicationController"): _REPLICAS,
    ("", "Node"): (
        NAME,
        Cell("Status", node_status),
        Cell("Roles", roles_of),
        AGE,
        Cell("Version", field("status", "nodeInfo", "kubeletVersion")),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        Cell("Status", claim_phase),
        Cell("Volume", field("spec", "volumeName")),
        Cell("Capacity", field("status", "capacity", "storage")),
        Cell("Access Modes", claim_modes),
        Cell("StorageClass", field("spec", "storageClassName")),
        Cell("VolumeAttributesClass", field("spec", "volumeAttributesClassName", missing=UNSET)),
        AGE,
        Cell("VolumeMode", field("spec", "volumeMode", missing=UNSET), priority=1),
    ),
    ("", "PersistentVolume"): (
        NAME,
        Cell("Capacity", field("spec", "capacity", "storage")),
        Cell("Access Modes", access_modes),
        Cell("Reclaim Policy", field("spec", "persistentVolumeReclaimPolicy")),
        Cell("Status", claim_phase),
        Cell("Claim", field("spec", "claimRef", "name")),
        Cell("StorageClass", field("spec", "storageClassName")),
        Cell("VolumeAttributesClass", field("spec", "volumeAttributesClassName", missing=UNSET)),
        Cell("Reason", field("status", "reason")),
        AGE,
        Cell("VolumeMode", field("spec", "volumeMode", missing=UNSET), priority=1),
    ),
    ("apps", "Deployment"): (
        NAME,
        Cell("Ready", ready_of(replicas_of)),
        Cell("Up-to-date", field("status", "updatedReplicas", missing=0)),
        Cell("Available", field("status", "availableReplicas", missing=0)),
        AGE,
        *TEMPLATE,
        SELECTOR,
    ),
    ("apps", "ReplicaSet"): _REPLICAS,
    ("apps", "StatefulSet"): (NAME, Cell("Ready", ready_of(replicas_of)), AGE, *TEMPLATE),
    ("apps", "DaemonSet"): (
        NAME,
        *(integer_cell(name, "status", field) for name, field in _DAEMON),
        Cell(
            "Node Selector", lambda b, _: labels_text(value_at(b, "spec", "template", "spec", "nodeSelector"))
        ),
        AGE,
        *TEMPLATE,
        SELECTOR,
    ),
    ("batch", "Job"): (
        NAME,
        Cell("Status", job_status),
        Cell("Completions", completions),
        Cell("Duration", lambda *_: ""),
        AGE,
        *TEMPLATE,
        SELECTOR,
    ),
    ("batch", "CronJob"): (
        NAME,
        Cell("Schedule", field("spec", "schedule")),
        Cell("Timezone", field("spec", "timeZone", missing=NONE)),
        Cell("Suspend", lambda b, _: "True" if value_at(b, "spec", "suspend") else "False"),
        Cell("Active", count_of("status.active"), "integer"),
        Cell(
            "Last Schedule",
            lambda b, n: age(t, n) if (t := value_at(b, "status", "lastScheduleTime")) else NONE,
        ),
        AGE,
        *wide_cells("spec", "jobTemplate", "spec", "template", "spec"),
        Cell(
            "Selector",
            lambda b, _: selector_text(value_at(b, "spec", "jobTemplate", "spec", "selector")),
            priority=1,
        ),
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        NAME,
        Cell("Pod-Selector", lambda b, _: selector_text(value_at(b, "spec", "podSelector"))),
        AGE,
    ),
    ("networking.k8s.io", "Ingress"): (
        NAME,
        Cell("Class", field("spec", "ingressClassName", missing=NONE)),
        Cell("Hosts", hosts_of),
        Cell("Address", balancers),
        Cell("Ports", lambda b, _: "80, 443" if value_at(b, "spec", "tls") else "80"),
        AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        NAME,
        Cell("Controller", field("spec", "controller")),
        Cell("Parameters", field("spec", "parameters", "name", missing=NONE)),
        AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        Cell("Min Available", limit_of("minAvailable")),
        Cell("Max Unavailable", limit_of("maxUnavailable")),
        integer_cell("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        Cell("Reference", scale_target),
        Cell("Targets", targets_of),
        Cell("MinPods", field("spec", "minReplicas", missing=UNSET)),
        Cell("MaxPods", field("spec", "maxReplicas")),
        Cell("Replicas", field("status", "currentReplicas", missing=0)),
        AGE,
    ),
    (_RBAC, "Role"): (NAME, CREATED),
    (_RBAC, "ClusterRole"): (NAME, CREATED),
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("coordination.k8s.io", "Lease"): (NAME, Cell("Holder", field("spec", "holderIdentity")), AGE),
    ("storage.k8s.io", "StorageClass"): (
        NAME,
        Cell("Provisioner", field("provisioner")),
        Cell("ReclaimPolicy", field("reclaimPolicy")),
        Cell("VolumeBindingMode", field("volumeBindingMode")),
        Cell("AllowVolumeExpansion", lambda b, _: yes_or_no(b.get("allowVolumeExpansion"))),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        Cell("Value", field("value"), "integer"),
        Cell("Global-Default", lambda b, _: bool(b.get("globalDefault")), "boolean"),
        AGE,
        Cell("PreemptionPolicy", field("preemptionPolicy")),
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        NAME,
        Cell("Scope", field("spec", "scope")),
        Cell("Versions", crd_versions),
        CREATED,
        Cell("Group", field("spec", "group"), priority=1),
        Cell("Kind", field("spec", "names", "kind"), priority=1),
        Cell("ShortNames", lambda b, _: joined(value_at(b, "spec", "names", "shortNames") or ()), priority=1),
        Cell("Established", established, "boolean", priority=1),
    ),
}
_PLAIN = (NAME, AGE)


def _of(group: str, kind: str) -> tuple[Cell, ...]:
    return _COLUMNS.get((group, kind), _PLAIN)
