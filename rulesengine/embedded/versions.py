"""Objects between the version they are stored in and the one somebody speaks.

CRDs without conversion differ by apiVersion only. Events exist in two groups with the same
content under other names.
"""

from __future__ import annotations

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.embedded.kinds import Kind
from rulesengine.embedded.store import Entry

_EVENTS = "events.k8s.io"
_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {new: old for old, new in _RENAMED.items()}


def served(kind: Kind, stored: Object) -> Object:
    """A stored object as `kind`'s version shows it; shares its parts."""
    if stored.get("apiVersion") == kind.gvk.api_version:
        return stored
    shown = stored if kind.gvk.group != _EVENTS else {_RENAMED.get(k, k): v for k, v in stored.items()}
    return {**shown, "apiVersion": kind.gvk.api_version}


def storable(kind: Kind, body: Object) -> Object:
    """The opposite of `served`."""
    if kind.storage == kind.gvk.api_version:
        return body
    kept = body if kind.gvk.group != _EVENTS else {_BACK.get(k, k): v for k, v in body.items()}
    return {**kept, "apiVersion": kind.storage}


def raw(kind: Kind, entry: Entry) -> bytes:
    """The bytes of an entry in a kind's version."""
    if entry.object.get("apiVersion") == kind.gvk.api_version:
        return entry.raw()
    return json.encode(served(kind, entry.object))


def item(kind: Kind, entry: Entry) -> bytes:
    """The same as a member of a list: built-in ones come without apiVersion and kind."""
    if kind.custom:
        return raw(kind, entry)
    if entry.object.get("apiVersion") == kind.gvk.api_version:
        return entry.item()
    shown = served(kind, entry.object)
    return json.encode({k: v for k, v in shown.items() if k not in ("apiVersion", "kind")})
