"""What a work item made and no longer wants, in the order it goes.

Only what is proven by its claim is ever listed. The listing is a wish: it is carried out
only when the whole pass was certain (`Plan.may_prune`) and every write went through.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from rulesengine.compiler.rule import CompiledRule, Deletion, Propagation
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.core.ports import Absent, Live, Snapshot
from rulesengine.reconcile.context import Context
from rulesengine.reconcile.ownership import Claim, is_restored
from rulesengine.reconcile.plan import SourceRef, Unwanted

COLLECTOR_TIME = timedelta(seconds=10)  # the server's garbage collector gets this long, then we collect
ORPHAN_TIME = timedelta(minutes=5)  # for a source that was never seen: a restore may bring it back
SECRET = GroupKind("", "Secret")
KEPT_KINDS = frozenset(
    {
        GroupKind("", "Namespace"),
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
        GroupKind("", "PersistentVolume"),
        GroupKind("", "PersistentVolumeClaim"),
    }
)


@dataclass(frozen=True, slots=True)
class Removal:
    """`restored` and `protected` count what is left alone."""

    unwanted: tuple[Unwanted, ...]
    restored: int = 0
    protected: int = 0


def removal(
    rule: CompiledRule,
    snapshot: Snapshot,
    context: Context,
    made: dict[ObjectKey, tuple[Live, Claim]],
    wanted: Collection[ObjectKey],
    gone: Absent | None,
) -> Removal:
    """What of `made` goes. `gone`: the source is absent; its dependents may be the collector's."""
    order = {resource.name: index for index, resource in enumerate(rule.resources)}
    found: list[tuple[int, str, Unwanted]] = []
    restored = protected = 0
    for key, (live, claim) in made.items():
        if key in wanted or live.deleting:
            continue
        if context.is_system(rule, key):
            protected += 1
        elif is_restored(live, claim):
            restored += 1
        else:
            rank = order.get(claim.entry, len(order))
            found.append((rank, claim.at, _unwanted(rule, snapshot, context, live, claim, gone)))
    found.sort(key=lambda item: item[:2], reverse=True)
    return Removal(tuple(item for _, _, item in found), restored, protected)


def _unwanted(
    rule: CompiledRule,
    snapshot: Snapshot,
    context: Context,
    live: Live,
    claim: Claim,
    gone: Absent | None,
) -> Unwanted:
    kind = live.key.group_kind  # an entry of that name may make another kind by now
    named = (r for r in rule.resources if r.name == claim.entry and r.gvk.group_kind == kind)
    entry = next(named, None)
    keep = claim.keep or (live.key.group_kind in KEPT_KINDS and entry is None)
    release = claim.adopted or (keep if entry is None else entry.policy.deletion is Deletion.ORPHAN)
    wait_until, confirm = _patience(rule, context, live, claim, gone)
    return Unwanted(
        entry=claim.entry,
        gvk=entry.gvk if entry is not None else _served(snapshot, live.key.group_kind),
        live=live,
        manager=rule.key.manager,
        release=release,
        tainted=entry is None and _reads_secrets(rule),
        hidden=entry.hidden if entry is not None else frozenset(),
        propagation=entry.policy.propagation if entry is not None else Propagation.BACKGROUND,
        wait_until=wait_until,
        confirm_gone=confirm,
    )


def _reads_secrets(rule: CompiledRule) -> bool:
    """Whether what an entry that is no more has made may hold values of Secrets."""
    secret = rule.source is not None and rule.source.gvk.group_kind == SECRET
    return secret or any(entry.hidden for entry in rule.resources)


def _patience(
    rule: CompiledRule, context: Context, live: Live, claim: Claim, gone: Absent | None
) -> tuple[datetime | None, SourceRef | None]:
    """How long to leave an orphan of a source that is gone, and whether to ask the server first."""
    if gone is None or rule.source is None or claim.source.group_kind != rule.source.gvk.group_kind:
        return None, None  # not a matter of the source's life: the rule does not want it
    if gone.since is None:
        source = SourceRef(rule.source.gvk, claim.source.namespace, claim.source.name, claim.source_uid)
        # behind a fieldSelector absence means "not selected"; a live read would contradict it
        return context.started + ORPHAN_TIME, None if rule.source.field_selector else source
    return (gone.since + COLLECTOR_TIME if claim.source_uid in live.owners else None), None


def _served(snapshot: Snapshot, kind: GroupKind) -> GroupVersionKind:
    """A version to speak to the server in, of a kind that the rule itself no longer names."""
    return snapshot.version(kind)
