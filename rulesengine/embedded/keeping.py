"""What an update may not change, whatever its body says: identity, and the parts of other endpoints."""

from __future__ import annotations

import copy

from rulesengine.core.json import Object
from rulesengine.embedded import errors, strategies
from rulesengine.embedded.calls import Target
from rulesengine.embedded.kinds import Kind

_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "generateName",
)


def kept(target: Target, old: Object, body: Object) -> Object:
    """The body with everything that this endpoint may not change as it was."""
    kind, meta, before = target.kind, body["metadata"], old["metadata"]
    _immutable_meta(kind, before, meta)
    for name in _SERVER_OWNED:
        if name in before:
            meta[name] = before[name]
        else:
            meta.pop(name, None)
    if target.subresource == "status" and not kind.custom:
        return _status_written(old, body)
    if target.subresource == "status":
        managed = meta.get("managedFields")
        kept = copy.deepcopy(old)
        kept.pop("status", None)
        if "status" in body:
            kept["status"] = body["status"]
        if managed is not None:
            kept["metadata"]["managedFields"] = managed
        return kept
    if kind.has_status:
        body.pop("status", None)
        if "status" in old:
            body["status"] = old["status"]
    if kind.group_kind == ("", "Namespace"):
        body["spec"] = old.get("spec", {})
    if not kind.custom:
        strategies.carried(kind, old, body)
    return body


def _immutable_meta(kind: Kind, before: Object, meta: Object) -> None:
    found = [
        errors.bad_value(f"metadata.{name}", meta[name], "field is immutable")
        for name in ("uid", "deletionTimestamp")
        if meta.get(name) and meta[name] != before.get(name)
    ]
    if before.get("deletionTimestamp"):
        new = [f for f in meta.get("finalizers") or () if f not in (before.get("finalizers") or ())]
        if new:
            listed = ", ".join(f'"{f}"' for f in new)
            text = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            found.append(errors.not_allowed("metadata.finalizers", text))
    if found:
        raise errors.invalid(kind.group_kind, before["name"], found)


def _status_written(old: Object, body: Object) -> Object:
    """A write to /status of a built-in kind: the status, and of the metadata all but the labels."""
    kept = {key: value for key, value in old.items() if key != "status"}
    if "status" in body:
        kept["status"] = body["status"]
    meta = {key: value for key, value in body["metadata"].items() if key != "labels"}
    if "labels" in old["metadata"]:
        meta["labels"] = old["metadata"]["labels"]
    return {**copy.deepcopy(kept), "metadata": meta}
