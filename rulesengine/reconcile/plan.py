"""What a work item's evaluation yields: data that says what shall be, and why.

A plan is a pure function of (compiled rule, snapshot, request, time). It says what is
wanted, not which requests to send: whether a wanted object needs a write is decided where
the server's answers are remembered (apply/).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from rulesengine.compiler.rule import ApplyPolicy, FieldPath, Propagation
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey, Request
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.core.ports import Live
from rulesengine.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class SourceRef:
    """The object a work item is about, as events and owner references name it."""

    gvk: GroupVersionKind
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object that shall be as `desired` says (a full apply configuration, stamped).

    `live` is what the cache has of it, None when absent. `ours` says whether this rule made
    it (proven by its claim) or it is absent; where false, `holder` names whose it is ("" when
    nobody claims it), policy.adopt decides, and `adoption` is the configuration to apply then
    (stamped as adopted, without owner reference) in place of `desired`.
    `tainted`: values in it came from Secrets; all but metadata is masked wherever shown, and so
    are the fields `hidden`.
    """

    entry: str
    gvk: GroupVersionKind
    key: ObjectKey
    desired: Object
    live: Live | None
    policy: ApplyPolicy
    manager: str
    ours: bool = True
    holder: str = ""
    adoption: Object | None = None
    tainted: bool = False
    hidden: frozenset[FieldPath] = frozenset()


@dataclass(frozen=True, slots=True)
class Unwanted:
    """An object this work item made (proven) and no longer wants.

    `release` true: give its fields up and leave it; else delete it. `wait_until`: not
    before then, since the server's garbage collector is expected to do it. `confirm_gone`:
    only after a live read of that object (the source) says it is absent or has another uid.
    """

    entry: str
    gvk: GroupVersionKind
    live: Live
    manager: str
    release: bool = False
    propagation: Propagation = Propagation.BACKGROUND
    wait_until: datetime | None = None
    tainted: bool = False
    hidden: frozenset[FieldPath] = frozenset()
    confirm_gone: SourceRef | None = None


@dataclass(frozen=True, slots=True)
class StatusWanted:
    """What shall stand in the source's /status, as an apply configuration with uid.

    `desired` None: nothing is wanted any more, release what we own there.
    """

    source: SourceRef
    desired: Object | None
    live: Live
    manager: str
    tainted: bool = False  # values in it came from Secrets


@dataclass(frozen=True, slots=True)
class Wait:
    """Something is not there yet. Waiting never removes. `key`: a change of that object ends it."""

    entry: str  # "" when the whole work item waits
    on: str
    reason: Reason = Reason.WAITING
    key: ObjectKey | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something could not be decided: nothing of it is created, changed or removed.

    `key`: a change of that object may decide it.
    """

    entry: str  # "" when the whole work item is frozen
    reason: Reason
    message: str  # never holds object values
    key: ObjectKey | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything one pass over a work item found.

    `wanted` in dependency order; `unwanted` in the order of removal, to be executed only
    when `may_prune` and every write of the pass went through. `matched` is whether the
    source is past for and matchConditions (None: unknown).
    """

    request: Request
    source: SourceRef | None
    matched: bool | None
    wanted: tuple[Wanted, ...] = ()
    unwanted: tuple[Unwanted, ...] = ()
    status: StatusWanted | None = None
    waits: tuple[Wait, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    orphans: int = 0  # restored copies that are not wanted: left alone and counted
    protected: int = 0  # objects in system namespaces: left alone and counted
    wake_at: datetime | None = None
    held: bool = False  # removals wait until it is known, or approved, how many they are in all

    @property
    def may_prune(self) -> bool:
        return not self.waits and not self.unknowns and not self.held


# --- what became of it (apply/ fills these in) ---


@dataclass(frozen=True, slots=True)
class Unchanged:
    """No write was needed; `step` says how that was known ("verdict", "structural", "echo", "idle")."""

    step: str


@dataclass(frozen=True, slots=True)
class Created:
    pass


@dataclass(frozen=True, slots=True)
class Updated:
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deleted:
    pass


@dataclass(frozen=True, slots=True)
class Released:
    """Our fields were given up; `as_is`: only our marks on the object went, its values stay."""

    as_is: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Not done now and not a failure: waits for `on`; looked at again on its event or after `retry_after`."""

    reason: Reason
    on: str
    retry_after: float | None = None  # seconds


@dataclass(frozen=True, slots=True)
class Failed:
    """Refused. `retry_after` seconds, None: with backoff. `manager` names who is in conflict."""

    reason: Reason
    message: str
    field: str = ""
    manager: str = ""
    retry_after: float | None = None
    transient: bool = False


Outcome: TypeAlias = Unchanged | Created | Updated | Deleted | Released | Held | Failed


@dataclass(frozen=True, slots=True)
class Done:
    """One object of a plan and what became of it."""

    entry: str
    gvk: GroupVersionKind
    key: ObjectKey
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a plan. `wrote`: some request moved a resourceVersion (or would have)."""

    plan: Plan
    done: tuple[Done, ...]

    @property
    def wrote(self) -> bool:
        return any(isinstance(d.outcome, Created | Updated | Deleted | Released) for d in self.done)
