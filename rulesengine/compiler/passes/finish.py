"""The last step: a draft without errors becomes the frozen rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rulesengine.compiler.draft import Draft
from rulesengine.compiler.limits import Limits
from rulesengine.compiler.rule import CompiledRule, Mode, OnRuleDeletion
from rulesengine.core import json
from rulesengine.core.json import Object

_CHURNING = {"managedFields", "resourceVersion"}  # change with every write of a status


def finish(draft: Draft) -> CompiledRule:
    """The compiled rule of a draft that has no errors."""
    model = draft.model
    metadata: Object = {k: v for k, v in model.raw_metadata.items() if k not in _CHURNING}
    if model.key.namespace:
        metadata["namespace"] = model.key.namespace
    return CompiledRule(
        key=model.key,
        uid=model.uid,
        generation=model.generation,
        mode=Mode(model.spec.mode),
        on_rule_deletion=OnRuleDeletion(model.spec.on_rule_deletion),
        source=draft.source,
        match_conditions=tuple(condition for condition, _ in draft.conditions),
        variables={name: code.program for name, code in draft.variables.items()},
        resources=draft.ordered,
        source_status=draft.source_status and replace(draft.source_status, hidden=draft.status_hidden),
        source_reads=draft.source_reads,
        reads_namespace=draft.reads_namespace,
        reads_now=draft.reads_now,
        metadata=metadata,
        digest=json.digest(model.spec.model_dump(mode="json", by_alias=True)),
        warnings=tuple(draft.findings),
        resync=draft.resync,
        limits=_limits(model.spec.limits),
    )


def _limits(spec: Any) -> Limits:
    if spec is None:
        return Limits()
    return Limits.of(spec.max_resources, spec.max_lookup_objects, spec.max_deletes)
