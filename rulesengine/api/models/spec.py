"""`spec` of both kinds of rule."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from rulesengine.api.models.base import (
    ATOMIC,
    CONDITION_NAME,
    Expression,
    Free,
    Identifier,
    Model,
    Namespace,
    Text,
    keyed,
)
from rulesengine.api.models.lookups import ClusterLookup, Lookup, Watch
from rulesengine.api.models.policy import ApplyPolicy
from rulesengine.api.models.resources import ClusterResource, Resource
from rulesengine.api.models.source import ClusterSource, Source

ServiceAccountName = Annotated[
    str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]


class ServiceAccountRef(Model):
    """A ServiceAccount in some namespace."""

    namespace: Namespace = Field(description="The ServiceAccount's namespace.")
    name: ServiceAccountName = Field(description="The ServiceAccount's name.")


class MatchCondition(Model):
    """A condition on the source."""

    name: Annotated[str, Field(min_length=1, max_length=63, pattern=CONDITION_NAME)] = Field(
        description="Names the condition in reports."
    )
    expression: Expression = Field(description="CEL that yields a bool; without ${}.")


class Variable(Model):
    """A named value."""

    name: Identifier = Field(description="The name in expressions: variables.NAME.")
    expression: Expression = Field(description="CEL of any type; without ${}. May use earlier variables.")


class StatusCondition(Model):
    """A condition in the source's status."""

    type: Annotated[str, Field(min_length=1, max_length=316, pattern=CONDITION_NAME)] = Field(
        description="The condition's type."
    )
    status: Text = Field(description="A bool or True, False or Unknown; may hold ${…}.")
    reason: Text = Field(description="A CamelCase word; may hold ${…}.")
    message: Annotated[str, Field(max_length=32768)] = Field(
        default="", description="A sentence for people; may hold ${…}."
    )


class SourceStatus(Model):
    """What is written to the source's /status."""

    value: Free | None = Field(
        default=None, description="Fields of the status, their values with ${…}. Each waits for itself."
    )
    conditions: list[StatusCondition] = Field(
        default_factory=list,
        max_length=32,
        description="Conditions in the status.",
        json_schema_extra=keyed("type"),
    )


class Resync(Model):
    """When work items are looked at again although nothing changed."""

    exactly_one: ClassVar = (("interval", "schedule"),)

    interval: (
        Annotated[str, Field(min_length=2, max_length=32, pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")] | None
    ) = Field(default=None, description="A duration: 1h, 90s.")
    schedule: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        default=None, description="Five fields of cron."
    )
    time_zone: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The schedule's time zone: Europe/Berlin. Default: UTC."
    )


_PERCENT = re.compile(r"(?:100|[0-9]{1,2})%")


def _percent_or_count(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**31 - 1:
        return value
    if isinstance(value, str) and _PERCENT.fullmatch(value):
        return value
    expected = "a number of objects, or a percentage like 50%"
    raise PydanticCustomError("form", "{expected}", {"expected": expected})


class Limits(Model):
    """What a rule may do at most."""

    max_resources: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Objects per work item. Default: 1000."
    )
    max_lookup_objects: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        default=None, description="Objects in all lookups of a work item. Default: 5000."
    )
    max_deletes: (
        Annotated[
            Any,
            AfterValidator(_percent_or_count),
            WithJsonSchema(
                {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="Deletes after a start or a change of the rule, as a number or percentage of what it "
        "made; above it nothing is deleted until approved. Default: 50%, at least 20.",
    )


class _Spec(Model):
    mode: Literal["Enforce", "DryRun", "Suspended"] = Field(
        default="Enforce",
        description="Enforce: do it. DryRun: only report in status what would be done. Suspended: nothing.",
    )
    on_rule_deletion: Literal["Delete", "Orphan"] = Field(
        default="Delete", description="What happens to what the rule made when the rule is deleted."
    )
    wait_for: list[Expression] = Field(
        default_factory=list,
        max_length=64,
        description="CEL conditions; while one is not true, or reads what is not there, the work item waits.",
        json_schema_extra=ATOMIC,
    )
    match_conditions: list[MatchCondition] = Field(
        default_factory=list,
        max_length=64,
        description="CEL conditions on the source; all must be true.",
        json_schema_extra=keyed("name"),
    )
    variables: list[Variable] = Field(
        default_factory=list,
        max_length=256,
        description="Named CEL values, evaluated when they are read, once per look at a source.",
        json_schema_extra=keyed("name"),
    )
    apply_policy: ApplyPolicy | None = Field(
        default=None, description="Defaults for every resource of this rule."
    )
    source_status: SourceStatus | None = Field(
        default=None, description="What is written to the source's /status."
    )
    resync: Resync | None = Field(
        default=None, description="When to look again although nothing changed. Rarely needed."
    )
    limits: Limits | None = Field(default=None, description="What the rule may do at most.")
    watches: list[Watch] = Field(
        default_factory=list,
        max_length=16,
        description="Other kinds whose events wake work items. Lookups and resources need none.",
        json_schema_extra=ATOMIC,
    )


_FOR = Field(
    default=None,
    alias="for",
    description="The source: which objects the rule is about. Without it the rule has one single work item.",
)
_LOOKUPS: Any = Field(
    default_factory=list,
    max_length=64,
    description="Other objects that expressions can read.",
    json_schema_extra=keyed("name"),
)
_RESOURCES: Any = Field(
    default_factory=list,
    max_length=256,
    description="What shall be there for every source.",
    json_schema_extra=keyed("name"),
)


class RuleSpec(_Spec):
    """What the rule is about and what it makes, within its own namespace."""

    service_account_name: ServiceAccountName | None = Field(
        default=None,
        description="The ServiceAccount, in the rule's namespace, that the rule acts as. Default: default.",
    )
    for_: Source | None = _FOR
    lookups: list[Lookup] = _LOOKUPS
    resources: list[Resource] = _RESOURCES


class ClusterRuleSpec(_Spec):
    """What the rule is about and what it makes."""

    service_account_ref: ServiceAccountRef | None = Field(
        default=None, description="The ServiceAccount that the rule acts as. Default: the engine's own."
    )
    for_: ClusterSource | None = _FOR
    lookups: list[ClusterLookup] = _LOOKUPS
    resources: list[ClusterResource] = _RESOURCES
