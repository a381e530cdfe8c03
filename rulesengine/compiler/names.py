"""The names that expressions can use, with their types."""

from __future__ import annotations

from collections.abc import Mapping

from rulesengine import cel
from rulesengine.compiler.draft import Draft
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin

NAMESPACE = GroupVersionKind("", "v1", "Namespace")


def base(draft: Draft, source: GroupVersionKind | None) -> dict[str, cel.Type]:
    """object, namespaceObject, resources, ready, rule and now; variables are added as they come."""
    types = cel.types
    kinds = {entry.name: entry.gvk for entry in draft.entries}
    rule = Schema(type="object", properties={"metadata": builtin.object_meta()})
    return {
        "object": types.from_schema(_schema(draft, source)),
        "namespaceObject": types.from_schema(draft.schemas(NAMESPACE) or Schema.ANY),
        "resources": types.from_schema(
            Schema(type="object", properties={name: _schema(draft, gvk) for name, gvk in kinds.items()})
        ),
        "ready": types.map_of(types.STRING, types.BOOL),
        "rule": types.from_schema(rule),
        "now": types.TIMESTAMP,
    }


def with_variables(names: Mapping[str, cel.Type], variables: Mapping[str, cel.Type]) -> dict[str, cel.Type]:
    """The names and `variables` with those that are known so far."""
    return {**names, "variables": cel.types.record("variables", variables)}


def _schema(draft: Draft, gvk: GroupVersionKind | None) -> Schema:
    return (draft.schemas(gvk) if gvk is not None else None) or Schema.ANY
