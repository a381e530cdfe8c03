"""`spec.matchConditions`: predicates on the source that cannot see what is made for it."""

from __future__ import annotations

from rulesengine import cel
from rulesengine.compiler.draft import Code, Draft
from rulesengine.compiler.expressions import expression
from rulesengine.compiler.rule import Condition


def run(draft: Draft) -> None:
    """Fills `conditions`."""
    for index, condition in enumerate(draft.model.spec.match_conditions):
        path = ("spec", "matchConditions", index, "expression")
        code = expression(draft, condition.expression, path, draft.names, expect=cel.types.BOOL)
        if code is not None:
            _check(draft, code)
            draft.conditions.append((Condition(condition.name, code.program), code))


def _check(draft: Draft, code: Code) -> None:
    for root in ("resources", "ready"):
        direct = any(path[0] == root for path in code.program.reads)
        if not direct and not any(path[0] == root for path in draft.reads(code.program)):
            continue
        how = "reads" if direct else "uses a variable that reads"
        hint = "move it to includeWhen of the entries that it is about"
        draft.find("RE325", f"a match condition {how} {root}", code.path, hint)
