"""`rulesengine install`: everything to run an engine in a cluster, printed, or written as a Kustomize
base or a Helm chart.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rulesengine import __version__, api
from rulesengine.cli.check import cluster_kinds, offline
from rulesengine.cli.files import texts
from rulesengine.cli.manifests import NAME, Options, manifests
from rulesengine.cli.roles import Resources
from rulesengine.compiler import compile_rule
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.findings import Finding
from rulesengine.core.json import Object

# what stands in a chart until Helm fills it in; nothing else in the objects looks like it
_SPACE, _IMAGE, _REPLICAS = (
    "rulesengine-fill-namespace",
    "rulesengine-fill-image",
    "rulesengine-fill-replicas",
)
_FILLED = {
    _SPACE: "{{ .Release.Namespace }}",
    _IMAGE: "{{ .Values.image }}",
    _REPLICAS: "{{ .Values.replicas }}",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line said."""

    files: tuple[str, ...]
    namespace: str
    image: str
    replicas: int
    schemas: tuple[str, ...]
    cluster: tuple[Path | None, str | None] | None
    kustomize: Path | None
    helm: Path | None


def install(wish: Wish) -> int:
    """Prints or writes; 0. Raises FindingsError for rules that are wrong, UsageError for unknown kinds."""
    rules, resources = _compiled(wish)
    options = Options(wish.namespace, wish.image, wish.replicas)
    try:
        found = list(manifests(options, rules, resources))
        charted = list(manifests(Options(_SPACE, _IMAGE, _REPLICAS), rules, resources))
    except KeyError as error:
        message = (
            f"kind {error.args[0]} is not known: give its CRD with --schemas, or a cluster with --context"
        )
        raise UsageError(message) from error
    if wish.kustomize is not None:
        _write_kustomize(wish.kustomize, found, wish.namespace)
    if wish.helm is not None:
        _write_chart(wish.helm, charted, wish)
    if wish.kustomize is None and wish.helm is None:
        sys.stdout.write("---\n".join(api.dump(body) for body in found))
    return 0


def _compiled(wish: Wish) -> tuple[list[CompiledRule], Resources]:
    models = []
    findings: list[Finding] = []
    for name, text in texts(wish.files):
        more, problems = api.rules_from(text, name)
        models += more
        findings += problems
    known = offline(wish.schemas)
    if wish.cluster is not None:
        known = asyncio.run(cluster_kinds(models, known, *wish.cluster))
    rules = []
    for model in models:
        try:
            rules.append(compile_rule(model, schemas=known[0], resources=known[1]))
        except FindingsError as error:
            findings += error.findings
    if findings:
        raise FindingsError(findings)
    return rules, known[1]


def _write_kustomize(folder: Path, found: Sequence[Object], namespace: str) -> None:
    names = _write(folder, found)
    base: Object = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    (folder / "kustomization.yaml").write_text(
        api.dump(base | {"namespace": namespace, "resources": names}), encoding="utf-8"
    )


def _write_chart(folder: Path, found: Sequence[Object], wish: Wish) -> None:
    """CRDs go to `crds/`, which Helm applies first and never removes; the namespace is the release's."""
    definitions = [body for body in found if body["kind"] == "CustomResourceDefinition"]
    others = [body for body in found if body["kind"] not in ("CustomResourceDefinition", "Namespace")]
    _write(folder / "crds", definitions)
    for name in _write(folder / "templates", others):
        path = folder / "templates" / name
        text = path.read_text(encoding="utf-8")
        for mark, value in _FILLED.items():
            text = text.replace(mark, value)
        path.write_text(text, encoding="utf-8")
    chart: Object = {"apiVersion": "v2", "name": NAME, "version": __version__, "appVersion": __version__}
    chart |= {"type": "application", "description": "Declarative reconcile rules for Kubernetes"}
    (folder / "Chart.yaml").write_text(api.dump(chart), encoding="utf-8")
    values: Object = {"image": wish.image, "replicas": wish.replicas}
    (folder / "values.yaml").write_text(api.dump(values), encoding="utf-8")


def _write(folder: Path, found: Sequence[Object]) -> list[str]:
    """One file for each object; files of before that are ours in form and not among them go."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for body in found:
        space = body["metadata"].get("namespace", "")
        prefix = f"{space}." if body["kind"] in ("Role", "RoleBinding") and space not in ("", _SPACE) else ""
        name = f"{body['kind'].lower()}.{prefix}{body['metadata']['name']}.yaml"
        if body["kind"] == "Namespace":
            name = "namespace.yaml"
        (folder / name).write_text(api.dump(body), encoding="utf-8")
        names.append(name)
    for left in folder.glob("*.*.yaml"):
        if left.name not in names:
            left.unlink()
    return names
