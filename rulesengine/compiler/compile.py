"""The one entrance: a model goes through the passes and comes out frozen, or with findings."""

from __future__ import annotations

from rulesengine.api import RuleModel, in_order
from rulesengine.compiler.draft import Draft, Resources, Schemas
from rulesengine.compiler.passes import PASSES
from rulesengine.compiler.passes.finish import finish
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.errors import FindingsError


def compile_rule(model: RuleModel, *, schemas: Schemas, resources: Resources | None = None) -> CompiledRule:
    """The compiled rule; raises FindingsError with everything that is wrong, in the file's order.

    `schemas` and `resources` say what is known of kinds; None for one that is not known,
    whose fields and scope are then not checked.
    """
    draft = Draft(model, schemas, resources or (lambda _gvk: None))
    for run in PASSES:
        run(draft)
    draft.findings = in_order(draft.findings)
    if draft.errors:
        raise FindingsError(draft.findings)
    return finish(draft)
