"""The API server: one call in, one answer or stream out. No sockets here.

Handling a call never waits: reads and writes are done when `handle` returns, and so is what
controllers do about them. Only the lines of a watch come later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from weakref import WeakSet

from rulesengine.core import json
from rulesengine.core.clock import Clock, SystemClock
from rulesengine.core.json import Json, Object
from rulesengine.embedded import discovery, errors, intake, patches, reviews, scale, versions
from rulesengine.embedded.admission import Admission
from rulesengine.embedded.calls import (
    Answer,
    Call,
    Stream,
    Target,
    WriteOptions,
    answer,
    target,
    write_options,
)
from rulesengine.embedded.controllers import Controllers
from rulesengine.embedded.deletes import Deletes, delete_options
from rulesengine.embedded.discovery import Discovery
from rulesengine.embedded.errors import Refused
from rulesengine.embedded.kinds import Registry
from rulesengine.embedded.openapi import OpenAPI
from rulesengine.embedded.reads import Reads, selector
from rulesengine.embedded.store import HISTORY, Store
from rulesengine.embedded.tables import Tables, wants_table
from rulesengine.embedded.transport import InProcess
from rulesengine.embedded.watches import Watch
from rulesengine.embedded.writes import Writes, Written

logger = logging.getLogger(__name__)

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
TEXT = "text/plain; charset=utf-8"


class Server:
    """An API server with its data in memory. `history` is how many changes per kind watches may replay."""

    def __init__(self, *, clock: Clock | None = None, history: int = HISTORY) -> None:
        clock = clock or SystemClock()
        self.store = Store(history)
        self.registry = Registry()
        admission = Admission(self.store, self.registry)
        self._tables = Tables(clock)
        self._writes = Writes(self.store, self.registry, admission, clock)
        self._deletes = Deletes(self.store, self._writes, admission)
        self._reads = Reads(self.store, self._tables)
        self._controllers = Controllers(self.store, self.registry, self._writes, self._deletes)
        self._discovery = Discovery(self.registry)
        self._openapi = OpenAPI(self.registry)
        self._watches: WeakSet[Watch] = WeakSet()
        self._bootstrap()

    def transport(self) -> InProcess:
        """A transport for the client that calls this server directly, without sockets."""
        return InProcess(self)

    def compact(self) -> None:
        """Forgets past changes: watches that start before now, and pages, answer 410."""
        self.store.compact()

    def drop_watches(self, refusal: Refused | None = None) -> None:
        """Ends every open watch, as a restart of a real server does."""
        for watch in list(self._watches):
            watch.end(refusal)

    def handle(self, call: Call) -> Answer | Stream:
        """Answers one call; refusals become Status objects."""
        try:
            return self._route(call)
        except Refused as refused:
            if refused.plain:
                return Answer(refused.code, refused.message.encode(), TEXT)
            status = refused.status()
            retry = (refused.details or {}).get("retryAfterSeconds")
            headers: Mapping[str, str] = {"Retry-After": str(retry)} if retry else {}
            made = answer(status, refused.code)
            return Answer(made.status, made.body, made.content_type, headers)
        except Exception:
            # a bug here must not look like a broken connection to whoever called
            logger.exception("a request failed", extra={"method": call.method, "path": call.path})
            return answer(errors.internal().status(), 500)

    def _bootstrap(self) -> None:
        kind = self.registry.find("", "v1", "namespaces")
        assert kind is not None
        for name in NAMESPACES:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._writes.post(Target(kind), body, WriteOptions("kube-apiserver"))

    # --- routing ---

    def _route(self, call: Call) -> Answer | Stream:
        match call.segments:
            case ["api", version, *rest] if rest:
                return self._resource(call, target(self.registry, "", version, tuple(rest)))
            case ["apis", group, version, *rest] if rest:
                if not self.registry.serves(group, version):
                    raise errors.page_not_found()
                return self._resource(call, target(self.registry, group, version, tuple(rest)))
        if call.method not in ("GET", "HEAD"):
            raise errors.unsupported_verb()
        return self._document(call)

    def _document(self, call: Call) -> Answer:
        match call.segments:
            case ["api" | "apis" as root]:
                return self._discovery.root(call, root)
            case ["api", version]:
                return self._discovery.resources("", version)
            case ["apis", group]:
                return self._discovery.group(group)
            case ["apis", group, version]:
                return self._discovery.resources(group, version)
            case ["version"]:
                return answer(discovery.version())
            case ["healthz" | "readyz" | "livez", *_]:
                return Answer(200, b"ok", TEXT)
            case ["openapi", "v3"]:
                return self._openapi.index()
            case ["openapi", "v3", *name]:
                return self._openapi.document("/".join(name))
            case ["openapi", "v2"]:
                return self._openapi.version_2()
            case [""]:
                return answer(
                    {"paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]}
                )
            case _:
                raise errors.page_not_found()

    def _resource(self, call: Call, to: Target) -> Answer | Stream:
        if not to.kind.stored:
            return self._review(call, to)
        if to.subresource and to.subresource not in discovery.ANSWERED:
            self._reads.object(to)
            raise errors.missing_feature(f"{to.kind.resource.plural}/{to.subresource}")
        if call.method in ("GET", "HEAD"):
            return self._read(call, to)
        try:
            return self._write(call, to)
        finally:
            self._controllers.settle()

    def _read(self, call: Call, to: Target) -> Answer | Stream:
        if to.subresource == "scale":
            return answer(scale.show(to.kind, self._reads.object(to)))
        if to.name:
            return self._reads.get(call, to)
        if not call.flag("watch"):
            return self._reads.list(call, to)
        if not to.kind.namespaced and to.namespace:
            raise errors.no_such_path()
        watch = Watch(call, to, self.store, self._tables)
        self._watches.add(watch)
        return watch.stream()

    def _review(self, call: Call, to: Target) -> Answer:
        if call.method != "POST":
            raise errors.unsupported_verb()
        body = intake.decode_object(call.body, call.headers.get("content-type", ""), to.kind.gvk.kind)
        return answer(reviews.answer_to(call, to.kind, body, self._writes.stamp()), 201)

    # --- writes ---

    def _write(self, call: Call, to: Target) -> Answer:
        verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(call.method)
        collective = call.method == "DELETE" and not to.name
        needed = "deletecollection" if collective else verb
        allowed = needed in to.kind.resource.verbs or bool(to.subresource)
        misplaced = bool(to.name) is (call.method == "POST") and not collective
        if verb is None or not allowed or misplaced:
            raise errors.unsupported_verb()
        if call.method == "DELETE":
            return self._delete(call, to)
        content_type = call.headers.get("content-type", "application/json")
        if call.method == "PATCH":
            return self._answered(call, to, self._patch(call, to, content_type.partition(";")[0].strip()))
        body = intake.decode_object(call.body, content_type, to.kind.gvk.kind)
        if to.subresource == "finalize":
            return self._answered(call, to, self._writes.finalize(to, body))
        if to.subresource == "scale":
            return answer(self._writes.scale(to, lambda _: body, write_options(call)).object)
        write = self._writes.post if call.method == "POST" else self._writes.put
        if to.kind.namespaced and not to.namespace:
            raise errors.unsupported_verb()
        return self._answered(call, to, write(to, body, write_options(call)))

    def _patch(self, call: Call, to: Target, content_type: str) -> Written:
        applying = content_type in patches.APPLY
        options = write_options(call, applying=applying)
        patch = _patch_body(call.body, content_type)
        if applying:
            if not isinstance(patch, dict):
                raise errors.bad_request("the apply configuration is not an object")
            if to.subresource == "scale":
                raise errors.missing_feature("server-side apply of the scale subresource")
            return self._writes.apply(to, patch, options)
        change = _change(to, content_type, patch)
        write = self._writes.scale if to.subresource == "scale" else self._writes.patch
        return write(to, change, options)

    def _answered(self, call: Call, to: Target, written: Written) -> Answer:
        body = written.object
        if wants_table(call):
            entry = self._tables.entry(body)
            body = self._tables.table(call, to.kind, [entry], body["metadata"].get("resourceVersion", ""))
        return answer(body, 201 if written.created else 200, written.warnings)

    def _delete(self, call: Call, to: Target) -> Answer:
        content_type = call.headers.get("content-type", "application/json")
        body = intake.decode_object(call.body, content_type, "DeleteOptions") if call.body else {}
        options = delete_options(call, body)
        if to.name:
            return answer(self._deletes.delete(to, options))
        matches = selector(call, to)
        found = [e for e in self.store.entries(to.kind.collection, to.namespace) if matches(e.object)]
        head = {
            "kind": to.kind.list_kind,
            "apiVersion": to.kind.gvk.api_version,
            "metadata": {
                **({"continue": ""} if to.kind.custom else {}),
                "resourceVersion": str(self.store.revision),
            },
            "items": [json.decode(versions.item(to.kind, entry)) for entry in found],
        }
        for entry in found:
            self._deletes.remove(to.kind, entry, options)
        return answer(head)


def _patch_body(body: bytes, content_type: str) -> Json:
    try:
        return intake.decode(body, content_type)
    except Refused as refused:
        if content_type in patches.APPLY or refused.code != 400:
            raise
        raise errors.bad_request("invalid JSON patch") from refused


def _change(to: Target, content_type: str, patch: Json) -> Callable[[Object], Object]:
    """What a patch that is no apply does to an object."""
    if content_type == patches.JSON_PATCH:
        return lambda body: patches.json_patch(body, patch)
    if not isinstance(patch, dict):
        raise errors.bad_request(
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        )
    merge: Object = patch
    if content_type == patches.MERGE:
        return lambda body: patches.merge(body, merge)
    if content_type == patches.STRATEGIC and not to.kind.custom:
        schema = to.kind.schema
        return lambda body: patches.strategic(schema, body, merge)
    raise Refused(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
