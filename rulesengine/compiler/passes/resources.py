"""`spec.resources`: templates, conditions and policies of every entry."""

from __future__ import annotations

from typing import Any

from rulesengine import cel
from rulesengine.api import Path
from rulesengine.compiler import static, whole
from rulesengine.compiler.draft import Draft, Entry
from rulesengine.compiler.expressions import expression
from rulesengine.compiler.nodes import Constant, Node, child
from rulesengine.compiler.rule import Adopt, ApplyPolicy, Conflicts, Deletion, Owner, Propagation
from rulesengine.compiler.template import Parser
from rulesengine.core.kinds import GroupKind

_KEPT = {
    GroupKind("", "Namespace"),
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
    GroupKind("", "PersistentVolume"),
    GroupKind("", "PersistentVolumeClaim"),
}


def run(draft: Draft) -> None:
    """Fills `entries`."""
    for entry, resource in zip(draft.entries, draft.model.spec.resources, strict=True):
        path: Path = ("spec", "resources", entry.index)
        entry.policy = _policy(draft.model.spec.apply_policy, resource.apply_policy, entry)
        entry.include_when = _conditions(draft, entry, resource.include_when, (*path, "includeWhen"))
        if resource.template is not None:
            _template(draft, entry, resource.template, (*path, "template"))


def _conditions(draft: Draft, entry: Entry, texts: list[str], path: Path) -> tuple[cel.Program, ...]:
    found = []
    for index, text in enumerate(texts):
        code = expression(draft, text, (*path, index), draft.names, expect=cel.types.BOOL)
        if code is not None:
            entry.codes.append(code)
            found.append(code.program)
    return tuple(found)


def _template(draft: Draft, entry: Entry, body: dict[str, Any], path: Path) -> None:
    parser = Parser(draft, draft.names)
    before = draft.errors
    node = parser.node(body, path)
    entry.codes += parser.codes
    assert node is not None
    whole.check(draft, node, path)
    _namespace(draft, entry, node)
    schema = draft.schemas(entry.gvk)
    if schema is not None:
        static.check(draft, node, schema)
    metadata = body.get("metadata")
    null_namespace = isinstance(metadata, dict) and "namespace" in metadata
    if draft.errors == before:
        entry.template = whole.object_template(node, null_namespace=null_namespace)


def _namespace(draft: Draft, entry: Entry, node: Node) -> None:
    """What is wrong with metadata.namespace, as far as the scopes of source and target are known."""
    metadata = child(node, "metadata")
    found = child(metadata, "namespace") if metadata is not None else None
    target = draft.resources(entry.gvk)
    path: Path = (*node.path, "metadata")
    within = draft.model.key.namespace if draft.model.kind == "Rule" else ""
    if target is not None and not target.namespaced:
        if within:
            message = f"{entry.gvk.kind} is cluster-scoped, and a Rule stays within its own namespace"
            draft.find("RE333", message, (*node.path, "kind"), "make it a ClusterRule")
        elif found is not None:
            message = f"{entry.gvk.kind} is cluster-scoped and has no namespace"
            draft.find("RE332", message, (*path, "namespace"), "remove it", of_key=True)
        return
    if within and isinstance(found, Constant) and found.value != within:
        message = f"a Rule makes objects in its own namespace {within} only"
        draft.find("RE333", message, found.path, "remove it, or make the rule a ClusterRule")
    source = draft.resources(draft.source.gvk) if draft.source is not None else None
    literal = isinstance(metadata, Constant) or (metadata is not None and child(metadata, "name") is not None)
    if target is not None and source is not None and not source.namespaced and found is None and literal:
        message = f"{entry.gvk.kind} is namespaced, and the source has no namespace to default to"
        hint = "add namespace: ${object.metadata.name}" if source.gvk.kind == "Namespace" else "add one"
        draft.find("RE331", message, path, hint, of_key=True)


def _policy(rule: Any, entry: Any, made: Entry) -> ApplyPolicy:
    """The entry's policy over the rule's over the defaults."""

    def chosen(field: str) -> str | None:
        return (getattr(entry, field) if entry else None) or (getattr(rule, field) if rule else None)

    deletion = chosen("deletion") or Deletion.DELETE.value
    if made.gvk.group_kind in _KEPT:
        # A rule-wide Delete is about the usual objects; what takes others with it is said here.
        deletion = (entry.deletion if entry else None) or Deletion.ORPHAN.value
    return ApplyPolicy(
        conflicts=Conflicts(chosen("conflicts") or "Force"),
        adopt=Adopt(chosen("adopt") or "Never"),
        deletion=Deletion(deletion),
        propagation=Propagation(chosen("propagation") or "Background"),
        owner=Owner(chosen("owner") or "Auto"),
    )
