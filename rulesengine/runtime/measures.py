"""What became of work, counted as plain numbers; `metrics.py` shows them.

A count costs a fraction of a microsecond, so nothing here is switched off or sampled. What is
counted for a rule goes when the rule goes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from rulesengine.client import Requests
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.keys import RuleKey
from rulesengine.core.measure import Histogram
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Failed,
    Held,
    Released,
    Result,
    Unchanged,
    Updated,
)


class Again(Protocol):
    """passes.Again."""

    @property
    def after(self) -> float | None: ...
    @property
    def failed(self) -> bool: ...


class Records(Protocol):
    """apply.Recorder."""

    def record(self, subject: CompiledRule, result: Result) -> None: ...


@dataclass(slots=True)
class RuleMeasures:
    """Of one rule. `writes` by kind and operation, `noops` by the step that knew, the rest by reason."""

    results: Counter[str] = field(default_factory=Counter)
    time: Histogram = field(default_factory=Histogram)
    writes: Counter[tuple[str, str]] = field(default_factory=Counter)
    noops: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def count(self, result: Result) -> None:
        """Takes what became of a pass."""
        for done in result.done:
            match done.outcome:
                case Unchanged(step):
                    self.noops[step] += 1
                case Created():
                    self.writes[str(done.gvk.group_kind), "create"] += 1
                case Updated():
                    self.writes[str(done.gvk.group_kind), "update"] += 1
                case Deleted():
                    self.writes[str(done.gvk.group_kind), "delete"] += 1
                case Released():
                    self.writes[str(done.gvk.group_kind), "release"] += 1
                case Held(reason):
                    self.waits[reason.word] += 1
                case Failed(reason):
                    self.failures[reason.word] += 1
        for wait in result.plan.waits:
            self.waits[wait.reason.word] += 1
        for unknown in result.plan.unknowns:
            self.failures[unknown.reason.word] += 1


class Measures:
    """Of all rules, and of the requests. `wrap` makes a recorder that counts before it records."""

    def __init__(self) -> None:
        self.rules: dict[RuleKey, RuleMeasures] = {}
        self.requests = Requests()

    def of(self, key: RuleKey) -> RuleMeasures:
        found = self.rules.get(key)
        if found is None:
            found = self.rules[key] = RuleMeasures()
        return found

    def passed(self, key: RuleKey, seconds: float, again: Again) -> None:
        """A pass is over. The words for its result are controller-runtime's."""
        measures = self.of(key)
        measures.time.observe(seconds)
        word = "error" if again.failed else "requeue_after" if again.after is not None else "success"
        measures.results[word] += 1

    def forget(self, key: RuleKey) -> None:
        self.rules.pop(key, None)

    def wrap(self, recorder: Records) -> Records:
        return _Counting(recorder, self)


@dataclass(frozen=True, slots=True)
class _Counting:
    recorder: Records
    measures: Measures

    def record(self, subject: CompiledRule, result: Result) -> None:
        self.measures.of(subject.key).count(result)
        self.recorder.record(subject, result)
