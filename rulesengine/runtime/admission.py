"""Rules are refused when they are written, with the messages of `check`; AdmissionReview v1.

The object is shown as YAML, as `kubectl get -o yaml` would, so that a finding has its line and
caret. Whatever hinders the check lets the rule in with a warning: the engine looks at it anyway,
freezes it if it is wrong, and says so in condition Accepted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rulesengine import api
from rulesengine.client import APIError
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core import json
from rulesengine.core.errors import FindingsError, InvalidJSON
from rulesengine.core.findings import Finding, Severity
from rulesengine.core.json import Object

PATIENCE = 4.0  # seconds for a check; the server waits for 5 and is let know why it got no verdict
WARNING_LIMIT = 240  # of 256 that Kubernetes shows of one warning
SHOWN = 10  # findings in one message


class Compiling(Protocol):
    """runtime.compiling.Compiling."""

    async def prepare(self, body: Object) -> None: ...
    def compile_model(self, model: api.RuleModel) -> CompiledRule: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """`message` says why it is not allowed."""

    allowed: bool
    message: str = ""
    warnings: tuple[str, ...] = ()


class BadReview(ValueError):
    """What came is no AdmissionReview."""


class Admission:
    def __init__(self, compiling: Compiling, patience: float = PATIENCE) -> None:
        self._compiling = compiling
        self._patience = patience

    async def review(self, raw: bytes) -> bytes:
        """From one AdmissionReview to the other; raises BadReview."""
        try:
            asked = json.decode_object(raw)["request"]
            uid, body = asked["uid"], asked.get("object")
        except (InvalidJSON, KeyError, TypeError, AttributeError) as error:
            raise BadReview("expected an AdmissionReview with a request") from error
        verdict = await self.verdict(body) if isinstance(body, dict) else Verdict(allowed=True)
        response: dict[str, Any] = {"uid": uid, "allowed": verdict.allowed}
        if not verdict.allowed:
            response["status"] = {"code": 422, "reason": "Invalid", "message": verdict.message}
        if verdict.warnings:
            response["warnings"] = list(verdict.warnings)
        return json.encode(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        )

    async def verdict(self, body: Object) -> Verdict:
        """What is to be said of a rule; of one that is being deleted nothing."""
        metadata = body.get("metadata")
        if not isinstance(metadata, dict) or metadata.get("deletionTimestamp"):
            return Verdict(allowed=True)
        try:
            async with asyncio.timeout(self._patience):
                findings = await self._findings(body)
        except (APIError, TimeoutError) as error:
            why = str(error) or "it took too long"
            return Verdict(allowed=True, warnings=(_short(f"the rule was not checked: {why}"),))
        except Exception as error:  # noqa: BLE001 - a defect of the check must not keep people from their rules
            why = f"the check failed unexpectedly ({type(error).__name__})"
            return Verdict(allowed=True, warnings=(_short(why),))
        errors = [f for f in findings if f.severity is Severity.ERROR]
        warnings = tuple(_short(_line(f)) for f in findings if f.severity is not Severity.ERROR)
        return Verdict(not errors, _text(errors), warnings)

    async def _findings(self, body: Object) -> list[Finding]:
        shown = {key: value for key, value in body.items() if key != "status"}
        drop = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "generation")
        shown["metadata"] = {k: v for k, v in body["metadata"].items() if k not in drop}
        models, findings = api.rules_from(api.dump(shown), str(body["metadata"].get("name") or "rule"))
        for model in models:
            try:
                await self._compiling.prepare(body)
                findings += self._compiling.compile_model(model).warnings
            except FindingsError as error:
                findings += error.findings
        return api.in_order(findings)


def _text(errors: Sequence[Finding]) -> str:
    """As `check` prints it; it begins on a line of its own, after the server's words."""
    shown = [finding.render() for finding in errors[:SHOWN]]
    if len(errors) > SHOWN:
        shown.append(f"and {len(errors) - SHOWN} more; `rulesengine check` shows all")
    return "\n" + "\n".join(shown) if shown else ""


def _line(finding: Finding) -> str:
    hint = f"; {finding.hint}" if finding.hint else ""
    return replace(finding, span=None, hint="").render().replace("\n", " ") + hint


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WARNING_LIMIT else text[: WARNING_LIMIT - 1] + "…"
