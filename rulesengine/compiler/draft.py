"""A rule on its way through the passes: the model, what is known of kinds, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rulesengine import cel
from rulesengine.api import Path, RuleModel, written
from rulesengine.compiler.rule import (
    ApplyPolicy,
    Condition,
    FieldPath,
    Resource,
    Source,
    SourceStatus,
    Template,
)
from rulesengine.compiler.schedule import Schedule
from rulesengine.core.findings import Finding, Severity
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.schema import Schema

Schemas = Callable[[GroupVersionKind], Schema | None]
Resources = Callable[[GroupVersionKind], ResourceType | None]


@dataclass(frozen=True, slots=True)
class Code:
    """One compiled expression and where it stands: field, and offset of its text in the value."""

    program: cel.Program
    path: Path
    offset: int = 0
    of_key: bool = False


@dataclass(slots=True)
class Entry:
    """One entry of spec.resources on its way. `codes` are all its expressions."""

    name: str
    index: int
    gvk: GroupVersionKind
    template: Template | None = None  # None until it is compiled
    include_when: tuple[cel.Program, ...] = ()
    codes: list[Code] = field(default_factory=list)
    waits_on: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()  # evaluated before it where that is possible
    policy: ApplyPolicy = field(default_factory=ApplyPolicy)
    hidden: frozenset[FieldPath] = frozenset()  # fields with values of Secrets


@dataclass(slots=True)
class Draft:
    """What the passes read and fill, in order. Findings are collected, none stops a pass."""

    model: RuleModel
    schemas: Schemas
    resources: Resources
    findings: list[Finding] = field(default_factory=list)
    source: Source | None = None
    names: dict[str, cel.Type] = field(default_factory=dict)
    variables: dict[str, Code] = field(default_factory=dict)
    variable_types: dict[str, cel.Type] = field(default_factory=dict)
    conditions: list[tuple[Condition, Code]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    ordered: tuple[Resource, ...] = ()
    source_status: SourceStatus | None = None
    status_codes: list[Code] = field(default_factory=list)
    status_hidden: bool = False
    closures: dict[str, frozenset[FieldPath]] = field(default_factory=dict)
    source_reads: frozenset[FieldPath] = frozenset()
    reads_namespace: bool = False
    reads_now: bool = False
    resync: Schedule | None = None

    @property
    def errors(self) -> int:
        """How many findings keep the rule from being compiled."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    def find(
        self,
        code: str,
        message: str,
        path: Path,
        hint: str = "",
        *,
        offset: int | None = None,
        length: int = 1,
        of_key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Records a finding at a field, its key, or some characters of either."""
        if offset is not None:
            span = self.model.character(path, offset, length, of_key=of_key)
        else:
            span = self.model.locate(path, of_key=of_key)
        around = path
        while span is None and around:
            around = around[:-1]
            span = self.model.locate(around, of_key=True)
        self.findings.append(Finding(code, message, written(path), span, hint, severity))

    def reads(self, program: cel.Program) -> frozenset[FieldPath]:
        """What an expression reads, variables followed: paths from object, resources and so on."""
        found: set[FieldPath] = set()
        for path in program.reads:
            if path[0] != "variables":
                found.add(path)
            elif len(path) > 1 and path[1] in self.closures:
                found |= self.closures[path[1]]
            else:
                for reads in self.closures.values():
                    found |= reads
        return frozenset(found)
