"""One pass over one work item: (rule, snapshot, request, context) → plan. Pure.

The order is: is there a source, does the rule speak of it, what shall exist, what was made
and is not wanted. Nothing is removed unless all of it is certain.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zlib import crc32

from rulesengine import cel
from rulesengine.compiler.rule import CompiledRule, OnRuleDeletion
from rulesengine.core.keys import ObjectKey, Request
from rulesengine.core.ports import Absent, Live, Snapshot, Unreadable
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.context import Context
from rulesengine.reconcile.entries import Entries, Protected
from rulesengine.reconcile.matching import NAMESPACE, No, Yes, conditions_hold, selected
from rulesengine.reconcile.names import Names
from rulesengine.reconcile.ownership import Claim
from rulesengine.reconcile.plan import Plan, SourceRef, StatusWanted, Unknown, Wait, Wanted
from rulesengine.reconcile.prune import removal
from rulesengine.reconcile.source_status import released, source_status

Made = dict[ObjectKey, tuple[Live, Claim]]


def plan(rule: CompiledRule, snapshot: Snapshot, request: Request, context: Context) -> Plan:
    """What shall be, for one source of one rule. Raises only what is a defect of the engine."""
    moments = cel.Moments(context.now)
    found = _plan(rule, snapshot, request, context, moments)
    return replace(found, wake_at=_wake(rule, found, moments))


def _wake(rule: CompiledRule, found: Plan, moments: cel.Moments) -> datetime | None:
    """When to look again although nothing happened: an answer turns with time, or it is asked for."""
    wakes = [moments.soonest]
    if rule.resync is not None and found.source is not None:
        spread = crc32(f"{rule.key}/{found.request.namespace}/{found.request.name}".encode())
        wakes.append(rule.resync.after(moments.when, spread))
    return min((wake for wake in wakes if wake is not None), default=None)


def _plan(
    rule: CompiledRule, snapshot: Snapshot, request: Request, context: Context, moments: cel.Moments
) -> Plan:
    if rule.source is None:
        raise ValueError("rules without a source are not compiled")
    gvk = rule.source.gvk
    key = ObjectKey(gvk.group, gvk.kind, request.namespace, request.name)
    made = _made(rule, snapshot, request, context, key)
    if isinstance(made, Unreadable):
        return _frozen(request, Unknown("", Reason.UNREADABLE, f"what was made cannot be read: {made.why}"))
    if rule.source.namespaces is not None and request.namespace not in rule.source.namespaces:
        return _nothing_wanted(rule, snapshot, request, context, made, None, None)
    source = snapshot.get(gvk, request.namespace, request.name)
    if isinstance(source, Unreadable):
        return _frozen(request, Unknown("", Reason.UNREADABLE, f"the source cannot be read: {source.why}"))
    if isinstance(source, Absent):
        return _nothing_wanted(rule, snapshot, request, context, made, None, source)
    reference = SourceRef(gvk, request.namespace, request.name, source.uid)
    if source.deleting:
        return Plan(request, reference, True, waits=(Wait("", "the source's deletion", Reason.TERMINATING),))
    names = _names(rule, snapshot, source, moments)
    match _matches(rule, snapshot, context, source, names):
        case No():
            return _nothing_wanted(rule, snapshot, request, context, made, (reference, source), None)
        case Wait() as wait:
            return Plan(request, reference, True, waits=(wait,))
        case Unknown() as unknown:
            return Plan(request, reference, None, unknowns=(unknown,))
        case Yes():
            return _wanted(rule, snapshot, request, context, made, reference, source, names)


def _frozen(request: Request, unknown: Unknown) -> Plan:
    return Plan(request, None, None, unknowns=(unknown,))


def _made(
    rule: CompiledRule, snapshot: Snapshot, request: Request, context: Context, source: ObjectKey
) -> Made | Unreadable:
    """What this work item provably made. Claims that do not verify are nobody's business here."""
    candidates = snapshot.made(rule.key, request.namespace, request.name)
    if isinstance(candidates, Unreadable):
        return candidates
    made: Made = {}
    for live in candidates:
        claim = context.ownership.verify(live.claim, live.key)
        if claim is not None and claim.rule == rule.key and claim.source[2:] == source[2:]:
            made[live.key] = (live, claim)
    return made


