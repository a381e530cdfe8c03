"""Watches: what is there or what happened since, then every change as it happens.

A watch with a selector reports what enters and leaves it as added and deleted. Its queue
holds changes, not bytes: the bytes of an object are made once, for all who watch it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.embedded import errors, versions
from rulesengine.embedded.calls import Call, Stream, Target
from rulesengine.embedded.errors import Refused, invalid
from rulesengine.embedded.reads import LIST_OPTIONS, parse_revision, selector, too_new
from rulesengine.embedded.selectors import Predicate
from rulesengine.embedded.store import Change, Compacted, Entry, Store
from rulesengine.embedded.tables import Tables, wants_table

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BOOKMARK_EVERY = 60.0  # seconds without events; a real server's is about the same
LONGEST = 3600.0  # seconds that a watch without timeoutSeconds lasts


class Watch:
    """One open watch: iterate it for its lines."""

    def __init__(self, call: Call, target: Target, store: Store, tables: Tables) -> None:
        self._target = target
        self._kind = target.kind
        self._store = store
        self._matches: Predicate = selector(call, target)
        self._queue: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._bookmarks = call.flag("allowWatchBookmarks")
        self._render: Callable[[Entry], bytes] = self._plain
        if wants_table(call):
            self._tables, self._call = tables, call
            self._render = self._as_table
            self._first = True
        self._over = False
        self._seconds = float(call.number("timeoutSeconds")) or LONGEST
        self._begin(call)
        self._stop = store.listen(self._kind.collection, self._heard)

    def end(self, refusal: Refused | None = None) -> None:
        """Ends the watch from the server's side, with an error event if there is one."""
        if refusal is not None:
            self._queue.append(b'{"type":"ERROR","object":' + json.encode(refusal.status()) + b"}")
        self._over = True
        self._wake.set()

    def _begin(self, call: Call) -> None:
        """Queues what comes before the first new change."""
        text = call.query.get("resourceVersion", "")
        initial = _initial_events(call)
        wanted = parse_revision(text) if text else 0
        too_new(wanted, self._store.revision)
        if wanted and not initial:
            try:
                missed = self._store.since(self._kind.collection, wanted)
            except Compacted as error:
                message = f"too old resource version: {wanted} ({error.oldest})"
                self.end(Refused(410, "Expired", message))
                return
            for change in missed:
                self._heard(change)
            return
        if initial is False:
            return
        for entry in self._store.entries(self._kind.collection, self._target.namespace):
            if self._matches(entry.object):
                self._queue.append(self._line(b"ADDED", entry))
        if initial:
            self._queue.append(self._bookmark(initial=True))

    def _heard(self, change: Change) -> None:
        namespace = self._target.namespace
        if namespace and change.new.key.namespace != namespace:
            return
        now = change.type != "DELETED" and self._matches(change.new.object)
        before = change.old is not None and self._matches(change.old.object)
        if now:
            self._queue.append(self._line(b"MODIFIED" if before else b"ADDED", change.new))
        elif before and change.old is not None:
            gone = change.new
            if change.type != "DELETED":
                # it left the selection: shown as it was, with the revision at which it left
                meta = {**change.old.object["metadata"], "resourceVersion": str(change.revision)}
                gone = Entry(gone.key, {**change.old.object, "metadata": meta}, change.revision)
            self._queue.append(self._line(b"DELETED", gone))
        else:
            return
        self._wake.set()

    def _line(self, kind: bytes, entry: Entry) -> bytes:
        return b'{"type":"%s","object":%s}' % (kind, self._render(entry))

    def _plain(self, entry: Entry) -> bytes:
        return versions.raw(self._kind, entry)

    def _as_table(self, entry: Entry) -> bytes:
        table = self._tables.table(self._call, self._kind, [entry], str(entry.revision))
        if not self._first:
            table["columnDefinitions"] = None
        self._first = False
        return json.encode(table)

    def _bookmark(self, *, initial: bool = False) -> bytes:
        meta: Object = {"resourceVersion": str(self._store.revision), "creationTimestamp": None}
        if initial:
            meta["annotations"] = {INITIAL_EVENTS_END: "true"}
        body = {"kind": self._kind.gvk.kind, "apiVersion": self._kind.gvk.api_version, "metadata": meta}
        return json.encode({"type": "BOOKMARK", "object": body})

    async def lines(self) -> AsyncIterator[bytes]:
        """Every line as it comes, until the time is up or somebody ends it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        try:
            while True:
                while self._queue:
                    yield self._queue.popleft()
                if self._over:
                    return
                self._wake.clear()
                left = deadline - loop.time()
                if left <= 0:
                    return
                try:
                    async with asyncio.timeout(min(left, BOOKMARK_EVERY)):
                        await self._wake.wait()
                except TimeoutError:
                    if self._bookmarks:
                        self._queue.append(self._bookmark())
        finally:
            self.close()

    def close(self) -> None:
        self._stop()

    def stream(self) -> Stream:
        return Stream(self.lines(), self.close)


def _initial_events(call: Call) -> bool | None:
    """Whether a streaming list was asked for; None when nothing was said."""
    text = call.query.get("sendInitialEvents", "")
    match = call.query.get("resourceVersionMatch", "")
    if not text:
        if match:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            raise invalid(LIST_OPTIONS, "", [errors.not_allowed("resourceVersionMatch", why)])
        return None
    if match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid(LIST_OPTIONS, "", [errors.not_allowed("resourceVersionMatch", why)])
    if call.flag("sendInitialEvents") and not call.flag("allowWatchBookmarks"):
        why = "sendInitialEvents requires setting allowWatchBookmarks to true"
        raise invalid(LIST_OPTIONS, "", [errors.not_allowed("allowWatchBookmarks", why)])
    return call.flag("sendInitialEvents")
