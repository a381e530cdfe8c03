"""Fakes for the pure stage: a cluster as a dict of objects, expressions as Python functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rulesengine.compiler.rule import (
    ApplyPolicy,
    CompiledRule,
    Condition,
    Mode,
    OnRuleDeletion,
    Resource,
    Source,
    SourceStatus,
)
from rulesengine.core import json
from rulesengine.core.errors import EvaluationError
from rulesengine.core.keys import ObjectKey, Request, RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType
from rulesengine.core.ports import Absent, Unreadable
from rulesengine.reconcile import ANNOTATION, Context, Ownership, plan
from rulesengine.reconcile.plan import Plan, Wanted

NOW = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
WIDGET = GroupVersionKind("example.com", "v1", "Widget")
CLUSTER_SCOPED = {"Namespace", "ClusterRole"}


@dataclass
class FakeLive:
    """core.ports.Live over a plain object."""

    body: dict[str, Any]
    key: ObjectKey
    foreign: bool = False

    @property
    def _meta(self) -> dict[str, Any]:
        return self.body["metadata"]

    @property
    def uid(self) -> str:
        return self._meta["uid"]

    @property
    def version(self) -> int:
        return int(self._meta.get("resourceVersion", "1"))

    @property
    def created(self) -> str:
        return self._meta.get("creationTimestamp", "2026-01-05T08:00:00Z")

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self._meta

    @property
    def labels(self) -> Mapping[str, str]:
        return self._meta.get("labels", {})

    @property
    def claim(self) -> str:
        return self._meta.get("annotations", {}).get(ANNOTATION, "")

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(o["uid"] for o in self._meta.get("ownerReferences", ()))

    def fields(self) -> dict[str, Any]:
        return self.body

    def object(self) -> dict[str, Any]:
        return self.body


@dataclass
class Cluster:
    """core.ports.Snapshot; tests put objects in and mark kinds unreadable or unserved."""

    objects: dict[ObjectKey, FakeLive] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    unserved: set[str] = field(default_factory=set)
    gone: dict[ObjectKey, datetime] = field(default_factory=dict)

    def put(self, body: dict[str, Any]) -> FakeLive:
        gvk = GroupVersionKind.parse(body["apiVersion"], body["kind"])
        meta = body["metadata"]
        key = ObjectKey(gvk.group, gvk.kind, meta.get("namespace", ""), meta["name"])
        meta.setdefault("uid", f"uid-{key.kind}-{key.namespace}-{key.name}")
        self.objects[key] = live = FakeLive(body, key)
        live.foreign = not live.claim
        return live

    def accept(self, outcome: Plan) -> None:
        """Plays the server: what is wanted exists from now on, what is unwanted is gone."""
        for item in outcome.wanted:
            if item.ours:
                before = self.objects.get(item.key)
                body = json.decode(json.encode(item.desired))
                if before is not None:
                    body["metadata"]["uid"] = before.uid
                self.put(body)
        if outcome.may_prune:
            for gone in outcome.unwanted:
                self.objects.pop(gone.live.key)

    def resource(self, gvk: GroupVersionKind) -> ResourceType | None:
        if gvk.kind in self.unserved:
            return None
        return ResourceType(gvk, f"{gvk.kind.lower()}s", namespaced=gvk.kind not in CLUSTER_SCOPED)

    def version(self, kind: GroupKind) -> GroupVersionKind:
        return GroupVersionKind(kind.group, "v1", kind.kind)

    def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> FakeLive | Absent | Unreadable:
        if gvk.kind in self.unreadable:
            return Unreadable(self.unreadable[gvk.kind], gvk)
        key = ObjectKey(gvk.group, gvk.kind, namespace, name)
        return self.objects.get(key) or Absent(self.gone.get(key))

    def made(self, rule: RuleKey, namespace: str, name: str) -> Iterable[FakeLive]:
        found = []
        for live in self.objects.values():
            if live.claim:
                claim = json.decode(live.claim)
                if claim["rule"][:3] == list(rule) and claim["source"][2:4] == [namespace, name]:
                    found.append(live)
        return found

    def written_kinds(self, rule: RuleKey) -> tuple[GroupKind, ...]:
        return ()


@dataclass(frozen=True)
class Code:
    """An expression or template as a Python function of the names."""

    run: Callable[[Mapping[str, Any]], Any]
    reads: frozenset[tuple[str, ...]] = frozenset({("object",)})
    text: str = "code"

    def evaluate(self, names: Mapping[str, Any]) -> Any:
        return self.run(names)

    render = evaluate


def field_of(*path: str) -> Callable[[Mapping[str, Any]], Any]:
    """A read of nested fields, failing as a compiled expression does."""

    def read(names: Mapping[str, Any]) -> Any:
        value: Any = names
        for index, part in enumerate(path):
            try:
                value = value[part]
            except KeyError:
                reason = "no_such_field"
                raise EvaluationError("no such key", reason=reason, path=path[: index + 1]) from None
        return value

    return read


def config_map(name: str = "{name}-child", data: Callable[[Mapping[str, Any]], Any] | None = None) -> Code:
    """A template for a ConfigMap in the source's namespace (or in the namespace that is the source)."""

    def render(names: Mapping[str, Any]) -> dict[str, Any]:
        meta = names["object"]["metadata"]
        into = meta.get("namespace") or meta["name"]
        value = data(names) if data else "v"
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name.format(name=meta["name"]), "namespace": into},
            "data": {"k": value},
        }

    return Code(render)


