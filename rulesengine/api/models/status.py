"""`status`: written by the engine only. Models for the CRDs; the engine writes plain objects."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from rulesengine.api.models.base import ATOMIC, Model, keyed

Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


class Condition(Model):
    """One aspect of the rule's state."""

    type: Annotated[str, Field(max_length=316)] = Field(
        description="Accepted, Ready, Conflicted, Looping or DeletesHeld."
    )
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: Annotated[str, Field(max_length=1024)] = Field(description="A word for machines.")
    message: Annotated[str, Field(max_length=32768)] = Field(description="A sentence for people.")
    observed_generation: int | None = Field(
        default=None, description="The generation of the rule that this is about."
    )
    last_transition_time: Time = Field(description="When status changed last.")


class Failure(Model):
    """Something that failed."""

    source: str = Field(description="The source, namespace/name.")
    resource: str | None = Field(default=None, description="The entry of spec.resources.")
    reason: str = Field(description="A word for machines.")
    message: str | None = Field(default=None, description="A sentence for people, without values of objects.")


class Pending(Model):
    """Something that would be done in mode Enforce."""

    resource: str | None = Field(default=None, description="The entry of spec.resources.")
    object: str = Field(description="The object, kind and namespace/name.")
    operation: Literal["create", "update", "delete", "recreate", "release", "withheld"] = Field(
        description="What would be done."
    )
    fields: list[str] = Field(
        default_factory=list, description="Paths of the fields that would change.", json_schema_extra=ATOMIC
    )


class WrittenKind(Model):
    """A kind of which the rule has made objects."""

    group: str = Field(description="The API group; empty for the core group.")
    kind: str = Field(description="The kind.")


def _count(description: str) -> int | None:
    field: int | None = Field(default=None, description=description)
    return field


class RuleStatus(Model):
    """What the engine has seen and done."""

    observed_generation: int | None = _count("The generation of the rule that this is about.")
    conditions: list[Condition] = Field(
        default_factory=list,
        description="Accepted, Ready, Conflicted, Looping, DeletesHeld.",
        json_schema_extra=keyed("type"),
    )
    matched: int | None = _count("Work items past matchConditions: converged + waiting + failed.")
    converged: int | None = _count("Work items that are as wanted.")
    waiting: int | None = _count("Work items that wait for something.")
    failed: int | None = _count("Work items with a failure.")
    resources: int | None = _count("Objects that the rule has made and keeps.")
    pending_creates: int | None = _count("Objects that would be created.")
    pending_updates: int | None = _count("Objects that would be changed.")
    pending_deletes: int | None = _count("Objects that would be deleted.")
    orphans: int | None = _count("Restored copies of objects of this rule, left alone.")
    protected: int | None = _count("Objects in system namespaces, left alone.")
    failures: list[Failure] = Field(
        default_factory=list,
        max_length=10,
        description="Samples of what failed.",
        json_schema_extra=ATOMIC,
    )
    pending: list[Pending] = Field(
        default_factory=list,
        max_length=10,
        description="Samples of what would be done (mode DryRun).",
        json_schema_extra=ATOMIC,
    )
    written_kinds: list[WrittenKind] = Field(
        default_factory=list,
        description="Kinds of which the rule has made objects, so that they are found after any change.",
        json_schema_extra=ATOMIC,
    )
