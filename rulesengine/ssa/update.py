"""managedFields of writes that are not applies: what changed becomes the writer's.

Create, replace and patch come here after their result is known: the object before and the
object after are compared, and the manager of the request owns the difference from now on.
"""

from __future__ import annotations

from datetime import datetime

from rulesengine.core.json import Object
from rulesengine.schema import Schema
from rulesengine.ssa.elements import Unidentified
from rulesengine.ssa.fieldset import FieldSet, Tree, union
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
from rulesengine.ssa.ownership import nothing, stripped
from rulesengine.ssa.versions import Changes, Shapes, Versions


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
    versions: Versions | None = None,
) -> Object:
    """`after` with the managedFields it gets; `before` is None for a create.

    An object that lost its managers (by `managedFields: []`) has no owners until somebody
    applies. A manager's time moves only when it wrote something.
    """
    managers = _managers(schema, before, after, subresource)
    bare = without_managers(after)
    if before is not None and not managers:
        unowned: Object = copied(bare)
        return unowned
    version: str = after["apiVersion"]
    who = identity(manager, operation, subresource, version)
    old = without_managers(before) if before is not None else nothing(schema)
    try:
        shapes = Shapes(schema, version, versions)
        track(shapes, old, bare, managers, who, stamp(now), (reset or FieldSet()).tree)
    except Unidentified:  # the server keeps the managers when an object cannot be compared
        managers = _managers(schema, before, after, subresource)
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
    shapes: Shapes, before: Object, after: Object, managers: Managers, who: ManagerId, time: str, reset: Tree
) -> None:
    """Enters into `managers` that `who` made `after` of `before`."""
    managers.settle(shapes)
    changes = Changes(shapes, before, after, reset)
    managers.lose(changes)
    own = changes.at(shapes.version)
    mine = stripped(own.written) if own is not None else {}
    if mine:
        previous = managers.get(who)
        together = union(mine, previous.fields) if previous is not None else mine
        managers.put(who, Owned(together, shapes.version, time))


def _managers(schema: Schema, before: Object | None, after: Object, subresource: str) -> Managers:
    """Those the request gives, if it gives any and may; else those that are there."""
    given = (after.get("metadata") or {}).get("managedFields")
    if subresource:
        return decoded(before)
    if given == [{}] or (given == [] and not _custom(schema)):
        return Managers()
    return decoded(after) or decoded(before)


def _custom(schema: Schema) -> bool:
    """Whether it is a custom resource's: there `[]` says nothing to the server, only `[{}]` resets."""
    metadata = schema.properties.get("metadata")
    return metadata is None or not metadata.always
