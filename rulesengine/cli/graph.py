"""`rulesengine graph`: what rules read and write, the order between resources, and loops."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rulesengine import api
from rulesengine.cli.check import offline
from rulesengine.cli.drawings import as_dot, as_mermaid, as_text
from rulesengine.cli.files import texts
from rulesengine.cli.relations import relations
from rulesengine.cli.svg import as_svg
from rulesengine.compiler import compile_rule
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.findings import Finding

FORMS = {"text": as_text, "mermaid": as_mermaid, "dot": as_dot, "svg": as_svg}


def draw(names: Sequence[str], form: str, schema_files: Sequence[str]) -> int:
    """Prints the graph; 1 when there is a loop. Raises FindingsError for rules that are no good."""
    models: list[api.RuleModel] = []
    findings: list[Finding] = []
    for name, text in texts(names):
        found, problems = api.rules_from(text, name)
        models += found
        findings += problems
    schemas, resources = offline(schema_files)
    compiled = []
    for model in models:
        try:
            compiled.append((model, compile_rule(model, schemas=schemas, resources=resources)))
        except FindingsError as error:
            findings += error.findings
    if findings:
        raise FindingsError(findings)
    if not compiled:
        raise UsageError("no rules in what was given: expected documents of kind ClusterRule or Rule")
    found_relations = relations(compiled)
    sys.stdout.write(FORMS[form](found_relations))
    if found_relations.loops and form != "text":
        for loop in found_relations.loops:
            print(f"loop: {' → '.join((*loop, loop[0]))}", file=sys.stderr)
    return 1 if found_relations.loops else 0
