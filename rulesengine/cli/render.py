"""`rulesengine render`: what rules yield for some objects, as YAML, without a cluster.

The objects (and `--state`, what else is there) go into an API server in this process, and the
rules are evaluated there as the engine does it. Kinds that neither Kubernetes nor a CRD among
the files knows are taken as they come.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rulesengine import api, runtime
from rulesengine.cli.files import texts
from rulesengine.cli.output import print_data
from rulesengine.cli.state import holding
from rulesengine.client import APIError
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.findings import Finding
from rulesengine.core.json import Object
from rulesengine.reconcile import ANNOTATION, LABEL
from rulesengine.reconcile.plan import Plan
from rulesengine.runtime import RuleForecast

RENDERED, NOT_ALL = 0, 1
ENGINE_METADATA = ("ownerReferences", "uid")


def render_files(names: Sequence[str], objects: Sequence[str], state: Sequence[str], output: str) -> int:
    """Prints the resources; 1 where some could not be found out, which is said on standard error."""
    models: list[api.RuleModel] = []
    findings: list[Finding] = []
    for name, text in texts(names):
        found, problems = api.rules_from(text, name)
        models += found
        findings += problems
    if findings:
        raise FindingsError(findings)
    if not models:
        raise UsageError("no rules in what was given: expected documents of kind ClusterRule or Rule")
    wanted = {_about(body) for name, text in texts(objects) for body in api.load_objects(text, name)}
    forecasts = asyncio.run(_forecasts(models, (*state, *objects)))
    plans = [(f, s.result.plan) for f in forecasts for s in f.sources if _concerns(s.result.plan, wanted)]
    rendered = [item for forecast, plan in plans for item in _rendered(forecast, plan)]
    if output == "text":
        sys.stdout.write("---\n".join(_document(item) for item in rendered))
    else:
        print_data(rendered, output)
    told = list(_told(forecasts, plans))
    for line in told:
        print(line, file=sys.stderr)
    unknown = any(forecast.blocked for forecast in forecasts) or any(plan.unknowns for _, plan in plans)
    return NOT_ALL if unknown else RENDERED


def _about(body: Object) -> tuple[str, str]:
    meta = body.get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def _concerns(plan: Plan, wanted: set[tuple[str, str]]) -> bool:
    """Whether a work item is about one of the objects; a rule without a source is about them all."""
    space, name = plan.request.namespace, plan.request.name
    found = {(space, name), ("" if space == "default" else space, name)}
    return not name or bool(wanted & found)


async def _forecasts(models: Sequence[api.RuleModel], files: Sequence[str]) -> tuple[RuleForecast, ...]:
    async with holding(files, any_kind=True) as connection:
        try:
            return await runtime.forecast(connection, models, runtime.Settings())
        except APIError as error:
            raise UsageError(f"the objects could not be read back: {error}") from error


def _rendered(forecast: RuleForecast, plan: Plan) -> Iterator[dict[str, Any]]:
    for wanted in plan.wanted:
        yield {
            "rule": str(forecast.key),
            "source": "/".join(part for part in (plan.request.namespace, plan.request.name) if part),
            "resource": wanted.entry,
            "object": _plain(wanted.desired),
        }
    if plan.status is not None and plan.status.desired is not None:
        yield {
            "rule": str(forecast.key),
            "source": "/".join(part for part in (plan.request.namespace, plan.request.name) if part),
            "resource": "sourceStatus",
            "object": _plain(plan.status.desired),
        }


def _plain(body: Object) -> Object:
    """Without the engine's marks, and what only a real cluster knows."""
    meta = {name: value for name, value in body["metadata"].items() if name not in ENGINE_METADATA}
    for field, mark in (("annotations", ANNOTATION), ("labels", LABEL)):
        if isinstance(meta.get(field), dict):
            kept = {name: value for name, value in meta[field].items() if name != mark}
            meta.pop(field)
            meta |= {field: kept} if kept else {}
    return {**body, "metadata": meta}


def _document(item: dict[str, Any]) -> str:
    about = f" for {item['source']}" if item["source"] else ""
    return f"# {item['rule']} {item['resource']}{about}\n{api.dump(item['object'])}"


def _told(forecasts: Sequence[RuleForecast], plans: Sequence[tuple[RuleForecast, Plan]]) -> Iterator[str]:
    """What is not among the resources, and why."""
    for forecast in forecasts:
        if forecast.blocked is not None:
            yield f"{forecast.key}: {forecast.blocked.reason}: {forecast.blocked.message}"
        if not any(f is forecast for f, _ in plans):
            yield f"{forecast.key}: none of the objects is of a kind and place that it is about"
    for forecast, plan in plans:
        about = f"{forecast.key} for {plan.request.namespace}/{plan.request.name}".replace(" /", " ")
        if plan.matched is False:
            yield f"{about}: not matched"
        for wait in plan.waits:
            yield f"{about}: {wait.entry or 'all of it'} waits for {wait.on}"
        for unknown in plan.unknowns:
            yield f"{about}: {unknown.entry}: {unknown.reason.word}: {unknown.message}".replace(": : ", ": ")
