"""`spec.sourceStatus`: one template per field, so that each waits or fails for itself."""

from __future__ import annotations

from rulesengine.api import Path
from rulesengine.compiler import static
from rulesengine.compiler.draft import Draft
from rulesengine.compiler.nodes import Broken, Constant, Node
from rulesengine.compiler.render import Rendered, template
from rulesengine.compiler.rule import SourceStatus, StatusCondition
from rulesengine.compiler.template import Parser

PATH: Path = ("spec", "sourceStatus")


def run(draft: Draft) -> None:
    """Fills `source_status`."""
    spec = draft.model.spec.source_status
    if spec is None:
        return
    parser = Parser(draft, draft.names)
    _has_status(draft)
    if spec.conditions and "conditions" in (spec.value or {}):
        path = (*PATH, "value", "conditions")
        draft.find("RE335", "sourceStatus has conditions already", path, "keep one of them", of_key=True)
    value = {}
    for field, body in (spec.value or {}).items():
        path = (*PATH, "value", field)
        node = parser.node(body, path)
        _known(draft, node, field)
        made = _made(draft, node)
        if made is not None:
            value[field] = made
    conditions = []
    for index, condition in enumerate(spec.conditions):
        here: Path = (*PATH, "conditions", index)
        texts = (("status", condition.status), ("reason", condition.reason), ("message", condition.message))
        parts = [_made(draft, parser.node(text, (*here, part))) for part, text in texts]
        status, reason, message = (part or template(Constant("", here)) for part in parts)
        conditions.append(StatusCondition(condition.type, status, reason, message))
    draft.status_codes = parser.codes
    draft.source_status = SourceStatus(value, tuple(conditions))


def _made(draft: Draft, node: Node | None) -> Rendered | None:
    if node is None or draft.errors:
        return None
    return template(node)


def _known(draft: Draft, node: Node | None, field: str) -> None:
    schema = draft.schemas(draft.source.gvk) if draft.source is not None else None
    status = schema.child("status") if schema is not None else None
    if node is None or isinstance(node, Broken) or status is None:
        return
    static.check_field(draft, node, status, field, (*PATH, "value"))


def _has_status(draft: Draft) -> None:
    resource = draft.resources(draft.source.gvk) if draft.source is not None else None
    if resource is not None and "status" not in resource.subresources:
        draft.find("RE334", f"{resource.gvk.kind} has no /status", PATH, "remove sourceStatus", of_key=True)
