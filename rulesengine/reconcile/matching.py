"""Whether a work item's source is one the rule speaks of: true, false, unknown, or wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rulesengine.compiler.rule import Condition, Source
from rulesengine.core.errors import EvaluationError, Excluded, Waiting
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.core.ports import Absent, Live, Snapshot, Unreadable
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Unknown, Wait

NAMESPACE = GroupVersionKind("", "v1", "Namespace")


@dataclass(frozen=True, slots=True)
class Yes:
    pass


@dataclass(frozen=True, slots=True)
class No:
    """Not matched: what was made for this source is not wanted. `why` names what said no."""

    why: str


Match: TypeAlias = Yes | No | Wait | Unknown


def selected(source: Source, live: Live, snapshot: Snapshot) -> Match:
    """Whether `for` selects `live` by namespace and labels (the kind is given)."""
    namespace = live.key.namespace
    if source.namespaces is not None and namespace not in source.namespaces:
        return No("for.namespaces")
    if not source.selector.matches(live.labels):
        return No("for.selector")
    if source.namespace_selector is None:
        return Yes()
    match snapshot.get(NAMESPACE, "", namespace):
        case Unreadable(why=why):
            return Unknown("", Reason.UNREADABLE, f"the source's namespace cannot be read: {why}")
        case Absent():
            return Wait("", f"namespace {namespace}", Reason.NAMESPACE_MISSING)
        case found:
            labels = found.labels
    return Yes() if source.namespace_selector.matches(labels) else No("for.namespaceSelector")


def conditions_hold(conditions: tuple[Condition, ...], names: Mapping[str, Any]) -> Match:
    """All of matchConditions; one that is false decides, whatever the others do."""
    undecided: Match = Yes()
    for condition in conditions:
        where = f"matchConditions {condition.name}"
        match truth(condition.expression.evaluate, names, "", where):
            case False:
                return No(where)
            case True:
                pass
            case Unknown() as unknown:
                undecided = unknown
            case Wait() as wait:
                undecided = undecided if isinstance(undecided, Unknown) else wait
    return undecided


def truth(evaluate: Any, names: Mapping[str, Any], entry: str, where: str) -> bool | Wait | Unknown:
    """A predicate's value, or what kept it from having one. Excluded entries make it false."""
    try:
        value = evaluate(names)
    except Waiting as waiting:
        return Wait(entry, waiting.on)
    except Excluded:
        return False
    except EvaluationError as error:
        return unanswered(error, entry, where)
    if value is True or value is False:
        return value
    return Unknown(entry, Reason.EVALUATION_FAILED, f"{where}: the expression yields no bool")


def unanswered(error: EvaluationError, entry: str, where: str) -> Wait | Unknown:
    """What an evaluation error means: a field of another resource that is not there yet is a wait."""
    if error.reason == "no_such_field" and error.path[:1] == ("resources",) and len(error.path) > 2:
        return Wait(entry, f"field {'.'.join(error.path[2:])} of resource {error.path[1]}")
    if error.reason == "cost":
        return Unknown(entry, Reason.COST_EXCEEDED, f"{where}: {error}")
    return Unknown(entry, Reason.EVALUATION_FAILED, f"{where}: {error}")
