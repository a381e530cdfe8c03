"""Kinds with every sort of list and map, and random configurations of them.

Values come from few enough choices that managers meet, and now and then do not fit.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin, structural
from tests.cluster.ssa_thing import crd

Value = Any
OWNERS: dict[str, str] = {}  # uids of namespaces, filled at the start: their objects must not be collected


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
    choices: list[Callable[[], Value]] = [lambda: 1, lambda: True, lambda: "a", lambda: 1.0]
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


def targets() -> list[Target]:
    things = {gvk.api_version: schema for gvk, schema in structural.kinds(crd()).items()}
    spec = structural.kinds(crd())[GroupVersionKind("diff.example.com", "v1", "Thing")].properties["spec"]

    def thing(rng: random.Random) -> Value:
        wrong = 0.02 if rng.random() < 0.1 else 0.0
        # The server stores empty metadata that is applied to a custom resource, shows none, and
        # drops it at the next write, whoever's: then resourceVersion moves with nothing else.
        meta = {key: value for key, value in metadata(rng).items() if value}
        body = {"metadata": meta, "spec": some(rng, spec, wrong=wrong)}
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


def over(base: Value, value: Value) -> Value:
    """`value` with what an object of the kind cannot do without."""
    if not isinstance(base, dict) or not isinstance(value, dict):
        return value if value or not base else base
    return {key: over(base.get(key), value[key]) if key in value else base[key] for key in {**base, **value}}


def status(rng: random.Random, target: Target) -> Value:
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


def with_nulls(rng: random.Random, value: Value) -> Value:
    if isinstance(value, dict):
        return {
            key: None
            if key not in KEPT and key != "metadata" and rng.random() < 0.12
            else with_nulls(rng, each)
            for key, each in value.items()
        }
    return value
