"""How resources are written, kept and removed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rulesengine.api.models.base import ATOMIC, Model


class ApplyPolicy(Model):
    """How a resource is written and removed. What an entry does not say, the rule's policy says."""

    strategy: Literal["Apply", "CreateOnly"] | None = Field(
        default=None,
        description="Apply (default): server-side apply, kept as wanted. CreateOnly: created when absent, "
        "then left alone.",
    )
    conflicts: Literal["Force", "Fail"] | None = Field(
        default=None,
        description="When another manager owns a field with a different value. Force: take it, though "
        "never from another rule. Fail: report it. Default: Force for templates, Fail for patches.",
    )
    adopt: Literal["Never", "IfUnowned", "Always"] | None = Field(
        default=None,
        description="Whether an object of that name that this rule did not make is taken over. Never "
        "(default); IfUnowned: when it has no controller and no other applier; Always. Adopted objects are "
        "released, never deleted.",
    )
    on_immutable: Literal["Fail", "Recreate"] | None = Field(
        default=None,
        description="When a field that cannot be changed would have to change. Fail (default) or Recreate.",
    )
    deletion: Literal["Delete", "Orphan"] | None = Field(
        default=None,
        description="What happens to the object when it is not wanted any more. Default: Delete; Orphan for "
        "Namespace, CustomResourceDefinition, PersistentVolume and PersistentVolumeClaim.",
    )
    propagation: Literal["Background", "Foreground", "Orphan"] | None = Field(
        default=None, description="How the object's own dependents are deleted. Default: Background."
    )
    owner: Literal["Auto", "Controller", "None"] | None = Field(
        default=None,
        description="The owner reference to the source. Auto (default): a plain one where Kubernetes "
        "allows it; Controller: a controller reference; None: none.",
    )
    ignore: list[Annotated[str, Field(min_length=1, max_length=512, pattern=r"^/")]] = Field(
        default_factory=list,
        max_length=64,
        description="Fields, as JSON pointers (* for any index or key), that are set at creation and then "
        "left to others.",
        json_schema_extra=ATOMIC,
    )
