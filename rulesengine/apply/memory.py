"""What the engine remembers of its writes, so that a settled child costs no request.

Per child (manager and object): the *verdict* (this desired on this state of the object needs
nothing), the *refusal* (the server would not take it) and the *echo* (a digest of our values
as the server returned them). Nothing of it is needed for being right: a restart forgets all
and asks again, at most once for each child that the server rewrites.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from rulesengine.apply.answers import Answer
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.core.ports import Live
from rulesengine.reconcile.plan import Failed, Held
from rulesengine.schema import Schema

LIMIT = 200_000  # children; about 400 bytes each. Beyond, the longest unwritten are forgotten first.
REFUSALS = 10_000


class Child(NamedTuple):
    """Whose view of which object. `part` is "" or a subresource."""

    manager: str
    key: ObjectKey
    part: str = ""


class State(NamedTuple):
    """What a verdict is about: this object at this version, and this desired."""

    uid: str
    version: int
    digest: bytes

    @classmethod
    def of(cls, live: Live | None, digest: bytes) -> State:
        return cls(live.uid, live.version, digest) if live is not None else cls("", 0, digest)


@dataclass(frozen=True, slots=True)
class _Refusal:
    state: State
    outcome: Held | Failed
    until: float
    times: int
    believed: bool


class Memory:
    """Bounded; all of it for one event loop, no locks."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._verdicts: dict[Child, State] = {}
        self._echoes: dict[Child, bytes] = {}
        self._refusals: dict[Child, _Refusal] = {}
        self._schemas: dict[GroupVersionKind, Schema] = {}

    def __len__(self) -> int:
        return len(self._verdicts)

    # --- verdicts and echoes ---

    def settled(self, child: Child, state: State) -> bool:
        """Whether this state was seen to need nothing."""
        return self._verdicts.get(child) == state

    def echo(self, child: Child) -> bytes | None:
        return self._echoes.get(child)

    def settle(self, child: Child, state: State, echo: bytes | None = None) -> None:
        """Remembers that `state` needs nothing; with `echo`, what our values looked like then."""
        self._verdicts.pop(child, None)  # to the end of the order in which they are forgotten
        self._verdicts[child] = state
        if echo is not None:
            self._echoes[child] = echo
        self._refusals.pop(child, None)
        if len(self._verdicts) > self._limit:
            self.forget(next(iter(self._verdicts)))

    # --- refusals ---

    def refuse(self, child: Child, state: State, answer: Answer, now: float) -> Held | Failed:
        """Remembers a refusal for as long as its patience says; the outcome with that delay."""
        before = self._refusals.pop(child, None)
        same = before is not None and before.outcome.reason is answer.outcome.reason
        times = before.times + 1 if before is not None and same else 0
        delay = min(answer.patience.first * 2 ** min(times, 30), answer.patience.last)
        outcome = replace(answer.outcome, retry_after=delay)
        self._refusals[child] = _Refusal(state, outcome, now + delay, times, answer.patience.believed)
        if len(self._refusals) > REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        return outcome

    def refused(self, child: Child, state: State, now: float) -> Held | Failed | None:
        """The remembered refusal, while object and desired are as they were and it is not due."""
        refusal = self._refusals.get(child)
        if refusal is None or not refusal.believed or refusal.state != state or refusal.until <= now:
            return None
        return replace(refusal.outcome, retry_after=refusal.until - now)

    # --- forgetting ---

    def forget(self, child: Child) -> None:
        self._verdicts.pop(child, None)
        self._echoes.pop(child, None)
        self._refusals.pop(child, None)

    def forget_kind(self, kind: GroupKind) -> None:
        """The kind's schema, CRD or admission changed: the server may answer otherwise now."""
        for child in [c for c in self._verdicts.keys() | self._refusals.keys() if c.key.group_kind == kind]:
            self.forget(child)

    def forget_refusals(self, namespace: str | None = None) -> None:
        """Rights, quotas or a namespace changed: what was refused (there) is tried again."""
        for child in list(self._refusals):
            if namespace is None or child.key.namespace == namespace:
                del self._refusals[child]

    def use(self, gvk: GroupVersionKind, schema: Schema) -> None:
        """Told of the schema before every decision: a different one than before forgets the kind."""
        known = self._schemas.get(gvk)
        if known is not schema:
            self._schemas[gvk] = schema
            if known is not None and known != schema:
                self.forget_kind(gvk.group_kind)
