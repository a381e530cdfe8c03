"""Documents and objects to rule models: the door of everything that takes rules.

A model that comes out is complete and uses only what this version has; everything that
keeps one from coming out is a finding, all at once.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from rulesengine.api.documents import Document, load, named, objects
from rulesengine.api.messages import findings_of
from rulesengine.api.models import API_VERSION, GROUP, ClusterRule, Rule, RuleModel
from rulesengine.api.nodes import MAX_DEPTH
from rulesengine.api.not_yet import written
from rulesengine.api.places import Path
from rulesengine.api.selecting import check_selectors
from rulesengine.api.shape import Locate, Walk, nearest
from rulesengine.core.errors import FindingsError
from rulesengine.core.findings import Finding, Span
from rulesengine.core.json import Json, Object

KINDS: dict[str, type[ClusterRule | Rule]] = {"ClusterRule": ClusterRule, "Rule": Rule}
_LISTS = {"ClusterRuleList", "RuleList"}


def rules_from(text: str | bytes, file: str) -> tuple[list[RuleModel], list[Finding]]:
    """The rules of a file, and what is wrong in it. Objects of other groups are passed over."""
    loaded = load(text, file)
    models: list[RuleModel] = []
    findings = list(loaded.findings)
    for document in loaded.documents:
        found, problems = objects(document)
        findings += problems
        for item in found:
            model, problems = _rule(item)
            findings += problems
            if model is not None:
                models.append(model)
    findings += _twice(models)
    return models, in_order(findings)


def rule_from_object(value: Object) -> RuleModel:
    """The model of a rule as the API server has it; raises FindingsError. Its status is not looked at."""
    if _deeper_than(MAX_DEPTH, value.get("spec")):
        raise FindingsError([Finding("RE005", f"values nest deeper than {MAX_DEPTH} levels", "spec")])
    model, findings = _checked(value, None)
    if model is None:
        raise FindingsError(findings)
    return model


def _deeper_than(limit: int, value: Json) -> bool:
    """Whether lists and mappings nest deeper; without recursion, which is what has to be kept short."""
    level = [value]
    for _ in range(limit):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def in_order(findings: list[Finding]) -> list[Finding]:
    """Findings as they stand in their files, each once; those without a place in the order they came."""

    def place(finding: Finding) -> tuple[str, int, int]:
        span = finding.span
        return (span.file, span.line, span.column) if span else ("", 0, 0)

    return sorted(dict.fromkeys(findings), key=place)


def _rule(document: Document) -> tuple[RuleModel | None, list[Finding]]:
    value = document.value
    group = value["apiVersion"].rpartition("/")[0]
    if group != GROUP and not (value["kind"] in KINDS and GROUP.split(".")[0] in group):
        return None, []
    return _checked(value, document)


def _checked(value: Json, document: Document | None) -> tuple[RuleModel | None, list[Finding]]:
    def locate(path: Path, of_key: bool) -> Span | None:
        """The place of a field, or of the nearest thing around it that is there."""
        if document is None:
            return None
        for length in range(len(path), -1, -1):
            around = path[:length]
            span = document.key(around) if of_key or length < len(path) else document.locate(around)
            if span is not None:
                return span
        return None

    if not isinstance(value, dict):
        return None, [Finding("RE010", f"expected a Kubernetes object, found {named(value)}")]
    unknown = _unknown_kind(value, locate)
    if unknown is not None:
        return None, [unknown]
    model = KINDS[value["kind"]]
    walk = Walk(locate, within_namespace=model is Rule)
    body = {name: part for name, part in value.items() if name != "status"}
    cleaned = walk.clean(model, body, ())
    findings = walk.findings + check_selectors(cleaned, locate) + _scope(model, cleaned, locate)
    try:
        rule = model.model_validate(cleaned)
    except ValidationError as error:
        return None, in_order(findings + findings_of(error, locate))
    if rule.spec.for_ is None:
        findings.append(_no_source(locate))
    if findings:
        return None, in_order(findings)
    rule.placed(document, value["metadata"])
    return rule, []


def _unknown_kind(value: dict[str, Any], locate: Locate) -> Finding | None:
    version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        shown = f"{kind[:60]!r}" if isinstance(kind, str) else named(kind)
        hint = nearest(kind, KINDS) if isinstance(kind, str) else ""
        return Finding(
            "RE111",
            f"expected kind ClusterRule or Rule, found {shown}",
            "kind",
            locate(("kind",), False),
            hint,
        )
    if version != API_VERSION:
        shown = f"{version[:60]!r}" if isinstance(version, str) else named(version)
        message = f"expected apiVersion {API_VERSION}, found {shown}"
        return Finding("RE111", message, "apiVersion", locate(("apiVersion",), False), f"write {API_VERSION}")
    return None


def _scope(model: type[ClusterRule | Rule], value: Json, locate: Locate) -> list[Finding]:
    metadata = value.get("metadata")
    if model.namespaced or not isinstance(metadata, dict) or "namespace" not in metadata:
        return []
    path: Path = ("metadata", "namespace")
    hint = "remove it, or make it a Rule"
    return [Finding("RE108", "a ClusterRule has no namespace", written(path), locate(path, True), hint)]


def _no_source(locate: Locate) -> Finding:
    message = "spec.for is missing, and rules without a source are not supported in this version"
    return Finding(
        "RE110", message, "spec.for", locate(("spec",), True), "say which objects the rule is about"
    )


def _twice(models: list[RuleModel]) -> list[Finding]:
    seen: set[Any] = set()
    findings = []
    for model in models:
        if model.key in seen:
            path: Path = ("metadata", "name")
            message = f"{model.key} stands in this file already"
            findings.append(
                Finding("RE109", message, written(path), model.locate(path), "remove one of them")
            )
        seen.add(model.key)
    return findings
