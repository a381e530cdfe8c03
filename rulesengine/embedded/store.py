"""Objects with revisions: a small etcd in memory.

Every write gets the next revision of one counter and becomes a change that watches read.
Each collection ("deployments.apps") keeps its latest changes, so that a watch can start in
the past and a listing can be continued as it was; what was dropped answers `Compacted`.

Objects in here are never changed in place: a write brings a new dict, and readers may keep
what they got.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Object

HISTORY = 10_000  # changes kept per collection; a real server keeps five minutes of them

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class Key(NamedTuple):
    """Where an object is within its collection; cluster-scoped ones have no namespace."""

    namespace: str
    name: str


class Compacted(RulesEngineError):
    """The revision asked for lies before what is still known."""

    def __init__(self, oldest: int) -> None:
        self.oldest = oldest
        super().__init__("the revision has been compacted")


@dataclass(slots=True)
class Entry:
    """One object as it is at one revision, with its bytes once somebody needed them."""

    key: Key
    object: Object
    revision: int
    _raw: bytes | None = None
    _item: bytes | None = None

    def raw(self) -> bytes:
        if self._raw is None:
            self._raw = json.encode(self.object)
        return self._raw

    def item(self) -> bytes:
        """The bytes without apiVersion and kind, as members of typed lists are sent."""
        if self._item is None:
            bare = {k: v for k, v in self.object.items() if k not in ("apiVersion", "kind")}
            self._item = json.encode(bare)
        return self._item


@dataclass(frozen=True, slots=True)
class Change:
    """One write. `new` of a deletion is the last state, stamped with the deletion's revision."""

    type: ChangeType
    collection: str
    revision: int
    old: Entry | None
    new: Entry


@dataclass(slots=True)
class _Collection:
    entries: dict[Key, Entry] = field(default_factory=dict)
    history: deque[Change] = field(default_factory=deque)
    compacted: int = 0
    listeners: dict[int, Callable[[Change], None]] = field(default_factory=dict)


class Store:
    """All collections under one revision counter."""

    def __init__(self, history: int = HISTORY) -> None:
        self.revision = 1
        self._history = history
        self._collections: dict[str, _Collection] = {}
        self._observers: list[Callable[[Change], None]] = []
        self._tokens = 0

    # --- reading ---

    def get(self, collection: str, key: Key) -> Entry | None:
        found = self._collections.get(collection)
        return found.entries.get(key) if found else None

    def entries(self, collection: str, namespace: str = "") -> list[Entry]:
        """What is there now, in the order of keys."""
        found = self._collections.get(collection)
        return _ordered(found.entries, namespace) if found else []

    def snapshot(self, collection: str, revision: int, namespace: str = "") -> list[Entry]:
        """What was there at a revision; raises Compacted when that is no longer known."""
        found = self._collections.get(collection)
        if found is None:
            return []
        if revision < found.compacted:
            raise Compacted(found.compacted)
        entries = dict(found.entries)
        for change in reversed(found.history):
            if change.revision <= revision:
                break
            if change.old is None:
                entries.pop(change.new.key, None)
            else:
                entries[change.new.key] = change.old
        return _ordered(entries, namespace)

    def since(self, collection: str, revision: int) -> list[Change]:
        """Changes after a revision, oldest first; raises Compacted when some were dropped."""
        found = self._collection(collection)
        if revision < found.compacted:
            raise Compacted(found.compacted)
        later: list[Change] = []
        for change in reversed(found.history):
            if change.revision <= revision:
                break
            later.append(change)
        later.reverse()
        return later

    def collections(self) -> tuple[str, ...]:
        return tuple(self._collections)

    # --- writing ---

    def put(self, collection: str, namespace: str, body: Object) -> Entry:
        """Stores an object as new or changed. Its metadata is stamped, so it must be the caller's own."""
        found = self._collection(collection)
        self.revision += 1
        meta = body["metadata"]
        meta["resourceVersion"] = str(self.revision)
        key = Key(namespace, meta["name"])
        old = found.entries.get(key)
        entry = Entry(key, body, self.revision)
        found.entries[key] = entry
        self._tell(found, Change("MODIFIED" if old else "ADDED", collection, self.revision, old, entry))
        return entry

    def remove(self, collection: str, key: Key) -> Entry:
        """Deletes what is there and returns its last state."""
        found = self._collections[collection]
        old = found.entries.pop(key)
        self.revision += 1
        meta = {**old.object["metadata"], "resourceVersion": str(self.revision)}
        last = Entry(key, {**old.object, "metadata": meta}, self.revision)
        self._tell(found, Change("DELETED", collection, self.revision, old, last))
        return last

    def compact(self, revision: int | None = None) -> None:
        """Forgets all changes up to a revision (default: all), as etcd's compaction does."""
        limit = self.revision if revision is None else revision
        for found in self._collections.values():
            while found.history and found.history[0].revision <= limit:
                found.history.popleft()
            found.compacted = max(found.compacted, limit)

    # --- listening ---

    def listen(self, collection: str, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Calls back on every change of a collection, within the write. Returns how to stop it."""
        listeners = self._collection(collection).listeners
        self._tokens += 1
        token = self._tokens
        listeners[token] = callback

        def stop() -> None:
            listeners.pop(token, None)

        return stop

    def observe(self, callback: Callable[[Change], None]) -> None:
        """Calls back on every change of every collection, for as long as the store lives."""
        self._observers.append(callback)

    def _collection(self, name: str) -> _Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = _Collection()
        return found

    def _tell(self, found: _Collection, change: Change) -> None:
        found.history.append(change)
        if len(found.history) > self._history:
            found.compacted = found.history.popleft().revision
        for callback in list(found.listeners.values()):
            callback(change)
        for callback in self._observers:
            callback(change)


def _ordered(entries: dict[Key, Entry], namespace: str) -> list[Entry]:
    found: Iterable[Entry] = entries.values()
    if namespace:
        found = (entry for entry in found if entry.key.namespace == namespace)
    return sorted(found, key=_by_key)


def _by_key(entry: Entry) -> Key:
    return entry.key


def walk(entries: Iterable[Entry], after: Key | None) -> Iterator[Entry]:
    """The entries behind a key, for continued listings."""
    for entry in entries:
        if after is None or entry.key > after:
            yield entry
