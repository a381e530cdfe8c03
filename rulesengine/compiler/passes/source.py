"""`spec.for` to a source, the kinds of the entries, and from both the names of expressions."""

from __future__ import annotations

from typing import Any

from rulesengine.api import Path
from rulesengine.compiler import names
from rulesengine.compiler.draft import Draft, Entry
from rulesengine.compiler.rule import LabelSelector, Source
from rulesengine.core.kinds import GroupVersionKind

FOR: Path = ("spec", "for")


def run(draft: Draft) -> None:
    """Fills `source`, `names`, and one entry per template with a literal kind."""
    spec = draft.model.spec
    if spec.for_ is not None:
        draft.source = _source(draft, spec.for_)
    for index, resource in enumerate(spec.resources):
        template = resource.template or {}
        version, kind = template.get("apiVersion"), template.get("kind")
        gvk = GroupVersionKind("", "", "")
        if isinstance(version, str) and isinstance(kind, str) and "$" not in version + kind:
            gvk = GroupVersionKind.parse(version, kind)
        draft.entries.append(Entry(resource.name, index, gvk))
    draft.names = names.base(draft, draft.source.gvk if draft.source else None)


def _source(draft: Draft, spec: Any) -> Source:
    gvk = GroupVersionKind.parse(spec.api_version, spec.kind)
    resource = draft.resources(gvk)
    cluster = draft.model.kind == "ClusterRule"
    namespace_selector = spec.namespace_selector if cluster else None
    namespaces = spec.namespaces if cluster else [draft.model.key.namespace]
    if resource is not None and not resource.namespaced:
        _cluster_scoped(draft, gvk, namespace_selector, namespaces)
    return Source(
        gvk=gvk,
        selector=selector(spec.selector) or LabelSelector(),
        namespace_selector=selector(namespace_selector),
        namespaces=frozenset(namespaces) if namespaces is not None else None,
        field_selector=spec.field_selector or "",
        system_namespaces=cluster and spec.system_namespaces == "Include",
    )


def _cluster_scoped(draft: Draft, gvk: GroupVersionKind, selector_: Any, namespaces: Any) -> None:
    if draft.model.kind == "Rule":
        message = f"{gvk.kind} is cluster-scoped, and a Rule stays within its own namespace"
        draft.find("RE333", message, (*FOR, "kind"), "make it a ClusterRule")
        return
    for field, value in (("namespaceSelector", selector_), ("namespaces", namespaces)):
        if value is not None:
            message = f"{gvk.kind} is cluster-scoped: {field} selects nothing"
            draft.find("RE332", message, (*FOR, field), "remove it; use selector", of_key=True)


def selector(spec: Any) -> LabelSelector | None:
    """A label selector of the models, compiled."""
    if spec is None:
        return None
    return LabelSelector(
        labels=tuple(sorted(spec.match_labels.items())),
        expressions=tuple((r.key, r.operator, tuple(r.values)) for r in spec.match_expressions),
    )
