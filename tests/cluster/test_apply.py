"""The executor against the real API server: one write a child, nothing at rest, dry runs that are true."""

from __future__ import annotations

from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from rulesengine.apply import Books, DryRun, Executor, Memory
from rulesengine.client import Client, Discovery, OpenAPI, connect, dry_run
from rulesengine.compiler.rule import ApplyPolicy
from rulesengine.core import json
from rulesengine.core.clock import SystemClock
from rulesengine.core.keys import ObjectKey, Request, RuleKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.ownership import ANNOTATION
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Failed,
    Held,
    Outcome,
    Plan,
    Released,
    Unchanged,
    Unwanted,
    Updated,
    Wanted,
)
from tests.cluster.plane import Plane

numbers = count()
RULE = RuleKey("ClusterRule", "", "apply-test")
LABELS = {"app": "a"}
POD = {
    "metadata": {"labels": LABELS},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                "env": [{"name": "EMPTY", "value": ""}, {"name": "B", "value": "1"}],
                "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": "2"}},
            }
        ]
    },
}
CHILDREN: dict[str, dict[str, Any]] = {
    "v1 ConfigMap": {"data": {"a": "1"}},
    "v1 Secret": {"stringData": {"password": "hunter2"}},
    "v1 Service": {"spec": {"selector": LABELS, "ports": [{"port": 80, "name": "http"}]}},
    "v1 ServiceAccount": {},
    "v1 ResourceQuota": {"spec": {"hard": {"requests.cpu": "4000m", "pods": "10"}}},
    "v1 LimitRange": {"spec": {"limits": [{"type": "Container", "default": {"cpu": "0.5"}}]}},
    "v1 PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
    },
    "apps/v1 Deployment": {"spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": POD}},
    "batch/v1 CronJob": {
        "spec": {
            "schedule": "0 * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**POD["spec"], "restartPolicy": "Never"}}}},
        }
    },
    "networking.k8s.io/v1 NetworkPolicy": {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
    "networking.k8s.io/v1 Ingress": {
        "spec": {
            "rules": [
                {
                    "host": "a.example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        }
    },
    "policy/v1 PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}}},
    "autoscaling/v2 HorizontalPodAutoscaler": {
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
            "minReplicas": 1,
            "maxReplicas": 3,
        }
    },
    "rbac.authorization.k8s.io/v1 RoleBinding": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [],
    },
    "rbac.authorization.k8s.io/v1 Role": {
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    },
    "coordination.k8s.io/v1 Lease": {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
}


@dataclass
class Live:
    """core.ports.Live over what the server returned."""

    body: dict[str, Any]
    key: ObjectKey
    foreign: bool = False

    def __post_init__(self) -> None:
        meta = self.body["metadata"]
        self.uid, self.version = meta["uid"], int(meta["resourceVersion"])
        self.created, self.deleting = meta["creationTimestamp"], "deletionTimestamp" in meta
        self.labels = meta.get("labels", {})
        self.claim = meta.get("annotations", {}).get(ANNOTATION, "")
        self.owners = ()

    def fields(self) -> dict[str, Any]:
        return self.body

    def object(self) -> dict[str, Any]:
        return self.body


@dataclass
class Store:
    """A cache that is always up to date: it has what the server answered last."""

    objects: dict[ObjectKey, dict[str, Any]] = field(default_factory=dict)
    puts: int = 0

    def put(self, resource: ResourceType, raw: bytes) -> None:
        body = json.decode_object(raw)
        meta, gvk = body["metadata"], resource.gvk
        self.puts += 1
        self.objects[ObjectKey(gvk.group, gvk.kind, meta.get("namespace", ""), meta["name"])] = body

    def drop(self, resource: ResourceType, namespace: str, name: str, uid: str) -> None:
        self.objects.pop(ObjectKey(resource.gvk.group, resource.gvk.kind, namespace, name), None)


class Engine:
    """An executor with everything it needs on a real cluster."""

    def __init__(self, client: Client, space: str) -> None:
        self.space = space
        self.client, self.store, self.clock = client, Store(), SystemClock()
        self.discovery, self.schemas = Discovery(client), OpenAPI(client)
        self.restart()

    def restart(self) -> None:
        memory = Memory()
        books = Books(self.store, memory)
        self.executor = Executor(self.client, books, self.discovery, self.schemas, memory, self.clock)
        self.dry = DryRun(dry_run(self.client), self.discovery, self.schemas, self.clock)

    async def run(self, plan: Plan) -> list[Outcome]:
        return [done.outcome for done in (await self.executor.execute(plan)).done]

    def wanted(self, kind: str, body: dict[str, Any], name: str = "x", space: str | None = None) -> Wanted:
        space = self.space if space is None else space
        gvk = GroupVersionKind.parse(*kind.split(" "))
        key = ObjectKey(gvk.group, gvk.kind, space, name)
        meta = {"name": name, "annotations": {ANNOTATION: "claim"}, **({"namespace": space} if space else {})}
        desired = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": meta, **deepcopy(body)}
        found = self.store.objects.get(key)
        live = Live(found, key) if found is not None else None
        return Wanted(kind, gvk, key, desired, live, ApplyPolicy(), RULE.manager)

    def all(self, children: dict[str, dict[str, Any]] = CHILDREN) -> Plan:
        return plan(*(self.wanted(kind, body) for kind, body in children.items()))

    async def refresh(self, wanted: Wanted) -> None:
        """What a watch would bring."""
        resource = await self.discovery.resource(wanted.gvk)
        assert resource is not None
        self.store.put(resource, await self.client.get(resource, wanted.key.namespace, wanted.key.name))


def plan(*wanted: Wanted, **more: Any) -> Plan:
    return Plan(Request(RULE, "", "source"), None, True, wanted=wanted, **more)


@pytest.fixture
async def engine(plane: Plane) -> AsyncIterator[Engine]:
    async with await connect(plane.kubeconfig) as client:
        running = Engine(client, f"apply-{next(numbers)}")  # one each: deleting takes the server a while
        plane.kubectl("create", "namespace", running.space)
        yield running
        plane.kubectl("delete", "namespace", running.space, "--wait=false")


async def test_every_child_is_written_once_and_then_left(engine: Engine) -> None:
    """16 kinds: one answer each, verdicts afterwards, and at most one idle apply after a restart."""
    outcomes = await engine.run(engine.all())
    assert outcomes == [Created()] * len(CHILDREN)
    assert engine.store.puts == len(CHILDREN)
    assert await engine.run(engine.all()) == [Unchanged("verdict")] * len(CHILDREN)

    engine.restart()
    for wanted in engine.all().wanted:
        await engine.refresh(wanted)  # controllers have added their own: finalizers, status
    steps = dict(zip(CHILDREN, await engine.run(engine.all()), strict=True))
    moved = {kind: outcome for kind, outcome in steps.items() if not isinstance(outcome, Unchanged)}
    assert not moved, moved
    rewritten = {kind for kind, outcome in steps.items() if outcome == Unchanged("idle")}
    # empty values that the server dropped (env, subjects), defaults inside an atomic list (limits):
    # only its answer tells. More here is a loss
    dropped = (
        "v1 LimitRange",
        "apps/v1 Deployment",
        "batch/v1 CronJob",
        "rbac.authorization.k8s.io/v1 RoleBinding",
    )
    assert rewritten == set(dropped)
    assert await engine.run(engine.all()) == [Unchanged("verdict")] * len(CHILDREN)


async def test_a_dry_run_says_what_the_run_then_does(engine: Engine) -> None:
    """Object by object and field by field, with the server's own defaulting."""
    changed = {
        kind: CHILDREN[kind] for kind in ("v1 ConfigMap", "v1 Secret", "apps/v1 Deployment", "v1 Service")
    }
    await engine.run(engine.all(changed))
    new = deepcopy(changed) | {"v1 ServiceAccount": {}}
    new["v1 ConfigMap"]["data"] = {"b": "2"}
    new["apps/v1 Deployment"]["spec"]["replicas"] = 3
    new["apps/v1 Deployment"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = (
        "3000m"
    )
    before = deepcopy(engine.store.objects)
    gone = engine.wanted("v1 Service", changed["v1 Service"])
    del new["v1 Service"]

    def wish() -> Plan:
        unwanted = Unwanted("v1 Service", gone.gvk, gone.live, RULE.manager)
        return plan(*engine.all(new).wanted, unwanted=(unwanted,))

    forecast = await engine.dry.forecast(wish())
    assert engine.store.objects == before
    result = await engine.executor.execute(wish())
    foretold = [type(done.outcome) for done in forecast.result.done]
    assert foretold == [type(done.outcome) for done in result.done]
    assert foretold == [Updated, Unchanged, Updated, Created, Deleted]
    for preview in forecast.previews:
        if preview.operation in ("update", "create"):
            after = engine.store.objects[preview.key]
            assert preview.after is not None
            assert {k: v for k, v in after.items() if k != "metadata"} == {
                k: v for k, v in preview.after.items() if k != "metadata"
            }
    fields = {preview.key.kind: preview.fields for preview in forecast.previews}
    assert len(fields["ConfigMap"]) == 2
    assert len(fields["Deployment"]) == 2
    again = await engine.dry.forecast(engine.all(new))
    assert not again.previews, again.previews


async def test_an_edited_child_is_repaired_and_a_foreign_field_kept(engine: Engine, plane: Plane) -> None:
    """With kubectl, as people do it."""
    children = {"v1 ConfigMap": {"data": {"a": "1"}}}
    await engine.run(engine.all(children))
    plane.kubectl(
        "patch", "configmap", "x", "-n", engine.space, "--type=merge", "-p", '{"data":{"a":"2","b":"theirs"}}'
    )
    await engine.refresh(engine.all(children).wanted[0])
    assert await engine.run(engine.all(children)) == [Updated()]
    found = engine.store.objects[engine.all(children).wanted[0].key]
    assert found["data"] == {"a": "1", "b": "theirs"}
    assert await engine.run(engine.all(children)) == [Unchanged("verdict")]


async def test_an_object_that_appeared_meanwhile_is_spared(engine: Engine, plane: Plane) -> None:
    """And is in the cache afterwards."""
    children = {"v1 ConfigMap": {"data": {"a": "1"}}}
    wish = engine.all(children)
    plane.kubectl("create", "configmap", "x", "-n", engine.space, "--from-literal=mine=yes")
    outcome = (await engine.run(wish))[0]
    assert isinstance(outcome, Held)
    assert outcome.reason is Reason.STALE
    assert engine.store.objects[wish.wanted[0].key]["data"] == {"mine": "yes"}


async def test_a_recreated_child_is_spared(engine: Engine, plane: Plane) -> None:
    """A write for its predecessor carries another uid."""
    children = {"v1 ConfigMap": {"data": {"a": "1"}}}
    await engine.run(engine.all(children))
    children["v1 ConfigMap"]["data"]["a"] = "2"
    wish = engine.all(children)
    plane.kubectl("delete", "configmap", "x", "-n", engine.space)
    outcome = (await engine.run(wish))[0]
    assert isinstance(outcome, Held)
    plane.kubectl("create", "configmap", "x", "-n", engine.space, "--from-literal=mine=yes")
    outcome = (await engine.run(wish))[0]
    assert isinstance(outcome, Held)
    assert (
        plane.kubectl("get", "configmap", "x", "-n", engine.space, "-o", "jsonpath={.data}")
        == '{"mine":"yes"}'
    )


@pytest.mark.parametrize("kind", ["v1 ConfigMap", "apps/v1 Deployment"])
async def test_an_orphan_keeps_its_values_and_an_adopted_object_gives_ours_back(
    engine: Engine, kind: str
) -> None:
    """A Deployment cannot give its required fields up: its values stay, too."""
    for claim, as_is in (("{}", True), ('{"adopted": true}', kind != "v1 ConfigMap")):
        wanted = engine.wanted(kind, CHILDREN[kind], name=f"r-{len(claim)}")
        wanted.desired["metadata"]["annotations"][ANNOTATION] = claim
        assert await engine.run(plan(wanted)) == [Created()]
        live = Live(engine.store.objects[wanted.key], wanted.key)
        unwanted = Unwanted(kind, wanted.gvk, live, RULE.manager, release=True)
        assert await engine.run(plan(unwanted=(unwanted,))) == [Released(as_is=as_is)]
        left = engine.store.objects[wanted.key]
        assert ANNOTATION not in left["metadata"].get("annotations", {})
        assert not left["metadata"].get("managedFields")
        content = "data" if kind == "v1 ConfigMap" else "spec"
        assert (left.get(content) == live.body[content]) is as_is


async def test_what_cannot_be_is_said_and_goes_no_further(engine: Engine) -> None:
    """An immutable field fails, a namespace that is not there is waited for; others are written."""
    await engine.run(engine.all({"apps/v1 Deployment": CHILDREN["apps/v1 Deployment"]}))
    other = deepcopy(CHILDREN["apps/v1 Deployment"])
    other["spec"]["selector"]["matchLabels"] = other["spec"]["template"]["metadata"]["labels"] = {"app": "b"}
    outcomes = await engine.run(
        plan(
            engine.wanted("apps/v1 Deployment", other),
            engine.wanted("v1 ConfigMap", {}, space="no-such-namespace"),
            engine.wanted("v1 ConfigMap", {}),
        )
    )
    assert isinstance(outcomes[0], Failed)
    assert outcomes[0].reason is Reason.IMMUTABLE_FIELD
    assert outcomes[0].field == "spec.selector"
    assert isinstance(outcomes[1], Held)
    assert outcomes[1].reason is Reason.NAMESPACE_MISSING
    assert outcomes[2] == Created()


async def test_a_namespace_to_come_is_shown_with_its_content(engine: Engine, plane: Plane) -> None:
    """In the dry run as in the run: first the namespace, then what lives in it."""

    def wish() -> Plan:
        child = engine.wanted("v1 ConfigMap", {"data": {"a": "1"}}, space="apply-test-2")
        return plan(child, engine.wanted("v1 Namespace", {}, name="apply-test-2", space=""))

    forecast = await engine.dry.forecast(wish())
    assert [done.outcome for done in forecast.result.done] == [Created(), Created()]
    assert [preview.local for preview in forecast.previews] == [True, False]
    assert "apply-test-2" not in plane.kubectl("get", "namespaces", "-o", "name")
    assert await engine.run(wish()) == [Created(), Created()]
    plane.kubectl("delete", "namespace", "apply-test-2", "--wait=false")
