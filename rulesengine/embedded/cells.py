"""What a cell of a built-in kind's table says: one small function each, as the real server prints it."""

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
        return two_units(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return two_units(hours // 24, "d", hours % 24, "h")
    if hours < 24 * 365 * 2:
        return f"{hours // 24}d"
    years, days = hours // (24 * 365), hours // 24 % 365
    return two_units(years, "y", days, "d") if hours < 24 * 365 * 8 else f"{years}y"


def two_units(large: int, unit: str, small: int, part: str) -> str:
    return f"{large}{unit}{small}{part}" if small else f"{large}{unit}"


# --- parts of objects ---


def value_at(body: Any, *path: str) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def field(*path: str, missing: Any = "") -> Callable[[Object, datetime], Any]:
    def make(body: Object, _: datetime) -> Any:
        value = value_at(body, *path)
        return missing if value is None else value

    return make


def count_of(*paths: str) -> Callable[[Object, datetime], Any]:
    return lambda body, _: sum(len(value_at(body, *path.split(".")) or ()) for path in paths)


def age_of(body: Object, now: datetime) -> str:
    return age(body["metadata"].get("creationTimestamp"), now)


def created(body: Object, _: datetime) -> Any:
    return body["metadata"].get("creationTimestamp")


def joined(values: Iterable[Any]) -> str:
    return ",".join(str(v) for v in values)


def labels_text(found: Any) -> str:
    return joined(f"{k}={v}" for k, v in sorted((found or {}).items())) or NONE


def selector_text(found: Any) -> str:
    """A label selector as text."""
    if not isinstance(found, dict) or not found:
        return NONE
    parts = [f"{k}={v}" for k, v in sorted((found.get("matchLabels") or {}).items())]
    for each in found.get("matchExpressions") or ():
        key, how, values = each.get("key"), each.get("operator"), joined(sorted(each.get("values") or ()))
        parts.append(
            {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": f"{key}"}.get(
                how, f"!{key}"
            )
        )
    return ",".join(parts) or NONE


def containers_of(body: Object, *path: str) -> list[Object]:
    return value_at(body, *path, "containers") or []


NAME = Cell("Name", field("metadata", "name"), format="name")
AGE = Cell("Age", age_of)
CREATED = Cell("Created At", created, "date")


def integer_cell(name: str, *path: str) -> Cell:
    return Cell(name, field(*path, missing=0), "integer")


def wide_cells(*path: str) -> tuple[Cell, Cell]:
    """Names and images of the containers of a pod template."""
    return (
        Cell(
            "Containers", lambda b, _: joined(c.get("name", "") for c in containers_of(b, *path)), priority=1
        ),
        Cell("Images", lambda b, _: joined(c.get("image", "") for c in containers_of(b, *path)), priority=1),
    )


TEMPLATE = wide_cells("spec", "template", "spec")
SELECTOR = Cell("Selector", lambda b, _: selector_text(value_at(b, "spec", "selector")), priority=1)


# --- kinds with something to compute ---


def service_ports(body: Object, _: datetime) -> str:
    shown = [
        f"{p.get('port')}"
        + (f":{p['nodePort']}" if p.get("nodePort") else "")
        + f"/{p.get('protocol', 'TCP')}"
        for p in value_at(body, "spec", "ports") or ()
    ]
    return ",".join(shown) or NONE


def external(body: Object, _: datetime) -> str:
    spec = body.get("spec") or {}
    ips = list(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName") or NONE)
    if spec.get("type") == "LoadBalancer":
        given = value_at(body, "status", "loadBalancer", "ingress") or ()
        ips = [e.get("ip") or e.get("hostname") for e in given] + ips
        return joined(ips) or "<pending>"
    return joined(ips) or NONE


def namespace_phase(body: Object, _: datetime) -> str:
    return str(value_at(body, "status", "phase") or "")


def ready_of(of: Callable[[Object], tuple[Any, Any]]) -> Callable[[Object, datetime], str]:
    return lambda body, _: "{}/{}".format(*of(body))


def replicas_of(body: Object) -> tuple[int, int]:
    return value_at(body, "status", "readyReplicas") or 0, value_at(body, "spec", "replicas") or 0


def pod_ready(body: Object) -> tuple[int, int]:
    states = value_at(body, "status", "containerStatuses") or ()
    return sum(bool(s.get("ready")) for s in states), len(containers_of(body, "spec"))


def pod_status(body: Object, _: datetime) -> str:
    if body["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(value_at(body, "status", "reason") or value_at(body, "status", "phase") or "")


def restarts(body: Object, _: datetime) -> str:
    return str(sum(s.get("restartCount", 0) for s in value_at(body, "status", "containerStatuses") or ()))


def quota_of(limits: bool) -> Callable[[Object, datetime], str]:
    def make(body: Object, _: datetime) -> str:
        hard, used = value_at(body, "status", "hard") or {}, value_at(body, "status", "used") or {}
        shown = [
            f"{name}: {used.get(name, '0')}/{value}"
            for name, value in sorted(hard.items())
            if name.startswith("limits") is limits
        ]
        return ", ".join(shown)

    return make


def job_status(body: Object, _: datetime) -> str:
    for each in value_at(body, "status", "conditions") or ():
        if each.get("status") == "True" and each.get("type") in ("Complete", "Failed", "Suspended"):
            return str(each["type"])
    return "Terminating" if body["metadata"].get("deletionTimestamp") else "Running"


def completions(body: Object, _: datetime) -> str:
    done = value_at(body, "status", "succeeded") or 0
    wanted = value_at(body, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = value_at(body, "spec", "parallelism") or 0
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def object_of_event(body: Object, _: datetime) -> str:
    about = body.get("involvedObject") or body.get("regarding") or {}
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def event_time(body: Object, *names: str) -> Any:
    return next((body[name] for name in names if body.get(name)), None)


def last_seen(body: Object, now: datetime) -> str:
    seen = value_at(body, "series", "lastObservedTime") or event_time(
        body, "lastTimestamp", "deprecatedLastTimestamp", "eventTime"
    )
    return age(seen, now)


def first_seen(body: Object, now: datetime) -> str:
    return age(event_time(body, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)


def event_source(body: Object, _: datetime) -> str:
    source = body.get("source") or body.get("deprecatedSource") or {}
    component = (
        source.get("component") or body.get("reportingComponent") or body.get("reportingController") or ""
    )
    host = source.get("host") or body.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def event_count(body: Object, _: datetime) -> Any:
    return value_at(body, "series", "count") or body.get("count") or body.get("deprecatedCount") or 1


def crd_versions(body: Object, _: datetime) -> str:
    return joined(
        v["name"] + ("(storage)" if v.get("storage") else "")
        for v in value_at(body, "spec", "versions") or ()
        if v.get("served")
    )


def established(body: Object, _: datetime) -> bool:
    conditions = value_at(body, "status", "conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def role_of(body: Object, _: datetime) -> str:
    return f"{value_at(body, 'roleRef', 'kind')}/{value_at(body, 'roleRef', 'name')}"


def subjects_of(kind: str) -> Callable[[Object, datetime], str]:
    def make(body: Object, _: datetime) -> str:
        found = [s for s in body.get("subjects") or () if s.get("kind") == kind]
        return ", ".join(f"{s['namespace']}/{s['name']}" if s.get("namespace") else s["name"] for s in found)

    return make


def hosts_of(body: Object, _: datetime) -> str:
    hosts = [r["host"] for r in value_at(body, "spec", "rules") or () if r.get("host")]
    return joined(hosts[:3]) + (f" + {len(hosts) - 3} more..." if len(hosts) > 3 else "") or "*"


def balancers(body: Object, _: datetime) -> str:
    given = value_at(body, "status", "loadBalancer", "ingress") or ()
    return joined(e.get("ip") or e.get("hostname") or "" for e in given)


def scale_target(body: Object, _: datetime) -> str:
    target = value_at(body, "spec", "scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


def targets_of(body: Object, _: datetime) -> str:
    shown = []
    for metric in value_at(body, "spec", "metrics") or ():
        part = metric.get(str(metric.get("type", "")).lower()) or {}
        target = part.get("target") or {}
        value = target.get("averageUtilization")
        goal = f"{value}%" if value is not None else target.get("averageValue") or target.get("value")
        name = f"{part['name']}: " if part.get("name") else ""
        shown.append(f"{name}{UNKNOWN}/{goal}")
    return ", ".join(shown) or NONE


def addresses(body: Object, _: datetime) -> str:
    found = [
        f"{a.get('ip')}:{p.get('port')}"
        for subset in body.get("subsets") or ()
        for p in subset.get("ports") or ()
        for a in subset.get("addresses") or ()
    ]
    return joined(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "") or NONE


MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def access_modes(body: Object, _: datetime) -> str:
    return joined(MODES.get(m, m) for m in value_at(body, "spec", "accessModes") or ())


def claim_modes(body: Object, now: datetime) -> str:
    return access_modes(body, now) if value_at(body, "spec", "volumeName") else ""


def claim_phase(body: Object, _: datetime) -> str:
    return (
        "Terminating"
        if body["metadata"].get("deletionTimestamp")
        else value_at(body, "status", "phase") or ""
    )


def limit_of(name: str) -> Callable[[Object, datetime], str]:
    def make(body: Object, _: datetime) -> str:
        value = value_at(body, "spec", name)
        return "N/A" if value is None else str(value)

    return make


def node_status(body: Object, _: datetime) -> str:
    conditions = value_at(body, "status", "conditions") or ()
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), None)
    shown = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{shown},SchedulingDisabled" if value_at(body, "spec", "unschedulable") else shown


def roles_of(body: Object, _: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    found = sorted(
        k.removeprefix(prefix) for k in body["metadata"].get("labels") or {} if k.startswith(prefix)
    )
    return joined(found) or NONE


def yes_or_no(value: Any) -> str:
    return "true" if value else "false"
