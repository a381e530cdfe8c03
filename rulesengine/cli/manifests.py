"""Everything that runs an engine in a cluster, as objects; from one list come `install`'s output,
the Kustomize base and the Helm chart. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rulesengine import api
from rulesengine.cli import roles
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.json import Object
from rulesengine.core.settings import Settings
from rulesengine.runtime import webhook

NAME = "rulesengine"
PART_OF = {"app.kubernetes.io/part-of": NAME}
SELECTOR = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "engine"}
METRICS, HEALTH, HOOK, DEBUG = 8080, 8081, 9443, 8082
USER = 65532


@dataclass(frozen=True, slots=True)
class Options:
    """`replicas` is text where a chart fills it in."""

    namespace: str
    image: str
    replicas: int | str = 2


def engine(options: Options) -> Object:
    """The engine as a subject of bindings."""
    return {"kind": "ServiceAccount", "name": NAME, "namespace": options.namespace}


def manifests(
    options: Options, rules: Sequence[CompiledRule], resources: roles.Resources
) -> Iterator[Object]:
    """All of it, in the order in which it is to be applied. KeyError: a rule's kind is not known."""
    yield from map(_labelled, api.crds())
    yield from map(_labelled, _home(options))
    yield from map(_labelled, _rights(options))
    for rule in rules:
        yield from map(_labelled, roles.rule_roles(rule, resources, engine(options)))
    yield from map(_labelled, _workload(options))


def _labelled(body: Object) -> Object:
    metadata = body["metadata"]
    return body | {"metadata": metadata | {"labels": PART_OF | (metadata.get("labels") or {})}}


def _home(options: Options) -> Iterator[Object]:
    security = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    metadata = {"name": options.namespace, "labels": security}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _meta(options)}


def _rights(options: Options) -> Iterator[Object]:
    subject, name = engine(options), f"{NAME}-engine"
    yield roles.cluster_role(name, roles.engine_rights())
    yield roles.binding(name, "", subject)
    yield roles.aggregated_role(f"{NAME}-rules")
    yield roles.binding(f"{NAME}-rules", "", subject)
    yield roles.role(name, options.namespace, roles.home_rights())
    yield roles.binding(name, options.namespace, subject)
    look = [{"apiGroups": [api.GROUP], "resources": ["clusterrules", "rules"], "verbs": list(roles.READ)}]
    labels = {f"{roles.RBAC}/aggregate-to-view": "true"}
    yield roles.cluster_role(f"{NAME}-view", look, labels)


def _workload(options: Options) -> Iterator[Object]:
    yield _deployment(options)
    budget = {"minAvailable": 1, "selector": {"matchLabels": SELECTOR}}
    yield _object("policy/v1", "PodDisruptionBudget", options, budget)
    hook_port = {"name": "webhook", "port": 443, "targetPort": HOOK}
    yield _service(webhook.SERVICE, options, hook_port)
    yield _service(f"{NAME}-metrics", options, {"name": "metrics", "port": METRICS, "targetPort": METRICS})
    yield _object("networking.k8s.io/v1", "NetworkPolicy", options, _network())
    service = {"name": webhook.SERVICE, "namespace": options.namespace, "path": webhook.PATH, "port": 443}
    yield webhook.configuration({"service": service})


def _deployment(options: Options) -> Object:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": SELECTOR},
    }
    pod = {
        "serviceAccountName": NAME,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        # the drain, and the lease given back
        "terminationGracePeriodSeconds": int(Settings().drain) + 15,
        "topologySpreadConstraints": [spread],
        "containers": [_container(options)],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}],
    }
    spec = {
        "replicas": options.replicas,
        "selector": {"matchLabels": SELECTOR},
        "template": {"metadata": {"labels": SELECTOR | PART_OF}, "spec": pod},
    }
    return _object("apps/v1", "Deployment", options, spec)


def _container(options: Options) -> Object:
    return {
        "name": "engine",
        "image": options.image,
        "args": [
            "run",
            f"--namespace={options.namespace}",
            f"--metrics-address=:{METRICS}",
            f"--health-address=:{HEALTH}",
            f"--webhook-address=:{HOOK}",
            f"--debug-address=127.0.0.1:{DEBUG}",
            "--log-format=json",
        ],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [
            {"name": "metrics", "containerPort": METRICS},
            {"name": "health", "containerPort": HEALTH},
            {"name": "webhook", "containerPort": HOOK},
        ],
        "livenessProbe": _probe("/healthz", period=10, failures=3),
        "readinessProbe": _probe("/readyz", period=5, failures=2),
        # caches of large clusters take their time; the loop answers meanwhile
        "startupProbe": _probe("/healthz", period=2, failures=30),
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - the pod's own, in memory
    }


def _probe(path: str, *, period: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": "health"},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": 3,
    }


def _network() -> Object:
    """In: probes, scrapes and the API server's reviews. Out: names, and API servers wherever they are."""
    ports = [{"protocol": "TCP", "port": port} for port in (METRICS, HEALTH, HOOK)]
    names = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    servers = [{"protocol": "TCP", "port": port} for port in (443, 6443)]
    return {
        "podSelector": {"matchLabels": SELECTOR},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": ports}],
        "egress": [{"ports": names + servers}],
    }


def _service(name: str, options: Options, port: Object) -> Object:
    spec = {"selector": SELECTOR, "ports": [port | {"protocol": "TCP"}]}
    metadata = {"name": name, "namespace": options.namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _object(version: str, kind: str, options: Options, spec: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": _meta(options), "spec": spec}


def _meta(options: Options) -> Object:
    return {"name": NAME, "namespace": options.namespace}
