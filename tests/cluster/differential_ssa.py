"""Server-side apply compared with a real API server, operation by operation.

    python tests/cluster/differential_ssa.py KUBECONFIG [OPERATIONS] [SEED]

Random applies (several managers, with and without force), merge patches and deletes over
ConfigMaps, Deployments, Services and custom resources with every kind of list. Before each
one the answer is computed from the object as the server last showed it; then body,
managedFields, conflict text and whether resourceVersion moved are compared. A verdict
"no-op" of the local check must never meet a moved resourceVersion.
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rulesengine import ssa
from rulesengine.core.json import same
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin, structural
from rulesengine.ssa.compare import equal
from rulesengine.ssa.managers import stamp, without_managers

Value = Any
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
MANAGERS = ("alice", "bob", "carol", "kubectl")
# What the server fills in by itself in built-in kinds; nothing else may be in its answer only.
DEFAULTED = frozenset(
    (
        *("protocol", "clusterIP", "clusterIPs", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy"),
        *(
            "sessionAffinity",
            "sessionAffinityConfig",
            "clientIP",
            "timeoutSeconds",
            "type",
            "targetPort",
            "progressDeadlineSeconds",
            "replicas",
            "selector",
        ),
        *("revisionHistoryLimit", "strategy", "rollingUpdate", "maxSurge", "maxUnavailable", "metadata"),
        *("creationTimestamp", "imagePullPolicy", "resources", "terminationMessagePath", "status"),
        *("terminationMessagePolicy", "dnsPolicy", "restartPolicy", "schedulerName", "securityContext"),
        *("terminationGracePeriodSeconds", "loadBalancer", "requests", "cpu", "memory", "generation"),
        *("uid", "resourceVersion", "namespace", "name", "value", "path", "scheme", "timeoutSeconds"),
        *("periodSeconds", "successThreshold", "failureThreshold"),
    )
)
OWNERS: dict[
    str, str
] = {}  # uids of namespaces, filled at the start: garbage collection must leave objects alone
SERVER_METADATA = ("uid", "resourceVersion", "generation", "creationTimestamp", "namespace")


class Server:
    """Requests over one connection."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        self._host = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
        self._tls = ssl.create_default_context(
            cafile=config["clusters"][0]["cluster"]["certificate-authority"]
        )
        self._token = config["users"][0]["user"]["token"]
        self._connection: http.client.HTTPSConnection | None = None

    def send(
        self, method: str, path: str, body: Value = None, kind: str = "application/json"
    ) -> tuple[int, Value]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(self._host, context=self._tls, timeout=30)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        self._connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self._connection.getresponse()
        raw = answer.read()
        return answer.status, json.loads(raw) if raw[:1] == b"{" else raw.decode()


@dataclass
class Target:
    """A kind, where its objects are, how to make up configurations, and what schema it has."""

    name: str
    versions: dict[str, Schema]
    path: str  # with {version}
    make: Callable[[random.Random], Value]
    exact: bool  # whether the server adds nothing by itself
    has_status: bool
    identity: dict[str, Value]

    def url(self, version: str, name: str, subresource: str = "", **query: str) -> str:
        tail = f"/{subresource}" if subresource else ""
        return self.path.format(version=version) + f"/{name}{tail}?" + urlencode(query)


