"""A server in a dict, on the same server-side apply as everything else, and a cache that sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rulesengine import ssa
from rulesengine.apply import Books, Executor, Memory
from rulesengine.client import APIError, Conflict, Invalid, NotFound
from rulesengine.compiler.rule import Adopt, ApplyPolicy
from rulesengine.core import json
from rulesengine.core.keys import ObjectKey, Request, RuleKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.reconcile.ownership import ANNOTATION
from rulesengine.reconcile.plan import Plan, SourceRef, StatusWanted, Unwanted, Wanted
from rulesengine.schema import Schema

RULE = RuleKey("ClusterRule", "", "r")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
WIDGET = GroupVersionKind("example.com", "v1", "Widget")
TEXT = Schema(type="string")
META = Schema(
    type="object",
    properties={
        "name": TEXT,
        "namespace": TEXT,
        "labels": Schema(type="object", additional=TEXT),
        "annotations": Schema(type="object", additional=TEXT),
        "ownerReferences": Schema(type="array", list_type="map", list_keys=("uid",), items=Schema.ANY),
    },
)
TOP = {"apiVersion": TEXT, "kind": TEXT, "metadata": META}
CONDITION = Schema(type="object", properties={"type": TEXT, "status": TEXT})
SCHEMAS = {
    CONFIG_MAP: Schema(type="object", properties={**TOP, "data": Schema(type="object", additional=TEXT)}),
    NAMESPACE: Schema(type="object", properties=TOP),
    WIDGET: Schema(
        type="object",
        properties={
            **TOP,
            "spec": Schema(type="object", properties={"size": Schema(type="integer")}),
            "status": Schema(
                type="object",
                properties={
                    "ready": Schema(type="boolean"),
                    "conditions": Schema(type="array", items=CONDITION, list_type="map", list_keys=("type",)),
                },
            ),
        },
    ),
}


@dataclass
class FakeClock:
    at: datetime = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
    seconds: float = 1000.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.seconds += seconds


@dataclass
class Live:
    """core.ports.Live over a stored object."""

    body: dict[str, Any]
    key: ObjectKey
    foreign: bool = False

    @property
    def meta(self) -> dict[str, Any]:
        return self.body["metadata"]

    @property
    def uid(self) -> str:
        return self.meta["uid"]

    @property
    def version(self) -> int:
        return int(self.meta["resourceVersion"])

    @property
    def created(self) -> str:
        return self.meta["creationTimestamp"]

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self.meta

    @property
    def labels(self) -> Mapping[str, str]:
        return self.meta.get("labels", {})

    @property
    def claim(self) -> str:
        return self.meta.get("annotations", {}).get(ANNOTATION, "")

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(o["uid"] for o in self.meta.get("ownerReferences", ()))

    def fields(self) -> dict[str, Any]:
        return self.body

    def object(self) -> dict[str, Any]:
        if self.foreign:
            return {"metadata": {"name": self.key.name, "uid": self.uid}}
        return self.body


@dataclass
class Server:
    """Plays the client. `sent` are the requests, `refuse` what they meet."""

    clock: FakeClock = field(default_factory=FakeClock)
    objects: dict[ObjectKey, dict[str, Any]] = field(default_factory=dict)
    sent: list[tuple[Any, ...]] = field(default_factory=list)
    refuse: list[APIError] = field(default_factory=list)
    before: list[Callable[[], None]] = field(default_factory=list)
    namespaces: set[str] = field(default_factory=lambda: {"default"})
    rewrite: Callable[[dict[str, Any]], None] | None = None
    dry: bool = False
    count: int = 100

    # --- the cluster, for tests ---

    def put(self, gvk: GroupVersionKind, name: str, namespace: str = "default", **body: Any) -> Live:
        """Somebody else makes an object, as kubectl create does."""
        key = ObjectKey(gvk.group, gvk.kind, namespace, name)
        meta = {"name": name, "namespace": namespace, **body.pop("metadata", {})}
        made = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": meta, **body}
        if "managedFields" not in meta:
            made = ssa.update(SCHEMAS[gvk], None, made, manager="kubectl-create", now=self.clock.now())
        return self._store(key, made)

    def edit(
        self, key: ObjectKey, change: Callable[[dict[str, Any]], None], manager: str = "kubectl"
    ) -> None:
        """Somebody else changes an object, as kubectl edit does."""
        before = self.objects[key]
        after = json.decode(json.encode(before))
        change(after)
        gvk = GroupVersionKind.parse(after["apiVersion"], after["kind"])
        merged = ssa.update(SCHEMAS[gvk], before, after, manager=manager, now=self.clock.now())
        self._store(key, merged)

    def live(self, key: ObjectKey, *, foreign: bool = False) -> Live | None:
        body = self.objects.get(key)
        return Live(json.decode(json.encode(body)), key, foreign) if body is not None else None

    @property
    def writes(self) -> list[tuple[Any, ...]]:
        return [each for each in self.sent if each[0] != "get"]

    # --- the client ---

    async def get(self, resource: ResourceType, namespace: str, name: str) -> bytes:
        key = self._meet("get", resource, namespace, name)
        if key not in self.objects:
            raise _absent(resource, name)
        return json.encode(self.objects[key])

    async def create(self, resource: ResourceType, namespace: str, body: Any, *, field_manager: str) -> bytes:
        key = self._meet("create", resource, namespace, body["metadata"]["name"], field_manager)
        return json.encode(self._store(key, json.decode(json.encode(body))).body)

    async def apply(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: dict[str, Any],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
    ) -> bytes:
        key = self._meet(
            "apply", resource, namespace, name, *["force"] * force, *[subresource] * bool(subresource)
        )
        if resource.namespaced and namespace not in self.namespaces:
            raise NotFound(404, "NotFound", "", {"name": namespace, "kind": "namespaces"})
        body = json.decode(json.encode(body))
        version, uid = (body["metadata"].pop(each, None) for each in ("resourceVersion", "uid"))
        present = self.objects.get(key)
        if present is None:
            if uid:
                raise Conflict(409, "Conflict", "uid mismatch", {"name": name})
            if subresource:
                raise _absent(resource, name)
        else:
            self._check(present, version, uid)
        answer = ssa.apply(
            SCHEMAS[resource.gvk],
            present,
            body,
            manager=field_manager,
            force=force,
            now=self.clock.now(),
            subresource=subresource,
        )
        if isinstance(answer, ssa.Conflicted):
            raise conflict(*answer.conflicts)
        after = answer.object
        if self.rewrite is not None:
            self.rewrite(after)
        if present is not None and json.same(after, present):
            return json.encode(present)
        if self.dry:
            meta = {"uid": "dry", "resourceVersion": "1", **after["metadata"]}
            return json.encode(after | {"metadata": meta})
        if resource.gvk == NAMESPACE:
            self.namespaces.add(name)
        return json.encode(self._store(key, after).body)

    async def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: dict[str, Any],
        *,
        field_manager: str,
        subresource: str = "",
    ) -> bytes:
        key = self._meet("patch", resource, namespace, name, *[subresource] * bool(subresource))
        present = self.objects.get(key)
        if present is None:
            raise _absent(resource, name)
        meta = body.get("metadata", {})
        self._check(present, meta.get("resourceVersion"), meta.get("uid"))
        after = _merge(present, body)
        if self.dry:
            return json.encode(after)
        return json.encode(self._store(key, after).body)

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        propagation: str,
    ) -> bytes:
        key = self._meet("delete", resource, namespace, name, propagation)
        present = self.objects.get(key)
        if present is None:
            raise _absent(resource, name)
        if (present["metadata"]["uid"], present["metadata"]["resourceVersion"]) != (uid, resource_version):
            raise Conflict(409, "Conflict", "precondition", {"name": name})
        if self.dry:
            return b'{"kind": "Status", "status": "Success"}'
        if present["metadata"].get("finalizers"):
            present["metadata"]["deletionTimestamp"] = "2026-01-05T08:00:00Z"
            return json.encode(self._store(key, present).body)
        del self.objects[key]
        return b'{"kind": "Status", "status": "Success"}'

    # --- inside ---

    def _meet(self, verb: str, resource: ResourceType, namespace: str, name: str, *more: Any) -> ObjectKey:
        if self.before:
            self.before.pop(0)()
        self.sent.append((verb, resource.gvk.kind, name, *more))
        if self.refuse:
            raise self.refuse.pop(0)
        return ObjectKey(resource.gvk.group, resource.gvk.kind, namespace, name)

    def _check(self, present: dict[str, Any], version: str | None, uid: str | None) -> None:
        meta = present["metadata"]
        if uid and uid != meta["uid"]:
            cause = {"reason": "FieldValueInvalid", "field": "metadata.uid", "message": "field is immutable"}
            raise Invalid(422, "Invalid", "", {"causes": [cause]})
        if version and version != meta["resourceVersion"]:
            raise Conflict(409, "Conflict", "the object has been modified", {"name": meta["name"]})

    def _store(self, key: ObjectKey, body: dict[str, Any]) -> Live:
        self.count += 1
        meta = body["metadata"]
        meta.setdefault("uid", f"uid-{self.count}")
        meta.setdefault("creationTimestamp", "2026-01-05T08:00:00Z")
        meta["resourceVersion"] = str(self.count)
        if key.kind == "Namespace":
            self.namespaces.add(key.name)
        self.objects[key] = body
        return Live(body, key)


@dataclass
class Cache:
    """What the executor put into the cache."""

    seen: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    def drop(self, resource: ResourceType, namespace: str, name: str, uid: str) -> None:
        self.dropped.append(name)

    def put(self, resource: ResourceType, raw: bytes) -> object:
        self.seen.append(json.decode(raw))
        return None


class Resources:
    def __init__(self) -> None:
        self.unserved: set[GroupVersionKind] = set()

    def known(self, gvk: GroupVersionKind) -> ResourceType | None:
        if gvk in self.unserved:
            return None
        return ResourceType(
            gvk,
            f"{gvk.kind.lower()}s",
            namespaced=gvk.kind != "Namespace",
            subresources=frozenset({"status"} if gvk == WIDGET else ()),
        )

    async def resource(self, gvk: GroupVersionKind) -> ResourceType | None:
        return self.known(gvk)


class Schemas:
    def __init__(self, schemas: Mapping[GroupVersionKind, Schema] = SCHEMAS) -> None:
        self.schemas = dict(schemas)

    def known(self, gvk: GroupVersionKind) -> Schema | None:
        return self.schemas.get(gvk)

    async def schema(self, gvk: GroupVersionKind) -> Schema | None:
        return self.known(gvk)


@dataclass
class Bench:
    """Everything an executor needs, and plans to give it."""

    server: Server = field(default_factory=Server)
    cache: Cache = field(default_factory=Cache)
    resources: Resources = field(default_factory=Resources)
    schemas: Schemas = field(default_factory=Schemas)
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.executor = self.restarted()

    @property
    def clock(self) -> FakeClock:
        return self.server.clock

    def restarted(self) -> Executor:
        """An executor that remembers nothing."""
        self.memory = Memory()
        books = Books(self.cache, self.memory)
        self.executor = Executor(self.server, books, self.resources, self.schemas, self.memory, self.clock)
        return self.executor

    async def run(self, plan: Plan) -> list[Any]:
        """The outcomes of a plan."""
        return [done.outcome for done in (await self.executor.execute(plan)).done]

    async def one(self, wanted: Wanted) -> Any:
        return (await self.run(planned(wanted)))[0]

    def wanted(
        self,
        name: str = "x",
        gvk: GroupVersionKind = CONFIG_MAP,
        namespace: str = "default",
        policy: ApplyPolicy | None = None,
        **body: Any,
    ) -> Wanted:
        """A wanted object against what the server has now, as a cache that is up to date sees it."""
        namespace = namespace if gvk.kind != "Namespace" else ""
        key = ObjectKey(gvk.group, gvk.kind, namespace, name)
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        meta["annotations"] = {ANNOTATION: "claim"}
        desired = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": meta, **body}
        return Wanted(
            "entry", gvk, key, desired, self.server.live(key), policy or ApplyPolicy(), RULE.manager
        )

    def foreign(self, adopt: Adopt, name: str = "x", holder: str = "", **body: Any) -> Wanted:
        """A wanted object where one is that this rule did not make."""
        wanted = self.wanted(name, policy=ApplyPolicy(adopt=adopt), **body)
        live = self.server.live(wanted.key, foreign=True)
        adoption = wanted.desired if adopt is not Adopt.NEVER and not holder else None
        return Wanted(
            *(wanted.entry, wanted.gvk, wanted.key, wanted.desired, live, wanted.policy, wanted.manager),
            ours=False,
            holder=holder,
            adoption=adoption,
        )

    def unwanted(self, name: str = "x", gvk: GroupVersionKind = CONFIG_MAP, **more: Any) -> Unwanted:
        live = self.server.live(ObjectKey(gvk.group, gvk.kind, "default", name))
        assert live is not None
        return Unwanted("entry", gvk, live, RULE.manager, **more)

    def status(self, name: str = "w", value: dict[str, Any] | None = None) -> StatusWanted:
        live = self.server.live(ObjectKey(WIDGET.group, WIDGET.kind, "default", name))
        assert live is not None
        source = SourceRef(WIDGET, "default", name, live.uid)
        identity = {"name": name, "namespace": "default", "uid": live.uid}
        desired = {
            "apiVersion": WIDGET.api_version,
            "kind": WIDGET.kind,
            "metadata": identity,
            "status": value,
        }
        return StatusWanted(source, desired if value is not None else None, live, RULE.manager)


def planned(*wanted: Wanted, **more: Any) -> Plan:
    source = SourceRef(WIDGET, "default", "w", "uid-w")
    return Plan(Request(RULE, "default", "w"), source, True, wanted=wanted, **more)


def key(name: str = "x", gvk: GroupVersionKind = CONFIG_MAP) -> ObjectKey:
    return ObjectKey(gvk.group, gvk.kind, "default", name)


def conflict(*conflicts: tuple[str, str]) -> Conflict:
    """A server's answer to an apply that meets other managers."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, path in conflicts
    ]
    return Conflict(409, "Conflict", "Apply failed with conflicts", {"causes": causes})


def _absent(resource: ResourceType, name: str) -> NotFound:
    return NotFound(404, "NotFound", "not found", {"name": name, "kind": resource.plural})


def _merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merge(result.get(name), value)
    return result
