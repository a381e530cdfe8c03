"""What would change, for people and for programs. Values that come from Secrets stay hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rulesengine import api, ssa
from rulesengine.apply import Preview
from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.json import Object
from rulesengine.core.keys import Request
from rulesengine.reconcile import ANNOTATION, item_of
from rulesengine.reconcile.plan import Held, Unchanged
from rulesengine.runtime import RuleForecast, SourceForecast

SIGNS = {"create": "+", "update": "~", "delete": "-", "release": "○", "withheld": "!"}
WORDS = {
    "create": "create",
    "update": "update",
    "delete": "delete",
    "release": "release",
    "withheld": "hold back",
}
PAST = {"create": "created", "update": "updated", "delete": "deleted", "release": "released"}


def has_changes(forecasts: Sequence[RuleForecast]) -> bool:
    return any(source.previews for rule in forecasts for source in rule.sources)


def has_failures(forecasts: Sequence[RuleForecast]) -> bool:
    """Whether something could not be found out, so that what is shown may not be all."""
    return any(rule.blocked or any(s.result.plan.unknowns for s in rule.sources) for rule in forecasts)


def as_text(forecasts: Sequence[RuleForecast]) -> str:
    """Grouped by rule and source, each change with its unified diff, and a summary line."""
    mask = ssa.Mask()
    lines: list[str] = []
    for rule in forecasts:
        if rule.blocked is not None:
            lines.append(f"{rule.key}: {rule.blocked.reason}: {rule.blocked.message}")
        for source in rule.sources:
            lines += _source(rule, source, mask)
    return "\n".join([*lines, _summary(forecasts)]) + "\n"


def _source(rule: RuleForecast, source: SourceForecast, mask: ssa.Mask) -> Iterator[str]:
    plan = source.result.plan
    held = [done for done in source.result.done if isinstance(done.outcome, Held)]
    if not (source.previews or plan.unknowns or plan.waits or held):
        return
    yield f"{rule.key} for {_name(source.request)}"
    for unknown in plan.unknowns:
        at = f" {unknown.entry}" if unknown.entry else ""
        yield f"  ? unknown{at}: {unknown.reason.word}: {unknown.message}"
    for wait in plan.waits:
        yield f"  … waits {wait.entry or 'all of it'}: for {wait.on}"
    for done in held:
        assert isinstance(done.outcome, Held)
        yield f"  … waits {done.entry}: for {done.outcome.on}"
    for preview in source.previews:
        where = f"resource {preview.entry}" if preview.entry else "no resource any more"
        note = ", computed here: the server cannot be asked yet" if preview.local else ""
        why = f": {preview.reason.word}: {preview.message}" if preview.reason else ""
        yield f"  {SIGNS[preview.operation]} {WORDS[preview.operation]} {preview.key} ({where}{note}){why}"
        yield from _unified(preview, mask).splitlines()


def _unified(preview: Preview, mask: ssa.Mask) -> str:
    before, after = _shown(preview, mask)
    return ssa.diff.unified(before, after, dump=api.dump, name=str(preview.key))


def _shown(preview: Preview, mask: ssa.Mask) -> tuple[Any, Any]:
    before, after = preview.before, preview.after
    if preview.tainted:
        before, after = mask.object(before), mask.object(after)
    if preview.hidden:
        before, after = mask.object(before, preview.hidden), mask.object(after, preview.hidden)
    return _legible(before), _legible(after)


def _legible(found: Object | None) -> Object | None:
    """Fields in the order people write them, and the engine's stamp in words."""
    if found is None:
        return None
    first: Object = {name: found[name] for name in ("apiVersion", "kind", "metadata") if name in found}
    meta = dict(first.get("metadata", {}))
    if ANNOTATION in (meta.get("annotations") or {}):
        claim = meta["annotations"][ANNOTATION]
        meta["annotations"] = {**meta["annotations"], ANNOTATION: _stamp(claim)}
        first["metadata"] = meta
    return {**first, **{name: value for name, value in found.items() if name not in first}}


