"""A template of a whole object: what must and must not be in it, before and while rendering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulesengine.api import Path, named
from rulesengine.compiler.draft import Draft
from rulesengine.compiler.nodes import Broken, Constant, Fields, Node, Value, child
from rulesengine.compiler.render import Rendered, template
from rulesengine.core.errors import EvaluationError
from rulesengine.core.json import Json, Object

OWNED_BY_SERVER = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
FORBIDDEN = ("ownerReferences", "finalizers", "managedFields")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
OURS = "rulesengine.dev/"


def check(draft: Draft, node: Node, path: Path) -> None:
    """Findings about what keeps a template from being an object's."""
    for name in ("apiVersion", "kind"):
        _literal(draft, child(node, name), name, path)
    metadata = child(node, "metadata")
    if metadata is None:
        draft.find("RE306", "the template has no metadata", path, "add metadata with a name", of_key=True)
    elif isinstance(metadata, Constant) and not isinstance(metadata.value, dict):
        draft.find("RE310", f"expected a mapping, found {named(metadata.value)}", metadata.path)
    elif isinstance(metadata, Constant | Fields):
        _metadata(draft, metadata)
    if child(node, "aggregationRule") is not None and child(node, "rules") is not None:
        # another controller fills them in: whoever says `rules: []` takes everybody's rights away
        message = "the rules of an aggregated ClusterRole are its controller's to set"
        draft.find("RE307", message, (*path, "rules"), "remove it", of_key=True)


def _literal(draft: Draft, node: Node | None, name: str, path: Path) -> None:
    if node is None:
        draft.find("RE306", f"the template has no {name}", path, f"add {name}", of_key=True)
    elif not isinstance(node, Constant | Broken):
        draft.find("RE305", f"{name} must be literal", node.path, "write the value out")
    elif isinstance(node, Constant) and (not isinstance(node.value, str) or not node.value):
        draft.find("RE305", f"{name} must be text", node.path, "write it like v1 or ConfigMap")


def _metadata(draft: Draft, node: Constant | Fields) -> None:
    name = child(node, "name")
    if name is None:
        code, hint = ("RE306", "every template names its object")
        draft.find(code, "metadata.name is missing or null", node.path, hint, of_key=True)
    for field in ("name", "namespace"):
        found = child(node, field)
        if isinstance(found, Constant) and (not isinstance(found.value, str) or not found.value):
            draft.find("RE308", f"metadata.{field} must be text", found.path, "put it in quotes")
    if child(node, "generateName") is not None:
        path = (*node.path, "generateName")
        draft.find("RE307", "generateName makes a new object each time", path, "use name", of_key=True)
    for field in (*FORBIDDEN, *OWNED_BY_SERVER):
        if child(node, field) is not None:
            path = (*node.path, field)
            hint = "remove it; see applyPolicy.owner" if field == "ownerReferences" else "remove it"
            draft.find("RE307", f"metadata.{field} is not a template's to set", path, hint, of_key=True)
    annotations = child(node, "annotations")
    names = _keys(annotations)
    for key in names:
        if key == LAST_APPLIED or key.startswith(OURS):
            path = (*node.path, "annotations", key)
            draft.find(
                "RE307", "this annotation is kubectl's or the engine's", path, "remove it", of_key=True
            )


def _keys(node: Node | None) -> list[str]:
    match node:
        case Constant(dict() as value):
            return list(value)
        case Fields(items):
            return [key for key, _ in items if isinstance(key, str)]
        case _:
            return []


def object_template(node: Node, *, null_namespace: bool) -> Rendered:
    """The template of a checked object. `null_namespace`: a null namespace was written down."""
    inner = template(node)
    metadata = child(node, "metadata")
    namespaced = null_namespace or (metadata is not None and child(metadata, "namespace") is not None)
    copied = _copied(metadata)
    inner_render = inner.render

    def render(names: Mapping[str, Any]) -> Object:
        body: Object = dict(inner_render(names))
        found = body.get("metadata")
        if found.__class__ is not dict:
            raise EvaluationError("metadata: the template yields no mapping", reason="type")
        meta: Object = _cleaned(found) if copied else dict(found)
        body["metadata"] = meta
        name = meta.get("name")
        if name.__class__ is not str or not name:
            raise EvaluationError(f"metadata.name: {_expected(name)}", reason="type")
        if namespaced:
            namespace = meta.get("namespace")
            if namespace.__class__ is not str or not namespace:
                raise EvaluationError(f"metadata.namespace: {_expected(namespace)}", reason="type")
        return body

    return Rendered(render, inner.reads)


def _copied(metadata: Node | None) -> bool:
    """Whether fields that are not the rule's can come in with a spliced value."""
    if not isinstance(metadata, Fields):
        return not isinstance(metadata, Constant)
    dynamic_keys = any(not isinstance(key, str) for key, _ in metadata.items)
    annotations = metadata.get("annotations")
    if isinstance(annotations, Fields):
        return dynamic_keys or any(not isinstance(key, str) for key, _ in annotations.items)
    return dynamic_keys or isinstance(annotations, Value)


def _cleaned(metadata: Object) -> Object:
    unwanted = (*FORBIDDEN, *OWNED_BY_SERVER, "generateName")
    result = {key: value for key, value in metadata.items() if key not in unwanted}
    annotations = result.get("annotations")
    if isinstance(annotations, dict):
        kept = {k: v for k, v in annotations.items() if k != LAST_APPLIED and not k.startswith(OURS)}
        result["annotations"] = kept
        if not kept:
            del result["annotations"]
    labels = result.get("labels")
    if isinstance(labels, dict) and any(key.startswith(OURS) for key in labels):
        result["labels"] = {key: value for key, value in labels.items() if not key.startswith(OURS)}
    return result


def _expected(value: Json) -> str:
    return "expected text, found null" if value is None else "expected text that is not empty"
