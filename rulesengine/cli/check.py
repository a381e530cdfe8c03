"""`rulesengine check`: everything that can be known about rules before they meet a cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rulesengine import api, client, schema
from rulesengine.cli.files import texts
from rulesengine.compiler import compile_rule
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.findings import Finding, Severity
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.schema import builtin, structural

Schemas = Callable[[GroupVersionKind], "schema.Schema | None"]
Resources = Callable[[GroupVersionKind], ResourceType | None]
Cluster = tuple[Path | None, str | None]


def check_files(
    names: Sequence[str], output: str, cluster: Cluster | None, schema_files: Sequence[str]
) -> int:
    """Prints every finding; 0 when there is none that refuses a rule, else 1."""
    models: list[Any] = []
    findings: list[Finding] = []
    for name, text in texts(names):
        found, problems = api.rules_from(text, name)
        models += found
        findings += problems
    if not models and not findings:
        raise UsageError("no rules in what was given: expected documents of kind ClusterRule or Rule")
    known = offline(schema_files)
    if cluster is not None:
        known = asyncio.run(cluster_kinds(models, known, *cluster))
    for model in models:
        try:
            rule = compile_rule(model, schemas=known[0], resources=known[1])
            findings += rule.warnings
        except FindingsError as error:
            findings += error.findings
    _show(findings, output, len(models))
    return 1 if any(f.severity is Severity.ERROR for f in findings) else 0


def offline(files: Sequence[str]) -> tuple[Schemas, Resources]:
    """Kinds of Kubernetes itself, and of the CRDs in `files`. Other kinds are not known."""
    custom: dict[GroupVersionKind, schema.Schema] = {}
    served: dict[GroupVersionKind, ResourceType] = {}
    for name, text in texts(files):
        for body in api.load_objects(text, name):
            if body.get("kind") == "CustomResourceDefinition":
                custom |= structural.kinds(body)
                served |= {gvk: _resource(gvk, body) for gvk in structural.kinds(body)}
    known = {resource.gvk: resource for resource in builtin.resources()}
    return (
        lambda gvk: custom.get(gvk) or builtin.schema(gvk),
        lambda gvk: served.get(gvk) or known.get(gvk),
    )


def _resource(gvk: GroupVersionKind, crd: Object) -> ResourceType:
    spec = crd.get("spec", {})
    plural = str(spec.get("names", {}).get("plural", ""))
    versions: list[Object] = spec.get("versions") or []
    version = next((v for v in versions if v.get("name") == gvk.version), {})
    below = frozenset(version.get("subresources") or ())
    return ResourceType(gvk, plural, namespaced=spec.get("scope") == "Namespaced", subresources=below)


async def cluster_kinds(
    models: Sequence[Any], offline: tuple[Schemas, Resources], kubeconfig: Path | None, context: str | None
) -> tuple[Schemas, Resources]:
    """The cluster's own kinds and schemas, for the kinds that the rules name."""
    from rulesengine.runtime.rule_object import named_kinds  # noqa: PLC0415 - offline checks load no engine

    connection = await client.connect(kubeconfig=kubeconfig, context=context)
    try:
        discovery, openapi = client.Discovery(connection), client.OpenAPI(connection)
        specs = [model.spec.model_dump(mode="json", by_alias=True) for model in models]
        for gvk in {gvk for spec in specs for gvk in named_kinds({"spec": spec})}:
            if await discovery.resource(gvk) is not None:
                await openapi.schema(gvk)
        return lambda gvk: openapi.known(gvk) or offline[0](gvk), discovery.known
    finally:
        await connection.close()


def _show(findings: Sequence[Finding], output: str, rules: int) -> None:
    if output == "text":
        for finding in findings:
            print(finding.render(), file=sys.stderr)
        count = len(findings)
        sys.stdout.write(f"{rules} rules, {count} findings\n" if count else f"{rules} rules, no findings\n")
        return
    listed = [
        {
            "code": f.code,
            "severity": f.severity.value,
            "message": f.message,
            "path": f.path,
            **({"file": f.span.file, "line": f.span.line, "column": f.span.column} if f.span else {}),
            **({"hint": f.hint} if f.hint else {}),
        }
        for f in findings
    ]
    from rulesengine.cli.output import print_data  # noqa: PLC0415

    print_data({"rules": rules, "findings": listed}, output)
