"""What a real server fills into built-in objects when it reads them (its Go defaulting functions).

Only what people meet: workloads, services, storage, policies, webhooks. These run before
managers are counted, so whoever writes the object owns them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from rulesengine.core.json import Object

Default = Callable[[Object], None]


def apply(group: str, kind: str, body: Object) -> None:
    """Fills in the defaults of one kind, in place."""
    found = _BY_KIND.get((group, kind))
    if found is not None:
        found(body)


def _each(value: Object, key: str) -> list[Object]:
    return [each for each in value.get(key) or () if isinstance(each, dict)]


def _set(value: Object, **given: Any) -> None:
    for key, each in given.items():
        value.setdefault(key, each)


# --- pods ---


def pod_spec(spec: Object) -> None:
    _set(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if spec.get("serviceAccountName"):
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    elif spec.get("serviceAccount"):
        spec.setdefault("serviceAccountName", spec["serviceAccount"])
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for each in _each(spec, name):
            _container(each, host=bool(spec.get("hostNetwork")))
    for volume in _each(spec, "volumes"):
        _volume(volume)


def _container(body: Object, *, host: bool) -> None:
    _set(
        body,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pull_policy(body.get("image", "")),
    )
    for port in _each(body, "ports"):
        _set(port, protocol="TCP")
        if host and "containerPort" in port:
            _set(port, hostPort=port["containerPort"])
    for env in _each(body, "env"):
        if "fieldRef" in (env.get("valueFrom") or {}):
            _set(env["valueFrom"]["fieldRef"], apiVersion="v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(body.get(name), dict):
            _probe(body[name])
    for hook in (body.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and isinstance(hook.get("httpGet"), dict):
            _set(hook["httpGet"], path="/", scheme="HTTP")


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return "IfNotPresent" if colon and tag != "latest" else "Always"


def _probe(body: Object) -> None:
    _set(body, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    if isinstance(body.get("httpGet"), dict):
        _set(body["httpGet"], path="/", scheme="HTTP")
    if isinstance(body.get("grpc"), dict):
        _set(body["grpc"], service="")


def _volume(body: Object) -> None:
    if set(body) == {"name"}:
        body["emptyDir"] = {}
    for name in ("configMap", "secret", "projected", "downwardAPI"):
        if isinstance(body.get(name), dict):
            _set(body[name], defaultMode=420)
    if isinstance(body.get("hostPath"), dict):
        _set(body["hostPath"], type="")
    for source in _each(body.get("projected") or {}, "sources"):
        if isinstance(source.get("serviceAccountToken"), dict):
            _set(source["serviceAccountToken"], expirationSeconds=3600)
    for item in _each(body.get("downwardAPI") or {}, "items"):
        if isinstance(item.get("fieldRef"), dict):
            _set(item["fieldRef"], apiVersion="v1")


def _pod(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, enableServiceLinks=True)
    pod_spec(spec)
    for container in (*_each(spec, "containers"), *_each(spec, "initContainers")):
        resources = container["resources"]
        if limits := resources.get("limits"):  # of pods themselves only, not of templates
            resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _template(spec: Object) -> None:
    template = spec.get("template")
    if isinstance(template, dict):
        pod_spec(template.setdefault("spec", {}))


# --- workloads ---


def _deployment(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), maxUnavailable="25%", maxSurge="25%")
    _template(spec)


def _daemon_set(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, revisionHistoryLimit=10)
    strategy = spec.setdefault("updateStrategy", {})
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), maxUnavailable=1, maxSurge=0)
    _template(spec)


def _stateful_set(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = spec.setdefault("updateStrategy", {})
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), partition=0, maxUnavailable=1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    _set(retention, whenDeleted="Retain", whenScaled="Retain")
    for claim in _each(spec, "volumeClaimTemplates"):
        _set(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        _set(claim.setdefault("spec", {}), volumeMode="Filesystem")
        _set(claim.setdefault("status", {}), phase="Pending")
    _template(spec)


def _replica_set(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, replicas=1)
    _template(spec)


def job_spec(spec: Object) -> None:
    if "completions" not in spec and "parallelism" not in spec:
        _set(spec, completions=1)
    _set(
        spec,
        parallelism=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed",
        manualSelector=False,
    )
    _template(spec)


def _job(body: Object) -> None:
    job_spec(body.setdefault("spec", {}))


def _cron_job(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(
        spec,
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    inner = spec.get("jobTemplate", {}).get("spec")
    if isinstance(inner, dict):
        _template(inner)


# --- configuration and services ---


def _secret(body: Object) -> None:
    given = body.pop("stringData", None)
    if isinstance(given, dict) and given:
        data = body.setdefault("data", {})
        data |= {k: base64.b64encode(str(v).encode()).decode() for k, v in given.items()}
    _set(body, type="Opaque")


def _service(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, type="ClusterIP", sessionAffinity="None")
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {})
        _set(config.setdefault("clientIP", {}), timeoutSeconds=10800)
    if spec["type"] != "ExternalName":
        _set(spec, internalTrafficPolicy="Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        _set(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        _set(spec, allocateLoadBalancerNodePorts=True)
    for port in _each(spec, "ports"):
        _set(port, protocol="TCP")
        if "port" in port:
            _set(port, targetPort=port["port"])


def _namespace(body: Object) -> None:
    meta = body["metadata"]
    if meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}


def _claim(body: Object) -> None:
    _set(body.setdefault("spec", {}), volumeMode="Filesystem")


def _volume_object(body: Object) -> None:
    _set(body.setdefault("spec", {}), persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")


def _limit_range(body: Object) -> None:
    for item in _each(body.get("spec") or {}, "limits"):
        if item.get("type") != "Container":
            continue
        if item.get("max") and "default" not in item:
            item["default"] = dict(item["max"])
        elif item.get("max"):
            item["default"] = {**item["max"], **item["default"]}
        requests = {
            **(item.get("min") or {}),
            **(item.get("default") or {}),
            **(item.get("defaultRequest") or {}),
        }
        if requests:
            item["defaultRequest"] = requests


def _network_policy(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, podSelector={})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*_each(spec, "ingress"), *_each(spec, "egress")):
        for port in _each(rule, "ports"):
            _set(port, protocol="TCP")


def _binding(body: Object) -> None:
    if isinstance(body.get("roleRef"), dict):
        _set(body["roleRef"], apiGroup="rbac.authorization.k8s.io")
    for subject in _each(body, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            _set(subject, apiGroup="rbac.authorization.k8s.io")


def _autoscaler(body: Object) -> None:
    spec = body.setdefault("spec", {})
    _set(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _storage_class(body: Object) -> None:
    _set(body, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _webhooks(body: Object, *, mutating: bool) -> None:
    for hook in _each(body, "webhooks"):
        _set(
            hook,
            failurePolicy="Fail",
            matchPolicy="Equivalent",
            namespaceSelector={},
            objectSelector={},
            timeoutSeconds=10,
        )
        if mutating:
            _set(hook, reinvocationPolicy="Never")
        for rule in _each(hook, "rules"):
            _set(rule, scope="*")
        service = (hook.get("clientConfig") or {}).get("service")
        if isinstance(service, dict):
            _set(service, port=443)


def _priority_class(body: Object) -> None:
    _set(body, preemptionPolicy="PreemptLowerPriority")


_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_BY_KIND: dict[tuple[str, str], Default] = {
    ("", "Pod"): _pod,
    ("", "PodTemplate"): _template,
    ("", "ReplicationController"): _replica_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("", "Namespace"): _namespace,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume_object,
    ("", "LimitRange"): _limit_range,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    (_RBAC, "RoleBinding"): _binding,
    (_RBAC, "ClusterRoleBinding"): _binding,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    (_ADMISSION, "ValidatingWebhookConfiguration"): lambda body: _webhooks(body, mutating=False),
    (_ADMISSION, "MutatingWebhookConfiguration"): lambda body: _webhooks(body, mutating=True),
}
