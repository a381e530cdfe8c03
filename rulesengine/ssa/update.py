"""managedFields of writes that are not applies: what changed becomes the writer's.

Create, replace and patch come here after their result is known: the object before and the
object after are compared, and the manager of the request owns the difference from now on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from rulesengine.core.json import Object
from rulesengine.schema import Schema
from rulesengine.ssa.compare import compare
from rulesengine.ssa.elements import Unidentified
from rulesengine.ssa.fieldset import FieldSet, Tree, difference, intersection, union
from rulesengine.ssa.managers import (
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
from rulesengine.ssa.merge import copied
from rulesengine.ssa.ownership import stripped


def update(
    schema: Schema,
    before: Object | None,
    after: Object,
    *,
    manager: str,
    operation: str = "Update",
    now: datetime,
    subresource: str = "",
    reset: FieldSet | None = None,
    versions: Mapping[str, Schema] | None = None,
) -> Object:
    """`after` with the managedFields it gets; `before` is None for a create.

    An object that lost its managers (by `managedFields: []`) has no owners until somebody
    applies. A manager's time moves only when it wrote something.
    """
    managers = _managers(before, after, subresource)
    bare = without_managers(after)
    if before is not None and not managers:
        unowned: Object = copied(bare)
        return unowned
    version: str = after["apiVersion"]
    who = identity(manager, operation, subresource, version)
    old = without_managers(before) if before is not None else {}
    try:
        track(schema, old, bare, managers, who, version, stamp(now), (reset or FieldSet()).tree, versions)
    except Unidentified:  # the server keeps the managers when an object cannot be compared
        managers = _managers(before, after, subresource)
    else:
        managers.fold()
    written: Object = copied(with_managers(bare, managers))
    return written if before is None else keep_times(before, written)


def keep_times(before: Object, after: Object) -> Object:
    """`after`, or `before` where nothing but managers' times differ: such a write is none.

    For who goes on with a result (defaulting, admission) and may end up where it began.
    """
    if not same_but_times(before, after):
        return after
    kept: Object = copied(before)
    return kept


def track(
    schema: Schema,
    before: Object,
    after: Object,
    managers: Managers,
    who: ManagerId,
    version: str,
    time: str,
    reset: Tree,
    versions: Mapping[str, Schema] | None,
) -> None:
    """Enters into `managers` that `who` made `after` of `before`."""
    managers.settle(schema)
    changes = compare(schema, before, after).without(reset)
    written = changes.written
    for other, each in managers:
        if versions is not None and each.version != version and each.version not in versions:
            managers.drop(other)
            continue
        conflict = intersection(each.fields, written)
        left = difference(difference(each.fields, conflict), changes.removed)
        if left != each.fields:
            managers.put(other, replace(each, fields=left))
    mine = stripped(written)
    if mine:
        previous = managers.get(who)
        together = union(mine, previous.fields) if previous is not None else mine
        managers.put(who, Owned(together, version, time))


def _managers(before: Object | None, after: Object, subresource: str) -> Managers:
    """Those the request gives, if it gives any and may; else those that are there."""
    given = (after.get("metadata") or {}).get("managedFields")
    if subresource:
        return decoded(before)
    if given is not None and (not given or (len(given) == 1 and not given[0])):
        return Managers()
    return decoded(after) or decoded(before)