@dataclass
class Report:
    """Counts, and every difference with what led to it."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[dict[str, Value]] = field(default_factory=list)

    def __str__(self) -> str:
        counted = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"{counted}; {len(self.differences)} differences"


# --- made-up configurations ---


def some(rng: random.Random, schema: Schema, *, depth: int = 0, wrong: float = 0.0) -> Value:
    """A value of a schema, from few enough values that managers meet."""
    if wrong and rng.random() < wrong:
        return rng.choice(["odd", 7, True, {"odd": 1}, ["odd"]])
    if schema.int_or_string:
        return rng.choice([1, 2, "1", "50%"])
    if schema.enum:
        return rng.choice(schema.enum)
    match schema.type:
        case "object":
            return _some_map(rng, schema, depth, wrong)
        case "array":
            return _some_list(rng, schema, depth, wrong)
        case "string":
            return rng.choice(["a", "b", "c<&>", "é"])
        case "integer":
            return rng.choice([0, 1, 2])
        case "number":
            return rng.choice([0, 1, 1.5])
        case "boolean":
            return rng.random() < 0.5
        case _:
            return _anything(rng, depth)


def _some_map(rng: random.Random, schema: Schema, depth: int, wrong: float) -> Value:
    value = {
        key: some(rng, below, depth=depth + 1, wrong=wrong)
        for key, below in schema.properties.items()
        if rng.random() < (0.35 if depth == 0 else 0.6) or key in schema.required
    }
    if schema.additional is not None:
        for key in ("x", "y", "z/é"):
            if rng.random() < 0.4:
                value[key] = some(rng, schema.additional, depth=depth + 1, wrong=wrong)
    elif schema.open:
        value |= {key: _anything(rng, depth + 1) for key in ("p", "q") if rng.random() < 0.4}
    return value


def _some_list(rng: random.Random, schema: Schema, depth: int, wrong: float) -> Value:
    items = schema.items or Schema.ANY
    values = [some(rng, items, depth=depth + 1, wrong=wrong) for _ in range(rng.choice([0, 1, 2, 3, 4]))]
    if schema.list_type == "atomic" or rng.random() < 0.02:
        return values
    seen: dict[str, Value] = {}
    for value in values:
        known = value
        if schema.list_keys and isinstance(value, dict):
            known = [value.get(key, schema.key_defaults.get(key)) for key in schema.list_keys]
        seen.setdefault(json.dumps(known), value)
    return list(seen.values())


def _anything(rng: random.Random, depth: int) -> Value:
    choices: list[Callable[[], Value]] = [lambda: 1, lambda: True, lambda: "a", lambda: 1.5]
    if depth < 3:
        choices += [
            lambda: {key: _anything(rng, depth + 1) for key in ("p", "q") if rng.random() < 0.5},
            lambda: [_anything(rng, depth + 1) for _ in range(rng.choice([0, 1, 2]))],
        ]
    return rng.choice(choices)()


def part(rng: random.Random, value: Value, keep: float) -> Value:
    """A part of a configuration: keys, and items of lists, left out at random; lists reordered."""
    if isinstance(value, dict):
        return {
            key: part(rng, each, keep) for key, each in value.items() if key in KEPT or rng.random() < keep
        }
    if isinstance(value, list):
        kept = [part(rng, each, keep) for each in value if rng.random() < keep]
        if rng.random() < 0.3:
            rng.shuffle(kept)
        return kept
    return value


KEPT = frozenset(
    ("name", "containerPort", "port", "mountPath", "matchLabels", "apiVersion", "kind", "uid", "key", "app")
)


def metadata(rng: random.Random) -> Value:
    made: Value = {}
    if rng.random() < 0.6:
        made["labels"] = {key: rng.choice("uv") for key in ("a", "b", "x.y/c") if rng.random() < 0.5}
    if rng.random() < 0.4:
        made["annotations"] = {key: rng.choice("uv") for key in ("n", "m&<") if rng.random() < 0.6}
    if rng.random() < 0.25:
        made["finalizers"] = rng.sample(["e.com/a", "e.com/b", "e.com/c"], rng.randint(0, 3))
    if rng.random() < 0.25:
        made["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": OWNERS[name]}
            for name in rng.sample(list(OWNERS), rng.randint(0, min(2, len(OWNERS))))
        ]
    return made


def config_map(rng: random.Random) -> Value:
    body: Value = {"metadata": metadata(rng)}
    if rng.random() < 0.8:
        body["data"] = {
            key: rng.choice(["", "1", "2"]) for key in ("a", "b", "c.d", "e") if rng.random() < 0.5
        }
    if rng.random() < 0.2:
        body["binaryData"] = {"bin": rng.choice(["YQ==", "Yg=="])}
    return body


def deployment(rng: random.Random) -> Value:
    containers = [_container(rng, name) for name in rng.sample(["c1", "c2", "c3"], rng.randint(1, 3))]
    template: Value = {
        "containers": containers,
        "nodeSelector": {"disk": rng.choice(["ssd", "hdd"])},
        "tolerations": [{"key": rng.choice("kl"), "operator": "Exists"}],
        "volumes": [{"name": name, "emptyDir": {}} for name in ("v1", "v2")],
        "hostAliases": [{"ip": f"10.0.0.{n}", "hostnames": ["h"]} for n in rng.sample([1, 2, 3], 2)],
        "terminationGracePeriodSeconds": rng.choice([10, 30]),
    }
    spec = {
        "replicas": rng.choice([0, 1, 2]),
        "selector": {"matchLabels": {"app": "x"}},
        "strategy": rng.choice(
            [
                {"type": "Recreate"},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": rng.choice([1, "25%", "50%"])}},
            ]
        ),
        "minReadySeconds": rng.choice([0, 5]),
        "paused": True,
        "template": {
            "metadata": {"labels": {"app": "x", "v": rng.choice("12")}},
            "spec": part(rng, template, 0.7),
        },
    }
    body: Value = {
        "metadata": metadata(rng),
        "spec": {key: each for key, each in spec.items() if rng.random() < 0.8},
    }
    if rng.random() < 0.05:
        body["status"] = {"replicas": 3}
    return body


def _container(rng: random.Random, name: str) -> Value:
    ports = [{"containerPort": number, "protocol": proto} for number in (80, 81) for proto in ("TCP", "UDP")]
    env = [{"name": key, "value": rng.choice(["", "1", "2"])} for key in ("A", "B", "C", "D")]
    if rng.random() < 0.15:  # a patch may bring one twice, and the server bears it
        env.append({"name": "A", "value": "3"})
    for port in ports:
        if port["protocol"] == "TCP" and rng.random() < 0.5:
            del port["protocol"]
        if rng.random() < 0.2:
            port["name"] = f"p{port['containerPort']}{port.get('protocol', 'x').lower()}"
    made = {
        "name": name,
        "image": rng.choice(["i:1", "i:2"]),
        "args": rng.choice([["a"], ["a", "b"], []]),
        "ports": part(rng, ports, 0.5),
        "env": part(rng, env, 0.6),
        "resources": {
            "limits": {
                "cpu": rng.choice(["1", "1000m", "500m", 1]),
                "memory": rng.choice(["1Gi", "1024Mi", "128Mi"]),
            }
        },
        "volumeMounts": [{"name": f"v{n}", "mountPath": f"/m{n}"} for n in (1, 2)],
        "imagePullPolicy": rng.choice(["Always", "IfNotPresent"]),
        "readinessProbe": {
            "httpGet": {"path": "/", "port": rng.choice([80, "http"])},
            "periodSeconds": rng.choice([5, 10]),
        },
        "securityContext": {"capabilities": {"add": rng.choice([["NET_ADMIN"], []])}, "privileged": False},
    }
    return part(rng, made, 0.6) | {"image": made["image"]}


def service(rng: random.Random) -> Value:
    ports = [
        {
            "name": f"n{number}{proto.lower()}",
            "port": number,
            "protocol": proto,
            "targetPort": rng.choice([80, "http", 81]),
        }
        for number in (80, 81)
        for proto in ("TCP", "UDP")
    ]
    for port in ports:
        if port["protocol"] == "TCP" and rng.random() < 0.4:
            del port["protocol"]
    spec = {
        "ports": part(rng, ports, 0.6),
        "selector": {key: rng.choice("12") for key in ("app", "tier") if rng.random() < 0.7},
        "type": "ClusterIP",  # others get ports of nodes, which only the server knows
        "sessionAffinity": "None",
        "publishNotReadyAddresses": rng.random() < 0.5,
    }
    return {
        "metadata": metadata(rng),
        "spec": {key: each for key, each in spec.items() if rng.random() < 0.7},
    }


TEXT = {"type": "string"}
PAIR = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "n": {"type": "integer"},
        "m": {"type": "object", "additionalProperties": TEXT},
    },
}
SPEC = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "maybe": {"type": "string", "nullable": True},
        "number": {"type": "number"},
        "either": {"x-kubernetes-int-or-string": True},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "numbers": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "atomicList": {"type": "array", "items": PAIR, "x-kubernetes-list-type": "atomic"},
        "plainList": {"type": "array", "items": PAIR},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {
                **PAIR,
                "required": ["id"],
                "properties": {
                    **PAIR["properties"],
                    "inner": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["id"],
                        "items": {**PAIR, "required": ["id"]},
                    },
                    "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                },
            },
        },
        "twoKeys": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "proto"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "proto": {"type": "string", "default": "TCP"},
                    "to": {"x-kubernetes-int-or-string": True},
                },
            },
        },
        "map": {"type": "object", "additionalProperties": TEXT},
        "mapOfLists": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        },
        "mapOfStructs": {"type": "object", "additionalProperties": PAIR},
        "atomicMap": {"type": "object", "additionalProperties": TEXT, "x-kubernetes-map-type": "atomic"},
        "atomicStruct": {**PAIR, "x-kubernetes-map-type": "atomic"},
        "struct": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"er": PAIR}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "partly": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": PAIR},
        },
    },
}
SECOND = {
    **SPEC,
    "properties": {
        **SPEC["properties"],
        "map": {**SPEC["properties"]["map"], "x-kubernetes-map-type": "atomic"},
    },
}


def crd() -> Value:
    def version(name: str, spec: Value, stored: bool) -> Value:
        root = {"type": "object", "properties": {"spec": spec, "status": PAIR}}
        schema = {"openAPIV3Schema": root}
        return {
            "name": name,
            "served": True,
            "storage": stored,
            "schema": schema,
            "subresources": {"status": {}},
        }

    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.diff.example.com"},
        "spec": {
            "group": "diff.example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version("v1", SPEC, True), version("v2", SECOND, False)],
        },
    }


def targets() -> list[Target]:
    things = {gvk.api_version: schema for gvk, schema in structural.kinds(crd()).items()}
    spec = structural.kinds(crd())[GroupVersionKind("diff.example.com", "v1", "Thing")].properties["spec"]

    def thing(rng: random.Random) -> Value:
        wrong = 0.02 if rng.random() < 0.1 else 0.0
        body = {"metadata": metadata(rng), "spec": some(rng, spec, wrong=wrong)}
        if rng.random() < 0.1:
            body["status"] = {"id": "a"}
        return body

    def plain(group: str, version: str, kind: str) -> dict[str, Schema]:
        gvk = GroupVersionKind(group, version, kind)
        schema = builtin.schema(gvk)
        assert schema is not None
        return {gvk.api_version: schema}

    core, apps = "/api/{version}/namespaces/default/", "/apis/{version}/namespaces/default/"
    base = {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "c1", "image": "i:1"}]},
        },
    }
    return [
        Target("ConfigMap", plain("", "v1", "ConfigMap"), core + "configmaps", config_map, True, False, {}),
        Target(
            "Deployment",
            plain("apps", "v1", "Deployment"),
            apps + "deployments",
            deployment,
            False,
            True,
            {"spec": base},
        ),
        Target(
            "Service",
            plain("", "v1", "Service"),
            core + "services",
            service,
            False,
            True,
            {"spec": {"ports": [{"port": 90}]}},
        ),
        Target("Thing", things, apps + "things", thing, True, True, {}),
    ]


# --- comparing ---


class Run:
    """One object of one kind, changed again and again."""

    def __init__(self, server: Server, target: Target, name: str, rng: random.Random, report: Report) -> None:
        self.server, self.target, self.name, self.rng, self.report = server, target, name, rng, report
        self.live: Value = None
        self.configs: dict[tuple[str, str], Value] = {}

    def step(self) -> None:
        dice = self.rng.random()
        if self.live is None or dice < 0.62:
            self.apply()
        elif dice < 0.82:
            self.merge()
        elif dice < 0.90:
            self.apply(subresource="status") if self.target.has_status else self.merge()
        elif dice < 0.93:
            self.reset()
        elif dice < 0.98:
            self.merge(subresource="status") if self.target.has_status else self.apply()
        else:
            self.delete()

    # --- operations ---

    def apply(self, subresource: str = "") -> None:
        manager, force = self.rng.choice(MANAGERS), self.rng.random() < 0.5
        version = self.rng.choice(list(self.target.versions))
        known = self.configs.get((manager, subresource))
        if known is not None and self.rng.random() < 0.35:
            body = known  # again: nothing should happen, unless others were here
        elif subresource:
            body = {"status": _status(self.rng, self.target)}
        elif self.live is None or self.target.name == "Thing" or self.rng.random() < 0.3:
            body = self.target.make(self.rng)
            body = _over(self.target.identity, body) if self.live is None else body
        else:
            body = part(self.rng, self.target.make(self.rng), 0.8)
        self.configs[manager, subresource] = body
        meta = {**body.get("metadata", {}), "name": self.name}
        config = {"apiVersion": version, "kind": self.target.name, **body, "metadata": meta}
        now = datetime.now(UTC)
        query = {"fieldManager": manager, "force": str(force).lower()}
        before = self._as(version)
        code, answer = self.server.send(
            "PATCH", self.target.url(version, self.name, subresource, **query), config, APPLY
        )
        expected = self._expected(before, config, manager, force, now, subresource, answer)
        self._no_op(before, config, manager, subresource, code, answer)
        what = {
            "verb": "apply",
            "manager": manager,
            "force": force,
            "config": config,
            "subresource": subresource,
        }
        self._judge(what, before, code, answer, expected)

    def merge(self, subresource: str = "") -> None:
        manager, version = self.rng.choice(MANAGERS), self.rng.choice(list(self.target.versions))
        body = (
            {"status": _status(self.rng, self.target)}
            if subresource
            else part(self.rng, self.target.make(self.rng), 0.6)
        )
        patch = _with_nulls(self.rng, body)
        before = self._as(version)
        self._patch(before, patch, manager, version, subresource)

    def reset(self) -> None:
        """Nobody owns anything any more; the next apply finds an object from before."""
        version = self.rng.choice(list(self.target.versions))
        self._patch(
            self._as(version),
            {"metadata": {"managedFields": self.rng.choice([[], [{}]])}},
            "bob",
            version,
            "",
        )

    def _patch(self, before: Value, patch: Value, manager: str, version: str, subresource: str) -> None:
        now = datetime.now(UTC)
        url = self.target.url(version, self.name, subresource, fieldManager=manager)
        code, answer = self.server.send("PATCH", url, patch, MERGE)
        expected: Value = None
        if code == 200:
            given = patch.get("metadata", {}).get("managedFields")
            listed = before["metadata"].get("managedFields") if given is None else given
            after = without_managers(answer)
            if not subresource and "status" in patch:  # restored later, and compared before that
                kept = {key: each for key, each in before.items() if key == "status"}
                rest = {key: each for key, each in after.items() if key != "status"}
                after = rest | _patched(kept, {"status": patch["status"]})
            if listed is not None:
                after = after | {"metadata": {**after["metadata"], "managedFields": listed}}
            expected = ssa.update(
                *(self.target.versions[version], before, after),
                manager=manager,
                now=_moved_at(before, answer, now),
                subresource=subresource,
                reset=self._reset(subresource),
                versions=self.target.versions,
            )
        self._judge(
            {"verb": "merge", "manager": manager, "patch": patch, "subresource": subresource},
            before,
            code,
            answer,
            expected,
        )

    def delete(self) -> None:
        version = next(iter(self.target.versions))
        self.server.send(
            "PATCH", self.target.url(version, self.name), {"metadata": {"finalizers": None}}, MERGE
        )
        self.server.send("DELETE", self.target.url(version, self.name))
        code, _ = self.server.send("GET", self.target.url(version, self.name))
        assert code == 404, "the object did not go"
        self.live = None
        self.configs.clear()
        self.report.counts["delete"] += 1

    # --- what is expected and what came ---

    def _as(self, version: str) -> Value:
        return None if self.live is None else {**self.live, "apiVersion": version}

    def _reset(self, subresource: str) -> ssa.FieldSet:
        kind = GroupVersionKind.parse(next(iter(self.target.versions)), self.target.name).group_kind
        return ssa.resets(kind, subresource, has_status=self.target.has_status)

    def _expected(
        self,
        before: Value,
        config: Value,
        manager: str,
        force: bool,
        now: datetime,
        subresource: str,
        answer: Value,
    ) -> Value:
        try:
            return ssa.apply(
                *(self.target.versions[config["apiVersion"]], before, config),
                manager=manager,
                force=force,
                now=_moved_at(before, answer, now),
                subresource=subresource,
                reset=self._reset(subresource),
                versions=self.target.versions,
            )
        except ssa.InvalidConfig as error:
            return error

    def _no_op(
        self, before: Value, config: Value, manager: str, subresource: str, code: int, answer: Value
    ) -> None:
        if before is None or code != 200:
            moved = code != 409
            if before is None or not moved:
                verdict = before is not None and self._verdict(before, config, manager, subresource)
                assert not verdict, "no-op, but the server sees conflicts"
            return
        moved = answer["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
        verdict = self._verdict(before, config, manager, subresource)
        if verdict and moved:
            self._differ(
                "no-op verdict, but it moved", before=before, config=config, manager=manager, answer=answer
            )
        if not moved:
            why = self._why(before, config, manager, subresource)
            self.report.counts["no-op seen" if verdict else "no-op missed"] += 1
            self.report.counts["no-op missed: " + why] += 0 if verdict else 1

    def _verdict(self, before: Value, config: Value, manager: str, subresource: str) -> bool:
        schema = self.target.versions[config["apiVersion"]]
        prepared = ssa.prepare(schema, ssa.strip(config), reset=self._reset(subresource))
        return ssa.unchanged(prepared, schema, before, manager, subresource)

    def _why(self, before: Value, config: Value, manager: str, subresource: str) -> str:
        """Why a no-op cannot be seen without asking."""
        mine = ssa.entry(before, manager, subresource)
        schema = self.target.versions[config["apiVersion"]]
        prepared = ssa.prepare(schema, ssa.strip(config), reset=self._reset(subresource))
        if mine is None:
            return "nothing owned"
        if any(each["manager"] == "before-first-apply" for each in _entries(before)):
            return "before-first-apply"
        if prepared.plan is None:
            return "inconclusive"
        return "rewritten by the server" if mine["fieldsV1"] == prepared.fields.tree else "other fields"

    def _judge(self, what: Value, before: Value, code: int, answer: Value, expected: Value) -> None:
        self.report.counts[f"{what['verb']} {code}"] += 1
        said: str | None = None
        if isinstance(expected, ssa.InvalidConfig):
            if code != expected.status or _lines(answer["message"]) != _lines(str(expected)):
                said = "another refusal"
        elif isinstance(expected, ssa.Conflicted):
            if code != 409 or not _same_conflict(answer, expected):
                said = "other conflicts"
        elif code in (200, 201):
            after = expected.object if isinstance(expected, ssa.Applied) else expected
            said = self._differs(before, answer, after, what["subresource"])
        elif code == 409 and what["verb"] == "apply":
            said = "a conflict that was not expected"
        if code in (200, 201):
            self.live = answer
        if said:
            self._differ(said, **what, before=before, code=code, answer=answer, expected=expected)

    def _differs(self, before: Value, answer: Value, after: Value, subresource: str) -> str | None:
        moved = (
            before is None or answer["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
        )
        if self.target.has_status and not subresource:
            after = {key: each for key, each in after.items() if key != "status"}
            after |= {key: each for key, each in answer.items() if key == "status"}
        if not moved:  # whatever was computed, it must come to the same once defaults are in
            thing = self.target.name == "Thing"
            after = ssa.keep_times(before, after) if thing else _untimed(before, after)
        mine, theirs = (_entries(each) for each in (after, answer))
        if not same(mine, theirs):
            return "other managedFields"
        left, right = (_without_empty(_bare(each)) for each in (after, answer))
        if self.target.has_status:  # what this endpoint ignores is as it was
            ignored = [key for key in right if (key == "status") == (not subresource)]
            left = {
                key: each
                for key, each in left.items()
                if key not in ignored and (key == "status") == bool(subresource)
            }
            right = {key: each for key, each in right.items() if key not in ignored}
        if self.target.exact:
            return None if equal(left, right) else "another body"
        return None if _contained(left, right) else "another body"

    def _differ(self, said: str, **context: Value) -> None:
        context["schema"] = self.target.name
        self.report.differences.append({"said": said, **context})


def _over(base: Value, value: Value) -> Value:
    """`value` with what an object of the kind cannot do without."""
    if not isinstance(base, dict) or not isinstance(value, dict):
        return value if value or not base else base
    return {key: _over(base.get(key), value[key]) if key in value else base[key] for key in {**base, **value}}


def _status(rng: random.Random, target: Target) -> Value:
    if target.name == "Thing":
        return {
            key: each
            for key, each in (("id", rng.choice("ab")), ("n", rng.choice([1, 2])))
            if rng.random() < 0.6
        }
    if target.name == "Deployment":
        return {"replicas": rng.choice([1, 2]), "observedGeneration": 1}
    return {
        "conditions": [
            {
                "type": rng.choice("AB"),
                "status": "True",
                "reason": "r",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    }


def _patched(value: Value, patch: Value) -> Value:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(value) if isinstance(value, dict) else {}
    for key, each in patch.items():
        if each is None:
            kept.pop(key, None)
        else:
            kept[key] = _patched(kept.get(key), each)
    return kept


def _with_nulls(rng: random.Random, value: Value) -> Value:
    if isinstance(value, dict):
        return {
            key: None
            if key not in KEPT and key != "metadata" and rng.random() < 0.12
            else _with_nulls(rng, each)
            for key, each in value.items()
        }
    return value


def _moved_at(before: Value, answer: Value, now: datetime) -> datetime:
    """The time the server wrote, so that a second that passed meanwhile makes no difference."""
    old = {json.dumps(each, sort_keys=True) for each in _entries(before)}
    times = [
        each["time"]
        for each in _entries(answer)
        if json.dumps(each, sort_keys=True) not in old and "time" in each
    ]
    newest = max(times, default="")
    return datetime.fromisoformat(newest) if newest >= stamp(now) else now


def _entries(obj: Value) -> list[Value]:
    return ((obj or {}).get("metadata") or {}).get("managedFields") or []


def _untimed(before: Value, after: Value) -> Value:
    """After a write that was none, the managers' times are those from before."""
    strip = [{key: value for key, value in each.items() if key != "time"} for each in _entries(after)]
    old = [{key: value for key, value in each.items() if key != "time"} for each in _entries(before)]
    if [e for e in strip if e not in old] or len(strip) != len(old):
        return after
    return after | {"metadata": {**after["metadata"], "managedFields": _entries(before)}}


