"""What the server decides about an object on its way into storage, per kind.

After managers are counted (so nobody owns it): finalizers and phase of a namespace, a
service's address, statuses that begin with a value; which kinds count generations; and which
fields of built-in kinds cannot be changed.
"""

from __future__ import annotations

from typing import Any

from rulesengine.core.json import Object, same
from rulesengine.embedded import errors
from rulesengine.embedded.errors import Cause
from rulesengine.embedded.kinds import Kind
from rulesengine.embedded.store import Store

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
SERVICE_PREFIX = "10.0.0."  # one /24, as small test control planes have it

GENERATION_GROUPS = frozenset(
    (
        "apps",
        "autoscaling",
        "batch",
        "networking.k8s.io",
        "policy",
        "apiextensions.k8s.io",
        "admissionregistration.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "discovery.k8s.io",
    )
)
NO_GENERATION = frozenset(("ControllerRevision", "IngressClass", "IPAddress", "ServiceCIDR"))
_CORE_GENERATION = frozenset(("Pod", "ReplicationController"))


def counts_generations(kind: Kind) -> bool:
    if kind.custom:
        return True
    if not kind.gvk.group:
        return kind.gvk.kind in _CORE_GENERATION
    return kind.gvk.group in GENERATION_GROUPS and kind.gvk.kind not in NO_GENERATION


def next_generation(kind: Kind, old: Object, new: Object) -> int | None:
    """The generation of a changed object; None where the kind has none."""
    before: int | None = old["metadata"].get("generation")
    if not counts_generations(kind):
        return before
    return (before or 0) + (0 if same(_counted(kind, old), _counted(kind, new)) else 1)


def _counted(kind: Kind, body: Object) -> Object:
    """The part of an object whose change is a new generation."""
    if kind.custom or "spec" not in body:
        left_out = ("metadata", "status") if kind.has_status or not kind.custom else ("metadata",)
        return {key: value for key, value in body.items() if key not in left_out}
    return {"spec": body.get("spec")}


def created(kind: Kind, body: Object, store: Store) -> None:
    """Completes a new built-in object, in place."""
    name = (kind.gvk.group, kind.gvk.kind)
    if name == ("", "Namespace"):
        body["spec"] = {**(body.get("spec") or {}), "finalizers": ["kubernetes"]}
        body["status"] = {"phase": "Active"}
    elif name == ("", "Pod"):
        _admit_pod(body)
    elif name == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        body["status"] = {
            "storedVersions": [v.get("name") for v in body["spec"].get("versions") or () if v.get("storage")]
        }
    elif name == ("apps", "DaemonSet"):
        meta = body["metadata"]
        meta["annotations"] = {**(meta.get("annotations") or {}), TEMPLATE_GENERATION: "1"}
    elif name == ("", "Service"):
        _address(body, store)
        body["status"] = {"loadBalancer": {}}
    if name in _STATUSES:
        body["status"] = dict(_STATUSES[name])


# Statuses that begin with more than their struct's zero values.
_STATUSES: dict[tuple[str, str], Object] = {
    ("", "Pod"): {"phase": "Pending", "qosClass": "BestEffort"},
    ("", "PersistentVolume"): {"phase": "Pending"},
    ("", "PersistentVolumeClaim"): {"phase": "Pending"},
}


def _admit_pod(body: Object) -> None:
    """What admission plugins add to every pod: a priority, and patience with lost nodes."""
    spec = body["spec"]
    if not spec.get("priorityClassName"):
        spec.setdefault("priority", 0)
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    held = spec.get("tolerations") or []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(
            t.get("key") in (key, None, "") and t.get("effect") in ("NoExecute", None, "") for t in held
        ):
            patience = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            held = [*held, patience]
    spec["tolerations"] = held


def _address(body: Object, store: Store) -> None:
    spec = body["spec"]
    if spec.get("type") == "ExternalName":
        return
    if not spec.get("clusterIP"):
        taken = {e.object["spec"].get("clusterIP") for e in store.entries("services")}
        spec["clusterIP"] = next(
            (ip for n in range(2, 255) if (ip := f"{SERVICE_PREFIX}{n}") not in taken), "None"
        )
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    _node_ports(spec, store)


def _node_ports(spec: Object, store: Store) -> None:
    balanced = spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    if spec.get("type") != "NodePort" and not balanced:
        return
    taken = {
        port.get("nodePort")
        for entry in store.entries("services")
        for port in entry.object["spec"].get("ports") or ()
    }
    for port in spec.get("ports") or ():
        if not port.get("nodePort"):
            port["nodePort"] = next(n for n in range(30000, 32768) if n not in taken)
            taken.add(port["nodePort"])


def carried(kind: Kind, old: Object, new: Object) -> None:
    """What an update that leaves it out keeps: a service's addresses."""
    if kind.group_kind != ("", "Service") or new["spec"].get("type") == "ExternalName":
        return
    before = old["spec"]
    for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if name in before:
            new["spec"].setdefault(name, before[name])
    if new["spec"].get("type") in ("NodePort", "LoadBalancer"):
        ports = {p.get("port"): p.get("nodePort") for p in before.get("ports") or () if p.get("nodePort")}
        for port in new["spec"].get("ports") or ():
            if port.get("port") in ports:
                port.setdefault("nodePort", ports[port["port"]])


