"""Why a step went as it did: what the rules say of themselves, and what each work item waits for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rulesengine import api, runtime
from rulesengine.client import APIError, Client
from rulesengine.core.clock import Clock
from rulesengine.core.errors import FindingsError, RulesEngineError
from rulesengine.core.json import Object
from rulesengine.reconcile.plan import Held
from rulesengine.runtime import RuleForecast
from rulesengine.testing.compare import named


async def reasons(connection: Client, rules: Sequence[Object], clock: Clock) -> list[str]:
    """Lines for people. Values of objects stand in none of them."""
    lines: list[str] = []
    models = []
    for rule in rules:
        lines += list(_status(rule))
        try:
            models.append(api.rule_from_object(rule))
        except FindingsError as error:
            lines += [f"{named(rule)}: {f.code}: {f.message} ({f.path})" for f in error.findings]
    try:
        forecasts = await runtime.forecast(connection, models, runtime.Settings(), clock)
    except FindingsError as error:
        return lines + [f"{f.code}: {f.message} ({f.path})" for f in error.findings]
    except (APIError, RulesEngineError) as error:
        return [*lines, f"what it would do now cannot be said: {error}"]
    return lines + [line for forecast in forecasts for line in _forecast(forecast)]


def _status(rule: Object) -> Iterator[str]:
    status = rule.get("status")
    status = status if isinstance(status, dict) else {}
    shown = ("matched", "converged", "waiting", "failed", "pendingDeletes")
    counts = ", ".join(f"{name} {status[name]}" for name in shown if status.get(name))
    yield f"{named(rule)}: {counts or 'nothing matched'}"
    for condition in status.get("conditions") or ():
        good = "True" if condition.get("type") in ("Accepted", "Ready") else "False"
        if condition.get("status") != good:
            words = [condition.get(name) for name in ("type", "status", "reason", "message")]
            yield f"  {words[0]}={words[1]} {words[2]}: {words[3]}"
    for failure in status.get("failures") or ():
        words = [str(failure.get(name, "")) for name in ("source", "resource", "reason", "message")]
        yield f"  {words[0]} {words[1]}: {words[2]}: {words[3]}"


def _forecast(rule: RuleForecast) -> Iterator[str]:
    for source in rule.sources:
        plan = source.result.plan
        about = "/".join(part for part in (source.request.namespace, source.request.name) if part)
        if plan.matched is False:
            yield f"  {about}: not matched"
        for unknown in plan.unknowns:
            yield f"  {about} {unknown.entry}: unknown: {unknown.reason.word}: {unknown.message}"
        for wait in plan.waits:
            yield f"  {about} {wait.entry}: waits for {wait.on}"
        for done in source.result.done:
            if isinstance(done.outcome, Held):
                yield f"  {about} {done.entry}: waits for {done.outcome.on}"
        for preview in source.previews:
            why = f": {preview.reason.word}: {preview.message}" if preview.reason else ""
            yield f"  {about} {preview.entry}: would {preview.operation} {preview.key}{why}"