def _bare(obj: Value) -> Value:
    bare = {key: value for key, value in without_managers(obj).items() if key != "apiVersion"}
    return bare | {
        "metadata": {key: value for key, value in bare["metadata"].items() if key not in SERVER_METADATA}
    }


def _without_empty(obj: Value) -> Value:
    """Without what the Go types of built-in kinds, and of all metadata, do not keep: empty and null."""
    if obj["kind"] == "Thing":
        return {**_with_defaults(obj), "metadata": _kept(obj["metadata"])}
    return _kept(obj)


def _with_defaults(thing: Value) -> Value:
    """The one default that the CRD has, also where nothing of an object says it."""
    pairs = (thing.get("spec") or {}).get("twoKeys")
    if not isinstance(pairs, list):
        return thing
    return {**thing, "spec": {**thing["spec"], "twoKeys": [{"proto": "TCP", **each} for each in pairs]}}


def _kept(value: Value) -> Value:
    if isinstance(value, dict):
        inner = {key: _kept(each) for key, each in value.items()}
        return {key: each for key, each in inner.items() if each is not None and each not in ({}, [])}
    return [_kept(each) for each in value] if isinstance(value, list) else value


def _contained(mine: Value, theirs: Value) -> bool:
    """Whether the server's answer is what was computed, with defaults and canonical quantities."""
    if isinstance(mine, dict):
        if not isinstance(theirs, dict):
            return not mine
        for key, value in mine.items():
            if key not in theirs:
                if value not in ({}, [], None, "", 0, False):
                    return False
            elif not _contained(value, theirs[key]):
                return False
        return all(key in mine or key in DEFAULTED for key in theirs)
    if isinstance(mine, list):
        return isinstance(theirs, list) and len(mine) == len(theirs) and all(map(_contained, mine, theirs))
    return mine == theirs or (str(mine), theirs) in {("1000m", "1"), ("1024Mi", "1Gi"), ("1", "1")}


