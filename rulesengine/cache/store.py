"""The objects of one kind: by name, by who made them, and who went lately.

A store never goes backwards. The watch, listings and the answers to our own writes all come
in here, in any order; of two states of an object the one with the higher resourceVersion
stays, and an object that was seen to go does not come back by a late event. Every change is
handed to `emit` at once, in order.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TypeAlias

import msgspec

from rulesengine.cache.events import Event, EventType
from rulesengine.cache.records import Maker, Record
from rulesengine.core.clock import Clock
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupVersionKind

Name: TypeAlias = tuple[str, str]  # namespace, name

REMEMBERED = 10_000  # objects that went, of which the time is kept; the oldest are forgotten


class _ClaimHead(msgspec.Struct, gc=False):
    rule: tuple[str, str, str, str]
    source: tuple[str, str, str, str, str]


_claim = msgspec.json.Decoder(_ClaimHead)


class Store:
    """`emit` is called on every change, on the event loop."""

    def __init__(self, gvk: GroupVersionKind, clock: Clock, emit: Callable[[Event], None]) -> None:
        self.gvk = gvk
        self.maker = Maker(gvk)
        self._clock = clock
        self.emit = emit
        self.bytes = 0  # what its records hold
        self._records: dict[Name, Record] = {}
        self._claims: dict[RuleKey, dict[Name, set[Name]]] = {}
        self._gone: OrderedDict[Name, datetime] = OrderedDict()
        self._buried: OrderedDict[str, None] = OrderedDict()  # uids that we know are gone
        self._held: dict[Name, list[Callable[[], bool]]] = {}
        self._writers: Counter[Name] = Counter()

    # --- reading ---

    def get(self, namespace: str, name: str) -> Record | None:
        return self._records.get((namespace, name))

    def gone_since(self, namespace: str, name: str) -> datetime | None:
        """When an object was seen to go; None if it never was, or that is long ago."""
        return self._gone.get((namespace, name))

    def by_claim(self, rule: RuleKey, namespace: str, name: str) -> tuple[Record, ...]:
        """The objects whose claim names this rule and this source; claims are not verified."""
        names = self._claims.get(rule, {}).get((namespace, name), ())
        return tuple(self._records[n] for n in sorted(names))

    def claimed(self, rule: RuleKey) -> tuple[Record, ...]:
        """All objects whose claim names this rule."""
        found = self._claims.get(rule, {})
        return tuple(self._records[n] for names in found.values() for n in sorted(names))

    def __iter__(self) -> Iterator[Record]:
        return iter(tuple(self._records.values()))

    def __len__(self) -> int:
        return len(self._records)

    # --- changing ---

    def put(self, new: Record, *, own: bool = False, initial: bool = False) -> bool:
        """Takes a state of an object; whether it was news."""
        name = (new.key.namespace, new.key.name)
        if not own and name in self._held:
            self._held[name].append(lambda: self.put(new, initial=initial))
            return False
        if new.uid in self._buried:
            return False
        old = self._records.get(name)
        if old is not None and _is_past(old, new):
            return False
        if old is not None and old.uid != new.uid:
            self._remove(name, old, own=own)  # deleted and made anew while we did not look
            old = None
        self._records[name] = new
        self.bytes += new.size - (old.size if old is not None else 0)
        self._gone.pop(name, None)
        if old is None or old.claim != new.claim:
            if old is not None:
                self._unclaim(name, old)
            self._enclaim(name, new)
        kind = EventType.ADDED if old is None else EventType.MODIFIED
        self.emit(Event(kind, self.gvk, old, new, own=own, initial=initial))
        return True

    def delete(self, last: Record) -> bool:
        """Takes a watch's word that an object went; `last` is its last state."""
        name = (last.key.namespace, last.key.name)
        if name in self._held:
            self._held[name].append(lambda: self.delete(last))
            return False
        self._buried.pop(last.uid, None)
        old = self._records.get(name)
        if old is None or old.uid != last.uid:
            return False
        self._remove(name, old)
        return True

    def drop(self, namespace: str, name: str, uid: str) -> bool:
        """Takes the answer to our own delete: gone at once, and late events do not bring it back."""
        self._buried[uid] = None
        _bound(self._buried)
        old = self._records.get((namespace, name))
        if old is None or old.uid != uid:
            return False
        self._remove((namespace, name), old, own=True)
        return True

    def hold(self, namespace: str, name: str) -> None:
        """A write of ours is on its way: what the watch says of the object waits for `resume`.

        The watch is often quicker than the answer. It would tell our own change as somebody's.
        """
        self._held.setdefault((namespace, name), [])
        self._writers[(namespace, name)] += 1

    def resume(self, namespace: str, name: str) -> None:
        """The answer is in: what it did not tell already is taken now, in its order."""
        key = (namespace, name)
        self._writers[key] -= 1
        if self._writers[key] > 0:
            return
        del self._writers[key]
        for late in self._held.pop(key):
            late()

    def retain(self, present: Iterable[Name], version: int, namespace: str = "") -> None:
        """After a listing as of `version`: what is not in it went while we did not look.

        What our own writes brought later than the listing stays. With a namespace, only that
        part of the store was listed.
        """
        kept = set(present)
        for name, late in self._held.items():
            if name not in kept and namespace in ("", name[0]):
                late.clear()  # older than the listing
        for name, record in list(self._records.items()):
            if namespace and name[0] != namespace:
                continue
            if name not in kept and (not version or record.version <= version):
                self._remove(name, record)

    def forget(self, covered: Callable[[str], bool]) -> None:
        """Silently drops what lies in namespaces that nobody watches any more."""
        for name, record in list(self._records.items()):
            if not covered(name[0]):
                del self._records[name]
                self.bytes -= record.size
                self._unclaim(name, record)

    def _remove(self, name: Name, old: Record, *, own: bool = False) -> None:
        del self._records[name]
        self.bytes -= old.size
        self._unclaim(name, old)
        self._gone[name] = self._clock.now()
        self._gone.move_to_end(name)
        _bound(self._gone)
        self.emit(Event(EventType.DELETED, self.gvk, old, None, own=own))

    def _enclaim(self, name: Name, record: Record) -> None:
        if (about := _about(record.claim)) is not None:
            rule, source = about
            self._claims.setdefault(rule, {}).setdefault(source, set()).add(name)

    def _unclaim(self, name: Name, record: Record) -> None:
        if (about := _about(record.claim)) is None:
            return
        rule, source = about
        sources = self._claims.get(rule, {})
        names = sources.get(source, set())
        names.discard(name)
        if not names:
            sources.pop(source, None)
        if not sources:
            self._claims.pop(rule, None)


def _is_past(old: Record, new: Record) -> bool:
    """Whether `new` tells nothing that `old` does not; without versions the later word counts."""
    if not new.version or new.version > old.version:
        return False
    fuller = old.foreign and not new.foreign and old.uid == new.uid
    return not (fuller and new.version == old.version)


def _about(claim: str) -> tuple[RuleKey, Name] | None:
    """Rule and source that a claim names; anybody may have written it, so nothing is certain."""
    if not claim:
        return None
    try:
        head = _claim.decode(claim)
    except (msgspec.DecodeError, RecursionError):
        return None
    return RuleKey(*head.rule[:3]), (head.source[2], head.source[3])


def _bound(known: OrderedDict[Name, datetime] | OrderedDict[str, None]) -> None:
    while len(known) > REMEMBERED:
        known.popitem(last=False)