def _names(rule: CompiledRule, snapshot: Snapshot, source: Live, moments: cel.Moments) -> Names:
    whole = () in rule.source_reads

    def namespace() -> object:
        match snapshot.get(NAMESPACE, "", source.key.namespace):
            case Unreadable() | Absent():
                return None
            case found:
                return found.object()

    return Names(
        rule.variables,
        {
            "object": source.object if whole else source.fields,
            "namespaceObject": namespace,
            "rule": lambda: {"metadata": rule.metadata},
            "now": lambda: cel.present(moments),
        },
    )


def _matches(
    rule: CompiledRule, snapshot: Snapshot, context: Context, source: Live, names: Names
) -> Yes | No | Wait | Unknown:
    assert rule.source is not None
    if context.is_system(rule, source.key):
        return No("system namespace")
    claim = context.ownership.verify(source.claim, source.key) if source.claim else None
    if claim is not None and claim.rule == rule.key:
        return No("made by this rule")
    verdict = selected(rule.source, source, snapshot)
    if not isinstance(verdict, Yes):
        return verdict
    return conditions_hold(rule.match_conditions, names)


def _nothing_wanted(
    rule: CompiledRule,
    snapshot: Snapshot,
    request: Request,
    context: Context,
    made: Made,
    source: tuple[SourceRef, Live] | None,
    gone: Absent | None,
) -> Plan:
    removed = removal(rule, snapshot, context, made, (), gone)
    status = None
    if source is not None and rule.source_status is not None:
        status = released(*source, rule.key.manager)
    return Plan(
        request,
        source[0] if source else None,
        matched=False,
        unwanted=removed.unwanted,
        status=status,
        orphans=removed.restored,
        protected=removed.protected,
    )


def _wanted(
    rule: CompiledRule,
    snapshot: Snapshot,
    request: Request,
    context: Context,
    made: Made,
    reference: SourceRef,
    source: Live,
    names: Names,
) -> Plan:
    entries = Entries(rule, snapshot, context, reference, source.key, made)
    entries.attach(names)
    entries.evaluate()
    states = entries.states.values()
    wanted = tuple(state for state in states if isinstance(state, Wanted))
    unknowns = tuple(state for state in states if isinstance(state, Unknown))
    if len(wanted) > rule.limits.resources:
        message = f"{len(wanted)} objects are wanted, and limits.maxResources is {rule.limits.resources}"
        return Plan(request, reference, True, unknowns=(Unknown("", Reason.TOO_MANY, message),))
    status: StatusWanted | None = None
    if rule.source_status is not None:
        found = source_status(rule.source_status, names, reference, source, rule.key.manager, context.now)
        status, unknowns = found.wanted, unknowns + found.unknowns
    removed = removal(rule, snapshot, context, made, {item.key for item in wanted}, None)
    return Plan(
        request,
        reference,
        matched=True,
        wanted=wanted,
        unwanted=removed.unwanted,
        status=status,
        waits=tuple(state for state in states if isinstance(state, Wait)),
        unknowns=unknowns,
        orphans=removed.restored,
        protected=removed.protected + sum(isinstance(state, Protected) for state in states),
    )


def cleanup(rule: CompiledRule, snapshot: Snapshot, request: Request, context: Context) -> Plan:
    """What a rule that is being deleted leaves for one source: everything made there goes.

    With `onRuleDeletion: Orphan` all of it is released instead of deleted.
    """
    gvk = rule.source.gvk if rule.source else None
    key = (
        ObjectKey(gvk.group, gvk.kind, request.namespace, request.name) if gvk else ObjectKey("", "", "", "")
    )
    made = _made(rule, snapshot, request, context, key)
    if isinstance(made, Unreadable):
        return _frozen(request, Unknown("", Reason.UNREADABLE, f"what was made cannot be read: {made.why}"))
    removed = removal(rule, snapshot, context, made, (), None)
    unwanted = removed.unwanted
    if rule.on_rule_deletion is OnRuleDeletion.ORPHAN:
        unwanted = tuple(replace(item, release=True) for item in unwanted)
    return Plan(request, None, matched=False, unwanted=unwanted, orphans=removed.restored)
