"""Why an object is as it is, told by the engine that is at work: for people, as JSON.

Names, states and reasons only, never values of objects. The plan is made anew, which sends
nothing and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rulesengine.core.errors import UsageError
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey, Request, RuleKey
from rulesengine.reconcile.plan import Plan
from rulesengine.runtime.controller import Controller, State
from rulesengine.runtime.passes import where

if TYPE_CHECKING:
    from rulesengine.runtime.engine import Engine

FORM = "rule=clusterrule/NAME or rule=rule/NAMESPACE/NAME, and object=NAMESPACE/NAME or object=NAME"


def parse_rule(text: str) -> RuleKey:
    """From clusterrule/NAME or rule/NAMESPACE/NAME; raises UsageError for any other form."""
    match text.split("/"):
        case ["clusterrule", name] if name:
            return RuleKey("ClusterRule", "", name)
        case ["rule", namespace, name] if namespace and name:
            return RuleKey("Rule", namespace, name)
        case _:
            raise UsageError(f"expected {FORM}")


def why(engine: Engine, rule: str, source: str) -> Object:
    """What the engine knows of a rule and, with `source`, of one of its work items.

    Raises UsageError for what has no such form, KeyError for a rule that is not there.
    """
    key = parse_rule(rule)
    controller = engine.rules.controllers[key]
    found = _rule(controller)
    if source:
        namespace, _, name = source.rpartition("/")
        found["object"] = _object(engine, controller, Request(key, namespace, name))
    return found


def _rule(controller: Controller) -> Object:
    rule, blocked = controller.rule, controller.blocked()
    return {
        "rule": str(controller.key),
        "state": controller.state.value,
        "generation": rule.generation if rule is not None else None,
        "mode": rule.mode.value if rule is not None else None,
        "rejected": controller.rejected,
        "blocked": f"{blocked.reason}: {blocked.message}" if blocked is not None else "",
        "everySourceLookedAt": controller.planned,
        "counts": dict(controller.tally.counts),
        "reads": [
            {
                "kind": str(handle.gvk),
                "as": handle.interest.role,
                "phase": handle.status.phase.value,
                "why": handle.status.why,
                "objects": len(handle.store),
            }
            for handle in controller.view.handles
        ],
    }


def _object(engine: Engine, controller: Controller, request: Request) -> Object:
    state, seconds = engine.queue.state(request)
    item = controller.tally.items.get(request)
    found: Object = {
        "work": {"state": state, "seconds": round(seconds, 3), "failures": engine.queue.failures(request)},
        "waitsFor": sorted(str(key) for key in engine.waiters.of(request)),
        "last": "not looked at, or not matched",
    }
    if item is not None:
        found["last"] = item.state.value
        found["failures"] = [f"{f.resource}: {f.reason}: {f.message}".lstrip(": ") for f in item.failures]
    if controller.rule is None or controller.state not in (State.ACTIVE, State.CLEANING):
        return found | {"plan": "the rule is not at work"}
    try:
        return found | {"plan": _plan(controller.plan(request))}
    except Exception as error:  # noqa: BLE001 - its message may hold values
        return found | {"plan": f"failed unexpectedly: {type(error).__name__} at {where(error)}"}


def _plan(plan: Plan) -> Object:
    return {
        "sourceThere": plan.source is not None,
        "matched": plan.matched,
        "wanted": [
            {
                "resource": wanted.entry,
                "object": str(wanted.key),
                "there": wanted.live is not None,
                "ours": wanted.ours,
                "holder": wanted.holder,
            }
            for wanted in plan.wanted
        ],
        "unwanted": [
            {"resource": u.entry, "object": str(u.live.key), "release": u.release} for u in plan.unwanted
        ],
        "waits": [
            {"resource": w.entry, "on": w.on, "reason": w.reason.word} | _key(w.key) for w in plan.waits
        ],
        "unknown": [
            {"resource": u.entry, "reason": u.reason.word, "message": u.message} | _key(u.key)
            for u in plan.unknowns
        ],
        "mayRemove": plan.may_prune,
        "wakesAt": plan.wake_at.isoformat() if plan.wake_at is not None else None,
    }


def _key(key: ObjectKey | None) -> Object:
    return {"object": str(key)} if key is not None else {}
