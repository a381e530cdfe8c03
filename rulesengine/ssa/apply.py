"""Server-side apply of one configuration to one object, as the API server does it.

The configuration is merged into the live object, the manager's set of fields becomes what
the configuration sets, what it set before and nobody sets any more is pruned, and other
managers' fields whose values changed are conflicts, or taken by force. Defaulting,
validation and storage are not here: the result is what the server goes on with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from rulesengine.core.json import Object
from rulesengine.schema import Schema
from rulesengine.ssa.compare import Comparison, compare, equal
from rulesengine.ssa.conflicts import Conflicted, conflicted
from rulesengine.ssa.fieldset import FieldSet, Tree, difference, intersection, named, union, without
from rulesengine.ssa.last_applied import LastApplied
from rulesengine.ssa.managers import (
    APPLY,
    UPDATE,
    ManagerId,
    Managers,
    Owned,
    decoded,
    identity,
    same_but_times,
    stamp,
    with_managers,
    without_managers,
)
from rulesengine.ssa.merge import copied, merged, removed
from rulesengine.ssa.noop import BEFORE_FIRST_APPLY
from rulesengine.ssa.ownership import owned, stripped
from rulesengine.ssa.typed import check
from rulesengine.ssa.update import track

Versions = Mapping[str, Schema]


@dataclass(frozen=True, slots=True)
class Applied:
    """The object after an apply; not `changed`: it is what was there, down to its managers."""

    object: Object
    changed: bool


def apply(
    schema: Schema,
    live: Object | None,
    config: Object,
    *,
    manager: str,
    force: bool,
    now: datetime,
    subresource: str = "",
    reset: FieldSet | None = None,
    versions: Versions | None = None,
) -> Applied | Conflicted:
    """Applies `config` to `live` (None: creates it). Raises InvalidConfig when it does not fit the schema.

    `reset` are fields that this endpoint ignores; `versions` the schemas of all served
    versions of the kind, None to take every version as this one. The result shares nothing
    with `live` and `config`.
    """
    check(schema, config)
    operation = _Operation(
        schema, config, manager, subresource, stamp(now), (reset or FieldSet()).tree, versions
    )
    outcome = operation.run(live, force=force)
    marks = LastApplied(schema, config, live, manager)
    if isinstance(outcome, Conflicted):
        contested = marks.left_over(operation.contested)
        if contested is None:
            return outcome
        if contested:
            return conflicted(contested)
        outcome = operation.run(live, force=True)
    assert not isinstance(outcome, Conflicted)
    after = marks.renewed(outcome)
    if live is not None and same_but_times(live, after):
        return Applied(copied(live), changed=False)
    return Applied(after, changed=True)


class _Operation:
    """One apply: what stays the same whether or not it is forced."""

    def __init__(
        self,
        schema: Schema,
        config: Object,
        manager: str,
        subresource: str,
        time: str,
        reset: Tree,
        versions: Versions | None,
    ) -> None:
        self._schema = schema
        self._config = config
        self._version: str = config["apiVersion"]
        self._who = identity(manager, APPLY, subresource, self._version)
        self._subresource = subresource
        self._time = time
        self._reset = reset
        self._versions = versions
        self.contested: dict[ManagerId, Tree] = {}

    def run(self, live: Object | None, *, force: bool) -> Object | Conflicted:
        managers = decoded(live)
        before = without_managers(live) if live is not None else {}
        if not managers and live is not None:
            everything = identity(BEFORE_FIRST_APPLY, UPDATE, self._subresource, self._version)
            track(
                self._schema,
                {},
                before,
                managers,
                everything,
                self._version,
                self._time,
                self._reset,
                self._versions,
            )
        managers.settle(self._schema)
        mine = managers.get(self._who)
        fields = without(owned(self._schema, self._config), self._reset)
        managers.put(self._who, Owned(fields, self._version, mine.time if mine else ""))
        after = merged(self._schema, before, self._config)
        if mine is not None:
            after = self._pruned(after, managers, mine)
        if live is not None:
            self.contested = self._take(compare(self._schema, before, after), managers)
            if self.contested and not force:
                return conflicted(self.contested)
        if live is None or not equal(before, after):
            mine = managers.get(self._who)
            if mine is not None:
                managers.put(self._who, replace(mine, time=self._time))
        self._strip(managers)
        return with_managers(after, managers)

    def _pruned(self, after: Object, managers: Managers, mine: Owned) -> Object:
        """Without what the manager set the last time, does not set now, and nobody else owns.

        Nothing that somebody owns goes, except inside list items and undeclared keys that
        go as a whole; nothing goes that the manager did not set.
        """
        schema = self._schema_of(mine.version)
        others: Tree = {}
        for _, each in managers:
            others = union(others, each.fields)
        if schema is None or not difference(mine.fields, others):
            return after
        last = named(schema, mine.fields)
        present = named(schema, owned(schema, after))
        rest = removed(schema, after, last) or {}
        kept = union(named(schema, owned(schema, rest)), named(schema, others))
        rest = removed(schema, after, difference(present, kept)) or {}
        gone = difference(present, named(schema, owned(schema, rest)))
        pruned: Object = removed(schema, after, intersection(gone, last)) or {}
        return pruned

    def _take(self, changes: Comparison, managers: Managers) -> dict[ManagerId, Tree]:
        """Takes changed fields from their other owners, and removed ones from all; says which changed."""
        changes = changes.without(self._reset)
        written = changes.written
        contested: dict[ManagerId, Tree] = {}
        for who, each in managers:
            if who == self._who:
                continue
            if self._schema_of(each.version) is None:
                managers.drop(who)
                continue
            if conflict := intersection(each.fields, written):
                contested[who] = conflict
            left = difference(difference(each.fields, conflict), changes.removed)
            managers.put(who, replace(each, fields=left))
        return contested

    def _strip(self, managers: Managers) -> None:
        mine = managers.get(self._who)
        if mine is not None:
            managers.put(self._who, replace(mine, fields=stripped(mine.fields)))

    def _schema_of(self, version: str) -> Schema | None:
        if version == self._version or self._versions is None:
            return self._schema
        return self._versions.get(version)