def entry(name: str, template: Code, **more: Any) -> Resource:
    return Resource(name=name, gvk=more.pop("gvk", CONFIG_MAP), template=template, **more)


def make_rule(*resources: Resource, **more: Any) -> CompiledRule:
    conditions = more.pop("conditions", ())
    source_status: SourceStatus | None = more.pop("source_status", None)
    name = more.pop("name", "r")
    return CompiledRule(
        key=RuleKey("ClusterRule", "", name),
        uid=more.pop("uid", "rule-uid"),
        generation=1,
        mode=Mode.ENFORCE,
        on_rule_deletion=more.pop("on_rule_deletion", OnRuleDeletion.DELETE),
        source=more.pop("source", Source(WIDGET)),
        match_conditions=tuple(Condition(f"c{i}", c) for i, c in enumerate(conditions)),
        variables=more.pop("variables", {}),
        resources=resources,
        source_status=source_status,
        source_reads=frozenset({()}),
        reads_namespace=False,
        reads_now=False,
        metadata={"name": name},
        digest=b"",
    )


@dataclass
class Bench:
    """A cluster, a key and a clock; `plan` runs one pass, `settle` plays passes until nothing moves."""

    cluster: Cluster = field(default_factory=Cluster)
    ownership: Ownership = field(default_factory=lambda: Ownership(b"k" * 32))
    now: datetime = NOW
    started: datetime = NOW

    def plan(self, rule: CompiledRule, name: str = "w", namespace: str = "a") -> Plan:
        context = Context(self.now, self.started, self.ownership)
        return plan(rule, self.cluster, Request(rule.key, namespace, name), context)

    def settle(self, rule: CompiledRule, name: str = "w", namespace: str = "a") -> Plan:
        for _ in range(5):
            outcome = self.plan(rule, name, namespace)
            self.cluster.accept(outcome)
        return outcome

    def widget(self, name: str = "w", namespace: str = "a", **more: Any) -> FakeLive:
        meta = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
        return self.cluster.put({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, **more})

    def child(self, name: str = "w-child", namespace: str = "a") -> FakeLive | None:
        return self.cluster.objects.get(ObjectKey("", "ConfigMap", namespace, name))


def policy(**more: Any) -> ApplyPolicy:
    return ApplyPolicy(**more)


def one(outcome: Plan) -> Wanted:
    (item,) = outcome.wanted
    return item
