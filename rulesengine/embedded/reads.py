"""Get and list: selectors, pages, versions of the past, tables."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupKind
from rulesengine.embedded import errors, selectors, versions
from rulesengine.embedded.calls import Answer, Call, Target, answer
from rulesengine.embedded.errors import Refused, bad_request, expired, invalid
from rulesengine.embedded.store import Compacted, Entry, Key, Store
from rulesengine.embedded.tables import Tables, wants_table

LIST_OPTIONS = GroupKind("meta.k8s.io", "ListOptions")
TOO_OLD_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter."
)
# What built-in kinds can be selected by beyond name and namespace.
SELECTABLE: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "spec.hostNetwork",
        "status.nominatedNodeName",
    ),
    ("", "Namespace"): ("status.phase",),
    ("", "Secret"): ("type",),
    ("", "Node"): ("spec.unschedulable",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("", "ReplicationController"): ("status.replicas",),
    ("apps", "ReplicaSet"): ("status.replicas",),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
    ("", "Event"): (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("events.k8s.io", "Event"): (
        "reason",
        "reportingController",
        "type",
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
    ),
}


def selector(call: Call, target: Target) -> selectors.Predicate:
    """Labels and fields together, over stored objects."""
    kind = target.kind
    by_label = selectors.labels(call.query.get("labelSelector", ""))
    text = call.query.get("fieldSelector", "")
    if not text:
        return by_label
    allowed = (
        "metadata.name",
        "metadata.namespace",
        *(kind.selectable if kind.custom else SELECTABLE.get((kind.gvk.group, kind.gvk.kind), ())),
    )
    by_field = selectors.fields(text, allowed, custom=kind.custom)
    return lambda body: by_label(body) and by_field(versions.served(kind, body))


@dataclass(frozen=True, slots=True)
class _Page:
    entries: list[Entry]
    revision: int
    token: str = ""
    remaining: int = 0


class Reads:
    def __init__(self, store: Store, tables: Tables) -> None:
        self._store = store
        self._tables = tables

    def object(self, target: Target) -> Object:
        """One object in the version of the request."""
        entry = self._store.get(target.kind.collection, Key(target.namespace, target.name))
        if entry is None:
            raise errors.not_found(target.kind.resource, target.name)
        return versions.served(target.kind, entry.object)

    def get(self, call: Call, target: Target) -> Answer:
        kind = target.kind
        entry = self._store.get(kind.collection, Key(target.namespace, target.name))
        if entry is None:
            raise errors.not_found(kind.resource, target.name)
        if wants_table(call):
            return answer(self._tables.table(call, kind, [entry], str(entry.revision)))
        return Answer(200, versions.raw(kind, entry))

    def list(self, call: Call, target: Target) -> Answer:
        page = self._page(call, target)
        kind = target.kind
        meta: Object = {"resourceVersion": str(page.revision)}
        if kind.custom:
            meta = {"continue": "", **meta}
        if page.token:
            meta |= {"continue": page.token, "remainingItemCount": page.remaining}
            if call.query.get("labelSelector") or call.query.get("fieldSelector"):
                del meta["remainingItemCount"]
        if wants_table(call):
            return answer(self._tables.table(call, kind, page.entries, meta=meta))
        head = {"kind": kind.list_kind, "apiVersion": kind.gvk.api_version, "metadata": meta}
        items = b",".join([versions.item(kind, entry) for entry in page.entries])
        return Answer(200, json.encode(head)[:-1] + b',"items":[' + items + b"]}")

    def _page(self, call: Call, target: Target) -> _Page:
        if call.query.get("sendInitialEvents"):
            why = "sendInitialEvents is forbidden for list"
            raise invalid(LIST_OPTIONS, "", [errors.not_allowed("sendInitialEvents", why)])
        matches = selector(call, target)
        collection, namespace = target.kind.collection, target.namespace
        limit, token = call.number("limit"), call.query.get("continue", "")
        after: Key | None = None
        revision: int | None
        if token:
            revision, after = _parse(token)
        else:
            revision = self._revision(call)
        try:
            found = (
                self._store.entries(collection, namespace)
                if revision is None
                else self._store.snapshot(collection, revision, namespace)
            )
        except Compacted as error:
            if token:
                raise expired(TOO_OLD_PAGE) from error
            raise expired(f"The resourceVersion for the provided list is too old: {revision}") from error
        entries = [e for e in found if (after is None or e.key > after) and matches(e.object)]
        shown = revision if revision is not None else self._store.revision
        if limit and len(entries) > limit:
            page = entries[:limit]
            return _Page(page, shown, _token(shown, page[-1].key), len(entries) - limit)
        return _Page(entries, shown)

    def _revision(self, call: Call) -> int | None:
        """The past revision that a listing asks for exactly; None for the present."""
        text, match = call.query.get("resourceVersion", ""), call.query.get("resourceVersionMatch", "")
        if match and not text:
            text_ = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            raise invalid(LIST_OPTIONS, "", [errors.not_allowed("resourceVersionMatch", text_)])
        if not text or text == "0":
            return None
        wanted = parse_revision(text)
        too_new(wanted, self._store.revision)
        return wanted if match == "Exact" else None


def parse_revision(text: str) -> int:
    if not text.isdecimal():
        cause = errors.bad_value(
            "resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
        raise bad_request(f"invalid resource version: {cause.text()}")
    return int(text)


def too_new(wanted: int, current: int) -> None:
    if wanted > current:
        details = {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }
        message = f"Timeout: Too large resource version: {wanted}, current: {current}"
        raise Refused(504, "Timeout", message, details)


def _token(revision: int, key: Key) -> str:
    value = {"v": "meta.k8s.io/v1", "rv": revision, "start": list(key)}
    return base64.urlsafe_b64encode(json.encode(value)).decode().rstrip("=")


def _parse(token: str) -> tuple[int, Key]:
    try:
        value = json.decode_object(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = value["start"]
        return int(value["rv"]), Key(namespace, name)
    except (ValueError, KeyError, TypeError, InvalidJSON) as error:
        raise bad_request("invalid continue token: continue key is not valid") from error