def _lines(message: str) -> list[str]:
    head, _, tail = message.partition(": errors:")
    return [head, *sorted(tail.splitlines())]


def _same_conflict(answer: Value, expected: ssa.Conflicted) -> bool:
    def key(cause: Value) -> tuple[str, str]:
        return cause["message"], cause["field"]

    causes = answer.get("details", {}).get("causes", [])
    return answer["message"] == expected.message and sorted(causes, key=key) == sorted(
        expected.causes, key=key
    )


def run(kubeconfig: Path, operations: int = 2000, seed: int = 1) -> Report:
    """Plays `operations` operations and tells what differed."""
    server, report = Server(kubeconfig), Report()
    made = crd()
    server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made)
    for _ in range(5000):  # until it is served
        code, _answer = server.send("GET", "/apis/diff.example.com/v2/namespaces/default/things")
        if code == 200:
            break
    for name in ("default", "kube-system", "kube-public"):
        OWNERS[name] = server.send("GET", f"/api/v1/namespaces/{name}")[1]["metadata"]["uid"]
    rng = random.Random(seed)
    runs = [
        Run(server, target, f"d{seed}-{number}", random.Random(rng.random()), report)
        for target in targets()
        for number in range(2)
    ]
    for each in runs:
        version = next(iter(each.target.versions))
        server.send("PATCH", each.target.url(version, each.name), {"metadata": {"finalizers": None}}, MERGE)
        server.send("DELETE", each.target.url(version, each.name))
    for _ in range(operations):
        rng.choice(runs).step()
    return report


def main(arguments: list[str]) -> int:
    operations = int(arguments[1]) if len(arguments) > 1 else 2000
    seed = int(arguments[2]) if len(arguments) > 2 else 1
    report = run(Path(arguments[0]), operations, seed)
    for each in report.differences[:20]:
        print(
            json.dumps(each, indent=1, default=lambda value: getattr(value, "__dict__", None) or repr(value))
        )
    print(report)
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
