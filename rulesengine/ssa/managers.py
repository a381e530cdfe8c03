"""Who owns which fields of an object: managedFields, read and written as the server does.

A manager is told from another by name, operation and subresource, for updates also by the
version used. What an object says of its managers is decoded into a `Managers`, changed
there, and encoded again in the server's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from rulesengine.core.json import Object, same
from rulesengine.ssa.elements import quoted
from rulesengine.ssa.fieldset import Tree, difference, intersection, settled, union
from rulesengine.ssa.versions import Changes, Shapes

APPLY: Final = "Apply"
UPDATE: Final = "Update"
ANCIENT: Final = "ancient-changes"
UPDATERS_LIMIT: Final = 10  # the server folds older entries of updates together beyond it


class ManagerId(NamedTuple):
    """What tells managers apart. `version` is empty for appliers: theirs is in the entry."""

    manager: str
    operation: str
    subresource: str = ""
    version: str = ""

    def __str__(self) -> str:
        """As the server names it in conflicts."""
        said = quoted(self.manager)
        if self.subresource:
            said += f" with subresource {quoted(self.subresource)}"
        return f"{said} using {self.version}" if self.operation == UPDATE else said


@dataclass(frozen=True, slots=True)
class Owned:
    """A manager's fields, the version they are written in, and when it last changed any."""

    fields: Tree
    version: str
    time: str = ""


class Managers:
    """The managers of one object, while one operation on it is computed."""

    def __init__(self, entries: Mapping[ManagerId, Owned] | None = None) -> None:
        self._entries = dict(entries or {})

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __iter__(self) -> Iterator[tuple[ManagerId, Owned]]:
        return iter(list(self._entries.items()))

    def get(self, who: ManagerId) -> Owned | None:
        return self._entries.get(who)

    def put(self, who: ManagerId, owned: Owned) -> None:
        """Enters what a manager owns; owning nothing is not being there."""
        if owned.fields:
            self._entries[who] = owned
        else:
            self._entries.pop(who, None)

    def lose(self, changes: Changes, keeper: ManagerId | None = None) -> dict[ManagerId, Tree]:
        """Takes changed and removed fields from everybody but `keeper`; returns who lost changed ones."""
        contested: dict[ManagerId, Tree] = {}
        for who, owned in self:
            if who == keeper:
                continue
            seen = changes.at(owned.version)
            if seen is None:
                del self._entries[who]
                continue
            if conflict := intersection(owned.fields, seen.written):
                contested[who] = conflict
            left = difference(difference(owned.fields, conflict), seen.removed)
            self.put(who, replace(owned, fields=left))
        return contested

    def settle(self, shapes: Shapes) -> None:
        """Follows schemas in which something that was shared became atomic."""
        for who, owned in self:
            fields = settled(shapes.at(owned.version), owned.fields)
            if fields is not owned.fields:
                self._entries[who] = replace(owned, fields=fields)

    def fold(self) -> None:
        """Puts the oldest updates of each version into one entry, so that they stay few."""
        updaters = sorted(
            (who for who in self._entries if who.operation == UPDATE),
            key=lambda who: (self._entries[who].time, identifier(who)),
        )
        left = len(updaters)
        first: dict[str, ManagerId] = {}
        for who in updaters:
            if left <= UPDATERS_LIMIT:
                return
            owned = self._entries[who]
            if who.version not in first:
                first[who.version] = who
                continue
            bucket = ManagerId(ANCIENT, UPDATE, "", who.version)
            if bucket not in self._entries:
                self._entries[bucket] = self._entries.pop(first[who.version])
            together = union(owned.fields, self._entries[bucket].fields)
            del self._entries[who]
            self._entries[bucket] = Owned(together, owned.version, owned.time)
            left -= 1


def decoded(obj: Object | None) -> Managers:
    """The managers that an object lists; entries that are not of this form are not there."""
    entries: dict[ManagerId, Owned] = {}
    for each in ((obj or {}).get("metadata") or {}).get("managedFields") or ():
        operation, fields = each.get("operation"), each.get("fieldsV1")
        if operation not in (APPLY, UPDATE) or not isinstance(fields, dict):
            continue
        version = each.get("apiVersion", "")
        who = identity(each.get("manager", ""), operation, each.get("subresource", ""), version)
        entries[who] = Owned(fields, version, each.get("time") or "")
    return Managers(entries)


def encoded(managers: Managers) -> list[Object]:
    """The entries of managedFields, in the server's order."""
    entries = sorted(
        managers,
        key=lambda each: (
            *(each[0].operation, each[1].time, each[0].manager),
            *(each[1].version, each[0].subresource),
        ),
    )
    return [_entry(who, owned) for who, owned in entries]


def _entry(who: ManagerId, owned: Owned) -> Object:
    entry: Object = {"manager": who.manager, "operation": who.operation, "apiVersion": owned.version}
    if owned.time:
        entry["time"] = owned.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": owned.fields}
    if who.subresource:
        entry["subresource"] = who.subresource
    return entry


def identity(manager: str, operation: str, subresource: str, version: str) -> ManagerId:
    """A manager without a name is called "unknown", as by the server."""
    return ManagerId(manager or "unknown", operation, subresource, version if operation == UPDATE else "")


def identifier(who: ManagerId) -> str:
    """The server's own key for a manager, by which it breaks ties."""
    parts = [
        f'"{name}":{quoted(value)}'
        for name, value in (
            *(("manager", who.manager), ("operation", who.operation)),
            *(("apiVersion", who.version), ("subresource", who.subresource)),
        )
        if value
    ]
    return "{" + ",".join(parts) + "}"


def stamp(now: datetime) -> str:
    """A time as managedFields has it."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def without_managers(obj: Object) -> Object:
    """The object with no managedFields; shares the rest."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return obj | {"metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def with_managers(obj: Object, managers: Managers) -> Object:
    """The object with these managers listed; shares the rest."""
    bare = without_managers(obj)
    entries = encoded(managers)
    if not entries:
        return bare
    return bare | {"metadata": {**(bare.get("metadata") or {}), "managedFields": entries}}


def same_but_times(before: Object, after: Object) -> bool:
    """Whether two objects differ in nothing but when their managers last wrote."""
    first, second = (_untimed(each) for each in (before, after))
    if first != second:
        return False
    old, new = without_managers(before), without_managers(after)
    return old == new and same(old, new)


def _untimed(obj: Object) -> list[Object]:
    listed = (obj.get("metadata") or {}).get("managedFields") or ()
    return [{key: value for key, value in each.items() if key != "time"} for each in listed]
