"""`spec.resources`: what shall be there for each source."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from rulesengine.api.models.base import (
    ATOMIC,
    SET,
    Anything,
    EntryName,
    Expression,
    Free,
    Identifier,
    KindRef,
    Model,
    Text,
    keyed,
)
from rulesengine.api.models.policy import ApplyPolicy
from rulesengine.api.models.selectors import LabelSelector


class Element(Model):
    """One loop of forEach."""

    name: Identifier = Field(description="The element's name in the entry's expressions.")
    expression: Expression = Field(description="CEL: a list, or a map whose sorted keys are taken.")


class Target(KindRef):
    """The object to patch, or those that are selected."""

    exactly_one: ClassVar = (("name", "selector"),)

    name: Text | None = Field(default=None, description="The object's name; may hold ${…}.")
    selector: LabelSelector | None = Field(
        default=None, description="All objects with these labels; values may hold ${…}."
    )
    subresource: Literal["status"] | None = Field(
        default=None, description="status: the patch is for the object's /status."
    )


class ClusterTarget(Target):
    """The object to patch, or those that are selected."""

    namespace: Text | None = Field(
        default=None, description="May hold ${…}. Default: that of a namespaced source."
    )


class _Patch(Model):
    exactly_one: ClassVar = (("apply", "merge", "json"),)

    apply: Free | None = Field(
        default=None, description="Fields to own, by server-side apply; given up when not wanted."
    )
    merge: Free | None = Field(default=None, description="A JSON merge patch (RFC 7396).")
    json_: list[Anything] | None = Field(
        default=None,
        alias="json",
        max_length=1000,
        description="A JSON patch (RFC 6902).",
        json_schema_extra=ATOMIC,
    )


class Patch(_Patch):
    """Fields on an object that the rule does not own."""

    target: Target | None = Field(default=None, description="What to patch. Default: the source.")


class ClusterPatch(_Patch):
    """Fields on an object that the rule does not own."""

    target: ClusterTarget | None = Field(default=None, description="What to patch. Default: the source.")


class Delete(KindRef):
    """One object that shall not be there."""

    name: Text = Field(description="The object's name; may hold ${…}.")


class ClusterDelete(Delete):
    """One object that shall not be there."""

    namespace: Text | None = Field(
        default=None, description="May hold ${…}. Default: that of a namespaced source."
    )


def _expressions(description: str) -> Any:
    return Field(default_factory=list, max_length=64, description=description, json_schema_extra=ATOMIC)


class _Resource(Model):
    exactly_one: ClassVar = (("template", "patch", "delete"),)

    name: EntryName = Field(description="The entry's name, in expressions and in what the engine reports.")
    include_when: list[Expression] = _expressions("CEL conditions; the entry is wanted when all are true.")
    for_each: list[Element] = Field(
        default_factory=list,
        max_length=4,
        description="The entry once per element; several make the product.",
        json_schema_extra=keyed("name"),
    )
    depends_on: list[EntryName] = Field(
        default_factory=list,
        max_length=100,
        description="Entries that must be ready before this one is created or changed.",
        json_schema_extra=SET,
    )
    wait_for: list[Expression] = _expressions(
        "CEL conditions; while one is not true, or reads what is not there, the entry waits."
    )
    ready_when: list[Expression] = _expressions(
        "CEL conditions on `self`, the live object. Default: the usual health of the kind."
    )
    apply_policy: ApplyPolicy | None = Field(
        default=None, description="How this entry is written and removed."
    )
    template: Free | None = Field(
        default=None,
        description="An object to make and keep, its values with ${…}. apiVersion and kind are literal; "
        "metadata.namespace defaults to that of a namespaced source.",
    )


class Resource(_Resource):
    """An entry: exactly one of template, patch and delete."""

    patch: Patch | None = Field(default=None, description="Fields on an object that is not the rule's.")
    delete: Delete | None = Field(default=None, description="An object that shall not be there.")


class ClusterResource(_Resource):
    """An entry: exactly one of template, patch and delete."""

    patch: ClusterPatch | None = Field(
        default=None, description="Fields on an object that is not the rule's."
    )
    delete: ClusterDelete | None = Field(default=None, description="An object that shall not be there.")
