"""Columns of built-in kinds, as the real server's printers show them.

Kinds that people look at every day have their own columns; all others print name and age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rulesengine.core.json import Object

NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"


class Cell(NamedTuple):
    """One column: what it is called and how a cell of it is made from the object."""

    name: str
    make: Callable[[Object, datetime], Any]
    type: str = "string"
    priority: int = 0
    format: str = ""


def definition(name: str, kind: str, form: str, priority: int) -> Object:
    return {"name": name, "type": kind, "format": form, "description": "", "priority": priority}


def definitions(group: str, kind: str) -> list[Object]:
    return [definition(c.name, c.type, c.format, c.priority) for c in _of(group, kind)]


def cells(group: str, kind: str, body: Object, now: datetime) -> list[Any]:
    return [column.make(body, now) for column in _of(group, kind)]


def age(text: str | None, now: datetime) -> str:
    """How long ago a time was, in kubectl's short form."""
    if not text:
        return UNKNOWN
    try:
        since = datetime.fromisoformat(text)
    except ValueError:
        return "<invalid>"
    if since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    return span((now - since).total_seconds())


def span(seconds: float) -> str:
    """A duration as k8s.io/apimachinery's HumanDuration writes it."""
    if seconds < -2:
        return "<invalid>"
    whole = max(int(seconds), 0)
    if whole < 120:
        return f"{whole}s"
    minutes, hours = whole // 60, whole // 3600
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(hours // 24, "d", hours % 24, "h")
    if hours < 24 * 365 * 2:
        return f"{hours // 24}d"
    years, days = hours // (24 * 365), hours // 24 % 365
    return _two(years, "y", days, "d") if hours < 24 * 365 * 8 else f"{years}y"


def _two(large: int, unit: str, small: int, part: str) -> str:
    return f"{large}{unit}{small}{part}" if small else f"{large}{unit}"


# --- parts of objects ---


def _at(body: Any, *path: str) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _field(*path: str, missing: Any = "") -> Callable[[Object, datetime], Any]:
    def make(body: Object, _: datetime) -> Any:
        value = _at(body, *path)
        return missing if value is None else value

    return make


def _count(*paths: str) -> Callable[[Object, datetime], Any]:
    return lambda body, _: sum(len(_at(body, *path.split(".")) or ()) for path in paths)


def _since(body: Object, now: datetime) -> str:
    return age(body["metadata"].get("creationTimestamp"), now)


def _created(body: Object, _: datetime) -> Any:
    return body["metadata"].get("creationTimestamp")


def _joined(values: Iterable[Any]) -> str:
    return ",".join(str(v) for v in values)


def _labels(found: Any) -> str:
    return _joined(f"{k}={v}" for k, v in sorted((found or {}).items())) or NONE


def _selector(found: Any) -> str:
    """A label selector as text."""
    if not isinstance(found, dict) or not found:
        return NONE
    parts = [f"{k}={v}" for k, v in sorted((found.get("matchLabels") or {}).items())]
    for each in found.get("matchExpressions") or ():
        key, how, values = each.get("key"), each.get("operator"), _joined(sorted(each.get("values") or ()))
        parts.append(
            {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": f"{key}"}.get(
                how, f"!{key}"
            )
        )
    return ",".join(parts) or NONE


def _containers(body: Object, *path: str) -> list[Object]:
    return _at(body, *path, "containers") or []


NAME = Cell("Name", _field("metadata", "name"), format="name")
AGE = Cell("Age", _since)
CREATED = Cell("Created At", _created, "date")


def _integer(name: str, *path: str) -> Cell:
    return Cell(name, _field(*path, missing=0), "integer")


def _wide(*path: str) -> tuple[Cell, Cell]:
    """Names and images of the containers of a pod template."""
    return (
        Cell(
            "Containers", lambda b, _: _joined(c.get("name", "") for c in _containers(b, *path)), priority=1
        ),
        Cell("Images", lambda b, _: _joined(c.get("image", "") for c in _containers(b, *path)), priority=1),
    )


_TEMPLATE = _wide("spec", "template", "spec")
_SELECTOR = Cell("Selector", lambda b, _: _selector(_at(b, "spec", "selector")), priority=1)


# --- kinds with something to compute ---


def _service_ports(body: Object, _: datetime) -> str:
    shown = [
        f"{p.get('port')}"
        + (f":{p['nodePort']}" if p.get("nodePort") else "")
        + f"/{p.get('protocol', 'TCP')}"
        for p in _at(body, "spec", "ports") or ()
    ]
    return ",".join(shown) or NONE


def _external(body: Object, _: datetime) -> str:
    spec = body.get("spec") or {}
    ips = list(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName") or NONE)
    if spec.get("type") == "LoadBalancer":
        given = _at(body, "status", "loadBalancer", "ingress") or ()
        ips = [e.get("ip") or e.get("hostname") for e in given] + ips
        return _joined(ips) or "<pending>"
    return _joined(ips) or NONE


def _namespace_phase(body: Object, _: datetime) -> str:
    return str(_at(body, "status", "phase") or "")


def _ready(of: Callable[[Object], tuple[Any, Any]]) -> Callable[[Object, datetime], str]:
    return lambda body, _: "{}/{}".format(*of(body))


def _replicas(body: Object) -> tuple[int, int]:
    return _at(body, "status", "readyReplicas") or 0, _at(body, "spec", "replicas") or 0


def _pod_ready(body: Object) -> tuple[int, int]:
    states = _at(body, "status", "containerStatuses") or ()
    return sum(bool(s.get("ready")) for s in states), len(_containers(body, "spec"))


def _pod_status(body: Object, _: datetime) -> str:
    if body["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(_at(body, "status", "reason") or _at(body, "status", "phase") or "")


def _restarts(body: Object, _: datetime) -> str:
    return str(sum(s.get("restartCount", 0) for s in _at(body, "status", "containerStatuses") or ()))


def _quota(limits: bool) -> Callable[[Object, datetime], str]:
    def make(body: Object, _: datetime) -> str:
        hard, used = _at(body, "status", "hard") or {}, _at(body, "status", "used") or {}
        shown = [
            f"{name}: {used.get(name, '0')}/{value}"
            for name, value in sorted(hard.items())
            if name.startswith("limits") is limits
        ]
        return ", ".join(shown)

    return make


def _job_status(body: Object, _: datetime) -> str:
    for each in _at(body, "status", "conditions") or ():
        if each.get("status") == "True" and each.get("type") in ("Complete", "Failed", "Suspended"):
            return str(each["type"])
    return "Terminating" if body["metadata"].get("deletionTimestamp") else "Running"


def _completions(body: Object, _: datetime) -> str:
    done = _at(body, "status", "succeeded") or 0
    wanted = _at(body, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = _at(body, "spec", "parallelism") or 0
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _object_of_event(body: Object, _: datetime) -> str:
    about = body.get("involvedObject") or body.get("regarding") or {}
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _event_time(body: Object, *names: str) -> Any:
    return next((body[name] for name in names if body.get(name)), None)


def _last_seen(body: Object, now: datetime) -> str:
    seen = _at(body, "series", "lastObservedTime") or _event_time(
        body, "lastTimestamp", "deprecatedLastTimestamp", "eventTime"
    )
    return age(seen, now)


def _first_seen(body: Object, now: datetime) -> str:
    return age(_event_time(body, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)


def _event_source(body: Object, _: datetime) -> str:
    source = body.get("source") or body.get("deprecatedSource") or {}
    component = (
        source.get("component") or body.get("reportingComponent") or body.get("reportingController") or ""
    )
    host = source.get("host") or body.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _event_count(body: Object, _: datetime) -> Any:
    return _at(body, "series", "count") or body.get("count") or body.get("deprecatedCount") or 1


def _crd_versions(body: Object, _: datetime) -> str:
    return _joined(
        v["name"] + ("(storage)" if v.get("storage") else "")
        for v in _at(body, "spec", "versions") or ()
        if v.get("served")
    )


def _established(body: Object, _: datetime) -> bool:
    conditions = _at(body, "status", "conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _role(body: Object, _: datetime) -> str:
    return f"{_at(body, 'roleRef', 'kind')}/{_at(body, 'roleRef', 'name')}"


def _subjects(kind: str) -> Callable[[Object, datetime], str]:
    def make(body: Object, _: datetime) -> str:
        found = [s for s in body.get("subjects") or () if s.get("kind") == kind]
        return ", ".join(f"{s['namespace']}/{s['name']}" if s.get("namespace") else s["name"] for s in found)

    return make


def _hosts(body: Object, _: datetime) -> str:
    hosts = [r["host"] for r in _at(body, "spec", "rules") or () if r.get("host")]
    return _joined(hosts[:3]) + (f" + {len(hosts) - 3} more..." if len(hosts) > 3 else "") or "*"


def _balancers(body: Object, _: datetime) -> str:
    given = _at(body, "status", "loadBalancer", "ingress") or ()
    return _joined(e.get("ip") or e.get("hostname") or "" for e in given)


def _reference(body: Object, _: datetime) -> str:
    target = _at(body, "spec", "scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _targets(body: Object, _: datetime) -> str:
    shown = []
    for metric in _at(body, "spec", "metrics") or ():
        part = metric.get(str(metric.get("type", "")).lower()) or {}
        target = part.get("target") or {}
        value = target.get("averageUtilization")
        goal = f"{value}%" if value is not None else target.get("averageValue") or target.get("value")
        name = f"{part['name']}: " if part.get("name") else ""
        shown.append(f"{name}{UNKNOWN}/{goal}")
    return ", ".join(shown) or NONE


def _addresses(body: Object, _: datetime) -> str:
    found = [
        f"{a.get('ip')}:{p.get('port')}"
        for subset in body.get("subsets") or ()
        for p in subset.get("ports") or ()
        for a in subset.get("addresses") or ()
    ]
    return _joined(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "") or NONE


_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(body: Object, _: datetime) -> str:
    return _joined(_MODES.get(m, m) for m in _at(body, "spec", "accessModes") or ())


def _claim_modes(body: Object, now: datetime) -> str:
    return _modes(body, now) if _at(body, "spec", "volumeName") else ""


def _claim_phase(body: Object, _: datetime) -> str:
    return "Terminating" if body["metadata"].get("deletionTimestamp") else _at(body, "status", "phase") or ""


def _limit(name: str) -> Callable[[Object, datetime], str]:
    def make(body: Object, _: datetime) -> str:
        value = _at(body, "spec", name)
        return "N/A" if value is None else str(value)

    return make


def _node_status(body: Object, _: datetime) -> str:
    conditions = _at(body, "status", "conditions") or ()
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), None)
    shown = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{shown},SchedulingDisabled" if _at(body, "spec", "unschedulable") else shown


def _roles(body: Object, _: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    found = sorted(
        k.removeprefix(prefix) for k in body["metadata"].get("labels") or {} if k.startswith(prefix)
    )
    return _joined(found) or NONE


def _yes(value: Any) -> str:
    return "true" if value else "false"


_EVENT = (
    Cell("Last Seen", _last_seen),
    Cell("Type", _field("type")),
    Cell("Reason", _field("reason")),
    Cell("Object", _object_of_event),
    Cell("Subobject", _field("involvedObject", "fieldPath"), priority=1),
    Cell("Source", _event_source, priority=1),
    Cell("Message", lambda b, _: str(b.get("message") or b.get("note") or "").strip()),
    Cell("First Seen", _first_seen, priority=1),
    Cell("Count", _event_count, priority=1),
    Cell("Name", _field("metadata", "name"), priority=1, format="name"),
)
_REPLICAS = (
    NAME,
    _integer("Desired", "spec", "replicas"),
    _integer("Current", "status", "replicas"),
    _integer("Ready", "status", "readyReplicas"),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)
_BINDING = (
    NAME,
    Cell("Role", _role),
    AGE,
    Cell("Users", _subjects("User"), priority=1),
    Cell("Groups", _subjects("Group"), priority=1),
    Cell("ServiceAccounts", _subjects("ServiceAccount"), priority=1),
)
_WEBHOOKS = (NAME, Cell("Webhooks", _count("webhooks"), "integer"), AGE)
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
    ("", "ConfigMap"): (NAME, Cell("Data", _count("data", "binaryData")), AGE),
    ("", "Secret"): (NAME, Cell("Type", _field("type")), Cell("Data", _count("data")), AGE),
    ("", "Namespace"): (NAME, Cell("Status", _namespace_phase), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "LimitRange"): (NAME, CREATED),
    ("", "ResourceQuota"): (
        NAME,
        Cell("Request", _quota(limits=False)),
        Cell("Limit", _quota(limits=True)),
        AGE,
    ),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Service"): (
        NAME,
        Cell("Type", _field("spec", "type")),
        Cell("Cluster-IP", _field("spec", "clusterIP", missing=NONE)),
        Cell("External-IP", _external),
        Cell("Port(s)", _service_ports),
        AGE,
        Cell("Selector", lambda b, _: _labels(_at(b, "spec", "selector")), priority=1),
    ),
    ("", "Endpoints"): (NAME, Cell("Endpoints", _addresses), AGE),
    ("", "Pod"): (
        NAME,
        Cell("Ready", _ready(_pod_ready)),
        Cell("Status", _pod_status),
        Cell("Restarts", _restarts),
        AGE,
        Cell("IP", _field("status", "podIP", missing=NONE), priority=1),
        Cell("Node", _field("spec", "nodeName", missing=NONE), priority=1),
        Cell("Nominated Node", _field("status", "nominatedNodeName", missing=NONE), priority=1),
        Cell("Readiness Gates", lambda *_: NONE, priority=1),
    ),
    ("", "ReplicationController"): _REPLICAS,
    ("", "Node"): (
        NAME,
        Cell("Status", _node_status),
        Cell("Roles", _roles),
        AGE,
        Cell("Version", _field("status", "nodeInfo", "kubeletVersion")),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        Cell("Status", _claim_phase),
        Cell("Volume", _field("spec", "volumeName")),
        Cell("Capacity", _field("status", "capacity", "storage")),
        Cell("Access Modes", _claim_modes),
        Cell("StorageClass", _field("spec", "storageClassName")),
        Cell("VolumeAttributesClass", _field("spec", "volumeAttributesClassName", missing=UNSET)),
        AGE,
        Cell("VolumeMode", _field("spec", "volumeMode", missing=UNSET), priority=1),
    ),
    ("", "PersistentVolume"): (
        NAME,
        Cell("Capacity", _field("spec", "capacity", "storage")),
        Cell("Access Modes", _modes),
        Cell("Reclaim Policy", _field("spec", "persistentVolumeReclaimPolicy")),
        Cell("Status", _claim_phase),
        Cell("Claim", _field("spec", "claimRef", "name")),
        Cell("StorageClass", _field("spec", "storageClassName")),
        Cell("VolumeAttributesClass", _field("spec", "volumeAttributesClassName", missing=UNSET)),
        Cell("Reason", _field("status", "reason")),
        AGE,
        Cell("VolumeMode", _field("spec", "volumeMode", missing=UNSET), priority=1),
    ),
    ("apps", "Deployment"): (
        NAME,
        Cell("Ready", _ready(_replicas)),
        Cell("Up-to-date", _field("status", "updatedReplicas", missing=0)),
        Cell("Available", _field("status", "availableReplicas", missing=0)),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("apps", "ReplicaSet"): _REPLICAS,
    ("apps", "StatefulSet"): (NAME, Cell("Ready", _ready(_replicas)), AGE, *_TEMPLATE),
    ("apps", "DaemonSet"): (
        NAME,
        *(_integer(name, "status", field) for name, field in _DAEMON),
        Cell("Node Selector", lambda b, _: _labels(_at(b, "spec", "template", "spec", "nodeSelector"))),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("batch", "Job"): (
        NAME,
        Cell("Status", _job_status),
        Cell("Completions", _completions),
        Cell("Duration", lambda *_: ""),
        AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("batch", "CronJob"): (
        NAME,
        Cell("Schedule", _field("spec", "schedule")),
        Cell("Timezone", _field("spec", "timeZone", missing=NONE)),
        Cell("Suspend", lambda b, _: "True" if _at(b, "spec", "suspend") else "False"),
        Cell("Active", _count("status.active"), "integer"),
        Cell(
            "Last Schedule", lambda b, n: age(t, n) if (t := _at(b, "status", "lastScheduleTime")) else NONE
        ),
        AGE,
        *_wide("spec", "jobTemplate", "spec", "template", "spec"),
        Cell(
            "Selector", lambda b, _: _selector(_at(b, "spec", "jobTemplate", "spec", "selector")), priority=1
        ),
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        NAME,
        Cell("Pod-Selector", lambda b, _: _selector(_at(b, "spec", "podSelector"))),
        AGE,
    ),
    ("networking.k8s.io", "Ingress"): (
        NAME,
        Cell("Class", _field("spec", "ingressClassName", missing=NONE)),
        Cell("Hosts", _hosts),
        Cell("Address", _balancers),
        Cell("Ports", lambda b, _: "80, 443" if _at(b, "spec", "tls") else "80"),
        AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        NAME,
        Cell("Controller", _field("spec", "controller")),
        Cell("Parameters", _field("spec", "parameters", "name", missing=NONE)),
        AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        Cell("Min Available", _limit("minAvailable")),
        Cell("Max Unavailable", _limit("maxUnavailable")),
        _integer("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        Cell("Reference", _reference),
        Cell("Targets", _targets),
        Cell("MinPods", _field("spec", "minReplicas", missing=UNSET)),
        Cell("MaxPods", _field("spec", "maxReplicas")),
        Cell("Replicas", _field("status", "currentReplicas", missing=0)),
        AGE,
    ),
    (_RBAC, "Role"): (NAME, CREATED),
    (_RBAC, "ClusterRole"): (NAME, CREATED),
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("coordination.k8s.io", "Lease"): (NAME, Cell("Holder", _field("spec", "holderIdentity")), AGE),
    ("storage.k8s.io", "StorageClass"): (
        NAME,
        Cell("Provisioner", _field("provisioner")),
        Cell("ReclaimPolicy", _field("reclaimPolicy")),
        Cell("VolumeBindingMode", _field("volumeBindingMode")),
        Cell("AllowVolumeExpansion", lambda b, _: _yes(b.get("allowVolumeExpansion"))),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        Cell("Value", _field("value"), "integer"),
        Cell("Global-Default", lambda b, _: bool(b.get("globalDefault")), "boolean"),
        AGE,
        Cell("PreemptionPolicy", _field("preemptionPolicy")),
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        NAME,
        Cell("Scope", _field("spec", "scope")),
        Cell("Versions", _crd_versions),
        CREATED,
        Cell("Group", _field("spec", "group"), priority=1),
        Cell("Kind", _field("spec", "names", "kind"), priority=1),
        Cell("ShortNames", lambda b, _: _joined(_at(b, "spec", "names", "shortNames") or ()), priority=1),
        Cell("Established", _established, "boolean", priority=1),
    ),
}
_PLAIN = (NAME, AGE)


def _of(group: str, kind: str) -> tuple[Cell, ...]:
    return _COLUMNS.get((group, kind), _PLAIN)