def _stamp(claim: str) -> str:
    """What a claim says, for people; text that is none stays as it is."""
    try:
        body = json.decode_object(claim)
        rule, source, entry = body["rule"], body["source"], body["entry"]
        named = "/".join(part for part in source[2:4] if part)
        return f"(stamp: resource {entry} of {rule[0]} {rule[2]} for {source[1]} {named})"
    except (InvalidJSON, KeyError, TypeError, IndexError):
        return claim


def _counts(forecasts: Sequence[RuleForecast]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for source in (source for rule in forecasts for source in rule.sources):
        plan = source.result.plan
        found.update(PAST.get(preview.operation, "withheld") for preview in source.previews)
        found["unchanged"] += sum(isinstance(d.outcome, Unchanged) for d in source.result.done)
        found["waiting"] += len(plan.waits) + sum(isinstance(d.outcome, Held) for d in source.result.done)
        found["unknown"] += len(plan.unknowns)
    names = ("created", "updated", "deleted", "released", "withheld", "unchanged", "waiting", "unknown")
    return {name: found[name] for name in names}


def _summary(forecasts: Sequence[RuleForecast]) -> str:
    counts = _counts(forecasts)
    parts = [
        f"{counts['created']} to create",
        f"{counts['updated']} to update",
        f"{counts['deleted']} to delete",
    ]
    parts += [f"{counts[name]} {word}" for name, word in _RARE if counts[name]]
    return ", ".join([*parts, f"{counts['unchanged']} unchanged"])


_RARE = (
    ("released", "to release"),
    ("withheld", "held back"),
    ("waiting", "waiting"),
    ("unknown", "unknown"),
)


def _name(request: Request) -> str:
    return f"{request.namespace}/{request.name}" if request.namespace else request.name


def as_data(forecasts: Sequence[RuleForecast]) -> dict[str, Any]:
    """The same as lists and maps: `summary`, `objects`, `unknown`, `waiting`, `blocked`."""
    mask = ssa.Mask()
    objects, unknown, waiting, blocked = [], [], [], []
    for rule in forecasts:
        if rule.blocked is not None:
            blocked.append(
                {"rule": str(rule.key), "reason": rule.blocked.reason, "message": rule.blocked.message}
            )
        for source in rule.sources:
            about = {"rule": str(rule.key), "source": _name(source.request)}
            plan = source.result.plan
            objects += [about | _preview(preview, mask) for preview in source.previews]
            unknown += [
                about | {"resource": u.entry, "reason": u.reason.word, "message": u.message}
                for u in plan.unknowns
            ]
            waiting += [about | {"resource": w.entry, "on": w.on} for w in plan.waits]
            waiting += [
                about | {"resource": done.entry, "on": done.outcome.on}
                for done in source.result.done
                if isinstance(done.outcome, Held)
            ]
    found = {"objects": objects, "unknown": unknown, "waiting": waiting, "blocked": blocked}
    return {"summary": _counts(forecasts)} | found


def _preview(preview: Preview, mask: ssa.Mask) -> dict[str, Any]:
    before, after = _shown(preview, mask)
    found: dict[str, Any] = {
        "resource": preview.entry,
        "operation": preview.operation,
        "object": str(preview.key),
        "fields": list(preview.fields),
        "before": before,
        "after": after,
    }
    if preview.local:
        found["local"] = True
    if preview.reason is not None:
        found |= {"reason": preview.reason.word, "message": preview.message}
    return found


def source_states(forecast: RuleForecast) -> list[dict[str, str]]:
    """One line for each source: what state it is in, and the first thing that keeps it from being done."""
    states: list[dict[str, str]] = []
    for source in forecast.sources:
        item = item_of(source.result, dry_run=True)
        plan = source.result.plan
        state, message = item.state.value, ""
        if item.failures:
            first = item.failures[0]
            message = f"{first.resource}: {first.reason}: {first.message}".lstrip(": ")
        elif plan.waits:
            message = f"{plan.waits[0].entry or 'all of it'} waits for {plan.waits[0].on}"
        elif source.previews:
            state = "changes"
            counts = Counter(preview.operation for preview in source.previews)
            message = ", ".join(f"{count} to {WORDS[what]}" for what, count in counts.items())
        states.append(
            {"source": _name(source.request) or "(the rule itself)", "state": state, "message": message}
        )
    return states
