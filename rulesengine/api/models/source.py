"""`spec.for`: which objects a rule is about."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rulesengine.api.models.base import ATOMIC, SET, Anything, KindRef, Namespace
from rulesengine.api.models.selectors import LabelSelector


class Source(KindRef):
    """The source: every object of this kind that is selected is one work item of the rule."""

    selector: LabelSelector | None = Field(default=None, description="Only objects with these labels.")
    field_selector: Annotated[str, Field(min_length=1, max_length=1024)] | None = Field(
        default=None,
        description="Only objects with these fields, as far as the server supports it for the kind: "
        "metadata.name!=x, status.phase=Running.",
    )
    predicates: list[Anything] = Field(
        default_factory=list,
        max_length=16,
        description="Filters for update events. They save work and never decide what is wanted; rarely "
        "needed. GenerationChanged, LabelsChanged, AnnotationsChanged, or a mapping with one of "
        "expression, anyOf, allOf, not.",
        json_schema_extra=ATOMIC,
    )


class ClusterSource(Source):
    """The source: every object of this kind that is selected is one work item of the rule."""

    namespace_selector: LabelSelector | None = Field(
        default=None, description="Only objects in namespaces with these labels. Namespaced kinds only."
    )
    namespaces: list[Namespace] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Only objects in these namespaces. Namespaced kinds only.",
        json_schema_extra=SET,
    )
    system_namespaces: Literal["Skip", "Include"] = Field(
        default="Skip",
        description="Whether the rule reaches into kube-system, kube-public, kube-node-lease and the "
        "engine's own namespace.",
    )
