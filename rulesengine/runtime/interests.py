"""What of the cluster a rule has to see, as interests of the cache. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rulesengine.cache import Interest
from rulesengine.compiler.rule import CompiledRule, Expression, Template
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.runtime.routing import NamespaceRoute, source_paths

NAMESPACE_KIND = GroupVersionKind("", "v1", "Namespace")


def source_interest(rule: CompiledRule) -> Interest | None:
    """The source's kind with the fields that are read. Label selectors are not pushed to the
    server: an object that is no longer selected must be seen as such and not as gone.
    """
    if rule.source is None:
        return None
    return Interest(
        rule.source.gvk,
        "source",
        fields=source_paths(rule),
        field_selector=rule.source.field_selector,
        namespaces=_reach(rule, rule.source.namespaces),
    )


def namespace_interest(rule: CompiledRule) -> Interest | None:
    """Namespaces, where the rule selects by them or reads them."""
    route = NamespaceRoute.of(rule)
    return Interest(NAMESPACE_KIND, "source", fields=route.paths) if route is not None else None


def target_interests(
    rule: CompiledRule, written: Iterable[GroupKind], version: Callable[[GroupKind], GroupVersionKind | None]
) -> list[Interest]:
    """The kinds it makes, and those it once made objects of. `version` None: not served at all."""
    kinds = dict.fromkeys(rule.target_kinds)
    made = {gvk.group_kind for gvk in kinds}
    for kind in sorted(set(written) - made):
        if (gvk := version(kind)) is not None:
            kinds[gvk] = None
    reach = _reach(rule, None)
    return [Interest(gvk, "target", namespaces=reach) for gvk in kinds]


def wanted_interests(
    rule: CompiledRule, written: Iterable[GroupKind], version: Callable[[GroupKind], GroupVersionKind | None]
) -> list[Interest]:
    """All that a rule needs to be at work."""
    wanted = target_interests(rule, written, version)
    return wanted + [i for i in (source_interest(rule), namespace_interest(rule)) if i is not None]


def reads_own(rule: CompiledRule) -> bool:
    """Whether an expression of the rule reads what the rule makes: then a write may change the plan."""
    own = ("resources", "ready")
    return any(path[:1] and path[0] in own for code in _code(rule) for path in code.reads)


def _code(rule: CompiledRule) -> Iterator[Expression | Template]:
    yield from (condition.expression for condition in rule.match_conditions)
    yield from rule.variables.values()
    for resource in rule.resources:
        yield resource.template
        yield from resource.include_when
        yield from resource.ready_when
    if rule.source_status is not None:
        yield from rule.source_status.value.values()
        for condition in rule.source_status.conditions:
            yield from (condition.status, condition.reason, condition.message)


def _reach(rule: CompiledRule, namespaces: frozenset[str] | None) -> frozenset[str] | None:
    """A Rule sees its own namespace only."""
    return frozenset({rule.key.namespace}) if rule.key.kind == "Rule" else namespaces