# --- fields that cannot be changed ---

_IMMUTABLE: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps", "Deployment"): ("spec.selector",),
    ("apps", "ReplicaSet"): ("spec.selector",),
    ("apps", "DaemonSet"): ("spec.selector",),
    ("apps", "StatefulSet"): (
        "spec.selector",
        "spec.serviceName",
        "spec.podManagementPolicy",
        "spec.volumeClaimTemplates",
    ),
    ("batch", "Job"): ("spec.selector", "spec.template", "spec.completionMode"),
    ("", "Secret"): ("type",),
    ("storage.k8s.io", "StorageClass"): ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"),
    ("scheduling.k8s.io", "PriorityClass"): ("value",),
}
_BINDINGS = frozenset(("RoleBinding", "ClusterRoleBinding"))


def immutable(kind: Kind, old: Object, new: Object) -> list[Cause]:
    """Causes for changed fields of built-in kinds that may not change."""
    name = (kind.gvk.group, kind.gvk.kind)
    found = [
        errors.bad_value(path, value, "field is immutable")
        for path in _IMMUTABLE.get(name, ())
        if not same(_at(old, path), value := _at(new, path))
    ]
    if kind.gvk.kind in _BINDINGS and not same(old.get("roleRef"), new.get("roleRef")):
        found.append(errors.bad_value("roleRef", new.get("roleRef"), "cannot change roleRef"))
    if name == ("", "Service") and old["spec"].get("clusterIP") not in (None, "", "None"):
        given = new["spec"].get("clusterIP")
        if given != old["spec"]["clusterIP"] and new["spec"].get("type") != "ExternalName":
            found.append(errors.bad_value("spec.clusterIPs[0]", [given], "may not change once set"))
    if name in (("", "ConfigMap"), ("", "Secret")) and old.get("immutable"):
        text = "field is immutable when `immutable` is set"
        changed = [key for key in ("data", "binaryData") if not same(old.get(key), new.get(key))]
        found += [errors.not_allowed(key, text) for key in changed]
        if not new.get("immutable"):
            found.append(errors.not_allowed("immutable", text))
    return found


def _at(body: Any, path: str) -> Any:
    for step in path.split("."):
        body = body.get(step) if isinstance(body, dict) else None
    return body


def problems(kind: Kind, body: Object) -> list[Cause]:
    """What a schema cannot say of the kinds people meet every day."""
    found = []
    spec = body.get("spec") if isinstance(body.get("spec"), dict) else {}
    replicas = (spec or {}).get("replicas")
    if isinstance(replicas, int) and replicas < 0:
        found.append(errors.bad_value("spec.replicas", replicas, "must be greater than or equal to 0"))
    found += _selects_itself(kind, body)
    if kind.group_kind == ("", "Service"):
        found += _service_ports(spec or {})
    path, pods = _pod_spec(kind, spec or {})
    for index, each in enumerate((pods or {}).get("containers") or ()):
        if isinstance(each, dict) and not each.get("image"):
            found.append(errors.required(f"{path}.containers[{index}].image"))
    if kind.gvk.kind in _BINDINGS:
        found += _role_ref(body.get("roleRef") or {})
    return found


def _service_ports(spec: Object) -> list[Cause]:
    headless = spec.get("clusterIP") == "None" or spec.get("type") == "ExternalName"
    ports = [p for p in spec.get("ports") or () if isinstance(p, dict)]
    if not ports:
        return [] if headless else [errors.required("spec.ports")]
    found = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name")
        if len(ports) > 1 and not name:
            found.append(errors.required(f"spec.ports[{index}].name"))
        elif name in names:
            found.append(errors.duplicate(f"spec.ports[{index}].name", name))
        names.add(str(name))
        for field in ("port", "targetPort"):
            number = port.get(field, 0 if field == "port" else 1)
            if isinstance(number, int) and not 0 < number < 65536:
                text = "must be between 1 and 65535, inclusive"
                found.append(errors.bad_value(f"spec.ports[{index}].{field}", number, text))
    return found


def _pod_spec(kind: Kind, spec: Object) -> tuple[str, Object | None]:
    """The path and value of a kind's pod spec, if it has one."""
    if kind.group_kind == ("", "Pod"):
        return "spec", spec
    template = spec.get("template")
    inner = template.get("spec") if isinstance(template, dict) else None
    return "spec.template.spec", inner if isinstance(inner, dict) else None


def _role_ref(ref: Object) -> list[Cause]:
    found = []
    if ref.get("kind") not in ("Role", "ClusterRole"):
        found.append(errors.unsupported("roleRef.kind", ref.get("kind", ""), ("Role", "ClusterRole")))
    if not ref.get("name"):
        found.append(errors.required("roleRef.name"))
    return found


def _selects_itself(kind: Kind, body: Object) -> list[Cause]:
    """A workload must select the pods of its own template."""
    if kind.gvk.group != "apps" or kind.gvk.kind == "ControllerRevision":
        return []
    spec = body.get("spec") or {}
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if all(labels.get(key) == value for key, value in wanted.items()):
        return []
    text = "`selector` does not match template `labels`"
    return [errors.bad_value("spec.template.metadata.labels", labels, text)]
