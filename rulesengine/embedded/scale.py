"""The scale subresource: how many replicas, in one form for all kinds that can be scaled."""

from __future__ import annotations

from typing import Any

from rulesengine.core.json import Object
from rulesengine.embedded import errors
from rulesengine.embedded.errors import bad_request
from rulesengine.embedded.kinds import Kind

API_VERSION = "autoscaling/v1"
BUILTIN = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def show(kind: Kind, body: Object) -> Object:
    """An object's Scale."""
    paths = kind.scale or BUILTIN
    meta = body["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": _get(body, paths["statusReplicasPath"]) or 0}
    if selector := _selector(kind, body):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {key: meta[key] for key in shown if key in meta},
        "spec": {"replicas": _get(body, paths["specReplicasPath"]) or 0},
        "status": status,
    }


def change(kind: Kind, body: Object, scale: Object) -> None:
    """Sets the replicas that a Scale asks for, in place."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas is no number')
    if replicas < 0:
        cause = errors.bad_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise errors.invalid(kind.group_kind, body["metadata"]["name"], [cause])
    steps = (kind.scale or BUILTIN)["specReplicasPath"].lstrip(".").split(".")
    for step in steps[:-1]:
        body = body.setdefault(step, {})
    body[steps[-1]] = replicas


def _get(body: Any, path: str) -> Any:
    for step in path.lstrip(".").split("."):
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _selector(kind: Kind, body: Object) -> str:
    if kind.scale is not None:
        path = kind.scale.get("labelSelectorPath")
        return str(_get(body, path) or "") if path else ""
    found = (body.get("spec") or {}).get("selector") or {}
    labels = found.get("matchLabels", found)
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()) if isinstance(value, str))


def untimed(meta: Object) -> None:
    """Takes the time off the managers that wrote through /scale, as the real server does, in place."""
    listed = meta.get("managedFields")
    if listed:
        bare = [
            {k: v for k, v in each.items() if k != "time"} if each.get("subresource") == "scale" else each
            for each in listed
        ]
        names = ("operation", "time", "manager", "apiVersion", "subresource")
        meta["managedFields"] = sorted(bare, key=lambda each: [str(each.get(n, "")) for n in names])
