"""What a rule reads besides its source."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from rulesengine.api.models.base import EntryName, Expression, KindRef, Model, Text
from rulesengine.api.models.selectors import LabelSelector

_NAMESPACE = Field(
    default=None,
    description="May hold ${…}. Default: get: the source's own namespace; list: every one.",
)


class Get(KindRef):
    """One object by name."""

    name: Text = Field(description="The object's name; may hold ${…}.")


class ClusterGet(Get):
    """One object by name."""

    namespace: Text | None = _NAMESPACE


class ListOf(KindRef):
    """All objects of a kind that are selected."""

    selector: LabelSelector | None = Field(
        default=None, description="Only objects with these labels; values may hold ${…}."
    )


class ClusterListOf(ListOf):
    """All objects of a kind that are selected."""

    namespace: Text | None = _NAMESPACE


class _Lookup(Model):
    exactly_one: ClassVar = (("get", "list"),)

    name: EntryName = Field(description="The name in expressions: lookups.NAME.")
    optional: bool = Field(
        default=False,
        description="get: whether the work item goes on when the object is absent. Otherwise it waits.",
    )


class Lookup(_Lookup):
    """Objects in the rule's namespace that expressions can read. They are watched."""

    get: Get | None = Field(default=None, description="One object by name.")
    list_: ListOf | None = Field(default=None, alias="list", description="All objects that are selected.")


class ClusterLookup(_Lookup):
    """Objects that expressions can read. They are watched."""

    get: ClusterGet | None = Field(default=None, description="One object by name.")
    list_: ClusterListOf | None = Field(
        default=None, alias="list", description="All objects that are selected."
    )


class Watch(KindRef):
    """Objects of another kind whose events wake work items."""

    selector: LabelSelector | None = Field(default=None, description="Only objects with these labels.")
    map_to: Annotated[Expression, Field()] = Field(
        description="CEL: from `object` to a list of {namespace, name} of sources to look at."
    )
