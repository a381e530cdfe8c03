"""What a step came to, as an expectation: for steps that say nothing yet."""

from __future__ import annotations

from typing import Any

from rulesengine.core.json import Json, Object
from rulesengine.testing.user import User
from rulesengine.testing.wire import Wire

NAMES = ("apiVersion", "kind", "metadata")
SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences",
           "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "finalizers")  # fmt: skip
OWN = "rulesengine.dev/"


async def what_came_out(wire: Wire, user: User) -> Object:
    """The objects that the engine wrote, the ones it deleted, and how many that were."""
    there: dict[str, Object] = {}
    gone: dict[str, Object] = {}
    for write in wire.writes:
        if not write.what or write.body is None:
            continue
        about = _named(write.body)
        found = await user.get(about) if about else None
        if found is not None:
            there[write.about] = _shown(found)
        elif about:
            gone[write.about] = about
    counts: dict[str, Json] = {what: count for what, count in wire.counts().items() if what != "status"}
    expect: Object = {}
    if there:
        expect["objects"] = list(there.values())
    if gone:
        expect["absent"] = list(gone.values())
    return expect | {"changes": counts}


def _named(body: Object) -> Object:
    """Only what names an object; {} where that is none, as a Status that a deletion answers."""
    meta = body.get("metadata")
    if body.get("kind") == "Status" or not isinstance(meta, dict) or "name" not in meta:
        return {}
    names = {name: meta[name] for name in ("name", "namespace") if name in meta}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": names}


def _shown(body: Object) -> Object:
    """Without what servers and engines fill in."""
    meta: dict[str, Any] = {k: v for k, v in body["metadata"].items() if k not in SERVERS}
    for name in ("labels", "annotations"):
        kept = {k: v for k, v in (meta.get(name) or {}).items() if not k.startswith(OWN)}
        meta.pop(name, None)
        if kept:
            meta[name] = kept
    rest = {k: v for k, v in body.items() if k not in NAMES}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": meta, **rest}
