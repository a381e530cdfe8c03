"""Server-side apply of one configuration to one object, as the API server does it.

The configuration is merged into the live object, the manager's set of fields becomes what
the configuration sets, what it set before and nobody sets any more is pruned, and other
managers' fields whose values changed are conflicts, or taken by force. Defaulting,
validation and storage are not here: the result is what the server goes on with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.schema import Schema
from rulesengine.ssa.compare import equal
from rulesengine.ssa.conflicts import Conflicted, conflicted
from rulesengine.ssa.fieldset import FieldSet, Tree, difference, intersection, lost, named, union, without
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
from rulesengine.ssa.ownership import nothing, owned, stripped
from rulesengine.ssa.typed import check
from rulesengine.ssa.update import track
from rulesengine.ssa.versions import Changes, Shapes, Versions


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
    shapes = Shapes(schema, config["apiVersion"], versions)
    operation = _Operation(shapes, config, manager, subresource, stamp(now), (reset or FieldSet()).tree)
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
    return Applied(copied(after), changed=True)


class _Operation:
    """One apply: what stays the same whether or not it is forced."""

    def __init__(
        self, shapes: Shapes, config: Object, manager: str, subresource: str, time: str, reset: Tree
    ) -> None:
        self._shapes = shapes
        self._config = config
        self._who = identity(manager, APPLY, subresource, shapes.version)
        self._time = time
        self._reset = reset
        self.contested: dict[ManagerId, Tree] = {}

    def run(self, live: Object | None, *, force: bool) -> Object | Conflicted:
        schema, version = self._shapes.schema, self._shapes.version
        managers = decoded(live)
        before = without_managers(live) if live is not None else nothing(schema)
        if not managers and live is not None:
            first = identity(BEFORE_FIRST_APPLY, UPDATE, self._who.subresource, version)
            track(self._shapes, nothing(schema), before, managers, first, self._time, self._reset)
        managers.settle(self._shapes)
        mine = managers.get(self._who)
        fields = without(owned(schema, self._config), self._reset)
        managers.put(self._who, Owned(fields, version, mine.time if mine else ""))
        after = merged(schema, before, self._config)
        if mine is not None:
            after = self._pruned(after, managers, mine)
        changes = Changes(self._shapes, before, after, self._reset)
        self.contested = managers.lose(changes, self._who)
        if self.contested and not force:
            return conflicted(self.contested)
        own = changes.at(version)
        moved = live is None or bool(own and (own.written or own.removed)) or not equal(before, after)
        self._enter(managers, moved=moved)
        return with_managers(after, managers)

    def _pruned(self, after: Object, managers: Managers, mine: Owned) -> Object:
        """Without what the manager set the last time, does not set now, and nobody else owns.

        Nothing that somebody owns goes, except inside list items and undeclared keys that
        go as a whole; nothing goes that the manager did not set.
        """
        schema = self._shapes.at(mine.version)
        if schema is None:
            return after
        versions = {each.version for _, each in managers}
        one_schema = all(self._shapes.at(version) is schema for version in versions)
        rest = mine.fields
        for _, each in managers:
            rest = difference(rest, each.fields)
        if one_schema and not rest:
            return after
        if not one_schema or _has_hollow(after):
            return self._pruned_in_steps(after, schema, mine, managers)
        others: Tree = {}
        for _, each in managers:
            others = union(others, each.fields)
        pruned: Object = removed(schema, after, lost(schema, mine.fields, others)) or {}
        return pruned

    def _pruned_in_steps(self, after: Object, schema: Schema, mine: Owned, managers: Managers) -> Object:
        """The same as the server takes it: remove, put back what is held in each version, keep the rest.

        It comes to something else where versions differ in what they share, and where a
        struct is left with nothing in it that can be owned.
        """
        held: dict[str, Tree] = {mine.version: {}}  # the pruned version comes first
        for _, each in managers:
            held[each.version] = union(held.get(each.version, {}), each.fields)
        last = named(schema, mine.fields)
        rest = removed(schema, after, last) or {}
        for version, fields in held.items():
            seen = self._shapes.at(version)
            if seen is not None:
                kept = union(named(seen, owned(seen, rest)), named(seen, fields))
                rest = removed(seen, after, difference(named(seen, owned(seen, after)), kept)) or {}
        gone = difference(named(schema, owned(schema, after)), named(schema, owned(schema, rest)))
        pruned: Object = removed(schema, after, intersection(gone, last)) or {}
        return pruned

    def _enter(self, managers: Managers, *, moved: bool) -> None:
        """The manager's entry: its time moves only when a value did."""
        mine = managers.get(self._who)
        if mine is not None:
            time = self._time if moved else mine.time
            managers.put(self._who, replace(mine, fields=stripped(mine.fields), time=time))


def _has_hollow(obj: Object) -> bool:
    """Whether there may be an empty list or a null in it: values with nothing to own."""
    text = json.encode(obj)
    return b"[]" in text or b"null" in text
