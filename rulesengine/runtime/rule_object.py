"""A rule as an object in the cluster: what the engine reads from it and writes to it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey, RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.runtime.gate import APPROVE
from rulesengine.runtime.routing import RECONCILE_AT

GROUP, VERSION = "rulesengine.dev", "v1alpha1"
CLUSTER_RULE = GroupVersionKind(GROUP, VERSION, "ClusterRule")
RULE = GroupVersionKind(GROUP, VERSION, "Rule")
RULE_KINDS = (CLUSTER_RULE, RULE)
FINALIZER = "rulesengine.dev/cleanup"
ABANDON = "rulesengine.dev/abandon"
MANAGER = "rulesengine"  # of finalizers and status of rules, and of the engine's own objects


def kind_of(key: RuleKey) -> GroupVersionKind:
    return GroupVersionKind(GROUP, VERSION, key.kind)


def rule_key(key: ObjectKey) -> RuleKey:
    return RuleKey(key.kind, key.namespace, key.name)


def finalizers(body: Object) -> list[str]:
    return [name for name in body["metadata"].get("finalizers") or () if isinstance(name, str)]


def is_abandoned(body: Object) -> bool:
    return (body["metadata"].get("annotations") or {}).get(ABANDON) == "true"


def approved(body: Object) -> str:
    """The generation whose removals somebody approved, "" when nobody did."""
    return str((body["metadata"].get("annotations") or {}).get(APPROVE, ""))


def written_kinds(body: Object) -> set[GroupKind]:
    """The kinds that the rule's status lists as written."""
    found = (body.get("status") or {}).get("writtenKinds") or ()
    return {
        GroupKind(entry.get("group") or "", entry["kind"])
        for entry in found
        if isinstance(entry, dict) and isinstance(entry.get("kind"), str)
    }


def identity(body: Object) -> bytes:
    """Changes when the rule has to be compiled anew: with its spec, and with what `rule` says of it.

    Annotations of ours that ask for something once are not part of it.
    """
    meta = body["metadata"]
    annotations = {
        name: value
        for name, value in (meta.get("annotations") or {}).items()
        if name not in (RECONCILE_AT, ABANDON, APPROVE)
    }
    return json.digest([meta.get("uid"), body.get("spec"), meta.get("labels"), annotations])


def named_kinds(body: Object) -> Iterator[GroupVersionKind]:
    """Every kind that the spec names, wherever it stands; the spec may be anything."""
    seen: set[GroupVersionKind] = set()
    parts = [body.get("spec")]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            parts += part.values()
            version, kind = part.get("apiVersion"), part.get("kind")
            if isinstance(version, str) and isinstance(kind, str) and version and kind:
                gvk = GroupVersionKind.parse(version, kind)
                if gvk not in seen and "$" not in version + kind:
                    seen.add(gvk)
                    yield gvk


def finalizers_patch(body: Object, *, present: bool) -> Object:
    """A merge patch that adds or removes the finalizer, if the rule is as it was read."""
    kept = [name for name in finalizers(body) if name != FINALIZER]
    meta = body["metadata"]
    return {
        "metadata": {
            "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
            "finalizers": [*kept, FINALIZER] if present else kept,
        }
    }


def status_config(key: RuleKey, uid: str, status: Object) -> Object:
    """The apply configuration for the rule's /status."""
    meta: Object = {"name": key.name, "uid": uid}
    if key.namespace:
        meta["namespace"] = key.namespace
    kind = kind_of(key)
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "status": status}
