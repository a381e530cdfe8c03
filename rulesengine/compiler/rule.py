"""The compiled rule: what the passes make of a model, frozen, ready to be evaluated.

Everything that can be decided without a cluster's objects is decided here: parsed and
checked expressions, rendered templates' shapes, the order between resources, and which
fields of the source are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from rulesengine.compiler.limits import Limits
from rulesengine.compiler.schedule import Schedule
from rulesengine.core.findings import Finding
from rulesengine.core.json import Object
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupVersionKind

FieldPath = tuple[str, ...]  # ("spec", "ports", "*", "port"); "*" stands for any index or key


class Expression(Protocol):
    """A checked CEL expression.

    `evaluate` takes the values of the names (mappings may be lazy) and returns a CEL value;
    it raises EvaluationError, and lets Waiting and Excluded from lazy names through.
    `reads` are the paths it reads, from a declared name on: ("object", "spec", "size").
    """

    @property
    def text(self) -> str: ...
    @property
    def reads(self) -> frozenset[FieldPath]: ...
    def evaluate(self, names: Mapping[str, Any]) -> Any: ...


class Template(Protocol):
    """A template whose `render` yields a JSON value; raises like Expression.evaluate.

    Dropped keys (null, none, omit()) are gone already. InvalidTemplate mistakes that only
    show with values (null name, two keys that render alike) raise EvaluationError.
    """

    @property
    def reads(self) -> frozenset[FieldPath]: ...
    def render(self, names: Mapping[str, Any]) -> Object: ...


class Mode(Enum):
    ENFORCE = "Enforce"
    DRY_RUN = "DryRun"
    SUSPENDED = "Suspended"


class OnRuleDeletion(Enum):
    DELETE = "Delete"
    ORPHAN = "Orphan"


class Conflicts(Enum):
    FORCE = "Force"
    FAIL = "Fail"


class Adopt(Enum):
    NEVER = "Never"
    IF_UNOWNED = "IfUnowned"
    ALWAYS = "Always"


class Deletion(Enum):
    DELETE = "Delete"
    ORPHAN = "Orphan"


class Propagation(Enum):
    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Owner(Enum):
    AUTO = "Auto"
    CONTROLLER = "Controller"
    NONE = "None"


@dataclass(frozen=True, slots=True)
class ApplyPolicy:
    """How one resource entry is written, defaults resolved (entry over rule over default)."""

    conflicts: Conflicts = Conflicts.FORCE
    adopt: Adopt = Adopt.NEVER
    deletion: Deletion = Deletion.DELETE
    propagation: Propagation = Propagation.BACKGROUND
    owner: Owner = Owner.AUTO


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A Kubernetes label selector, compiled. Empty selects everything."""

    labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[tuple[str, str, tuple[str, ...]], ...] = ()  # (key, operator, values)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether `labels` are selected; operators In, NotIn, Exists, DoesNotExist."""
        for key, value in self.labels:
            if labels.get(key) != value:
                return False
        for key, operator, values in self.expressions:
            found = labels.get(key)
            selected = {
                "In": found is not None and found in values,
                "NotIn": found is None or found not in values,
                "Exists": found is not None,
                "DoesNotExist": found is None,
            }[operator]
            if not selected:
                return False
        return True

    def query(self) -> str:
        """As the API server's labelSelector parameter; "" selects everything."""
        parts = [f"{key}={value}" for key, value in self.labels]
        for key, operator, values in self.expressions:
            listed = ",".join(values)
            parts.append(
                {
                    "In": f"{key} in ({listed})",
                    "NotIn": f"{key} notin ({listed})",
                    "Exists": key,
                    "DoesNotExist": f"!{key}",
                }[operator]
            )
        return ",".join(parts)


@dataclass(frozen=True, slots=True)
class Source:
    """`spec.for`, compiled."""

    gvk: GroupVersionKind
    selector: LabelSelector = LabelSelector()
    namespace_selector: LabelSelector | None = None
    namespaces: frozenset[str] | None = None  # None: every one
    field_selector: str = ""
    system_namespaces: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A named predicate of matchConditions."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Resource:
    """One entry of `spec.resources` that is a template.

    `waits_on` are the entries whose fields it reads (they come first), `gvk` its literal
    kind. `ready_when` empty: the usual health of the kind. `hidden` are the fields with values
    that come from Secrets.
    """

    name: str
    gvk: GroupVersionKind
    template: Template
    include_when: tuple[Expression, ...] = ()
    ready_when: tuple[Expression, ...] = ()
    waits_on: frozenset[str] = frozenset()
    policy: ApplyPolicy = ApplyPolicy()
    hidden: frozenset[FieldPath] = frozenset()


@dataclass(frozen=True, slots=True)
class StatusCondition:
    """One entry of sourceStatus.conditions; the three templates yield text (status: bool or text)."""

    type: str
    status: Template
    reason: Template
    message: Template


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """`value`: one template per top-level field, so that each waits or fails alone."""

    value: Mapping[str, Template]
    conditions: tuple[StatusCondition, ...]
    hidden: bool = False  # values in it come from Secrets


_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One generation of a rule.

    `resources` are in dependency order. `source_reads` are the paths of the source that
    anything here reads, without "object"; () alone means the whole object.
    `digest` is equal for equal specs.
    """

    key: RuleKey
    uid: str
    generation: int
    mode: Mode
    on_rule_deletion: OnRuleDeletion
    source: Source | None
    match_conditions: tuple[Condition, ...]
    variables: Mapping[str, Expression]
    resources: tuple[Resource, ...]
    source_status: SourceStatus | None
    source_reads: frozenset[FieldPath]
    reads_namespace: bool
    reads_now: bool
    metadata: Object  # the value of name `rule`'s metadata
    digest: bytes
    warnings: tuple[Finding, ...] = field(default=())
    resync: Schedule | None = None
    limits: Limits = field(default=_LIMITS)

    @property
    def target_kinds(self) -> tuple[GroupVersionKind, ...]:
        """The kinds its templates make, each once, in order."""
        return tuple(dict.fromkeys(resource.gvk for resource in self.resources))
