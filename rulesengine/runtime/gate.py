"""Removals after a start or a new generation wait until it is known how many they are.

A selector with a typing error, a CRD that came back empty, a renamed entry: the rule is right
as far as the engine can tell, and wants almost nothing any more. So nothing is removed before
every work item was looked at once, and nothing at all while that would be more than the rule's
limit allows and nobody has approved it. Once open, a gate stays open: what goes from then on
goes for reasons of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rulesengine.compiler.limits import Limits
from rulesengine.core.keys import Request
from rulesengine.reconcile import Verdict
from rulesengine.reconcile.plan import Plan

APPROVE = "rulesengine.dev/approve-deletes"
WITHIN = Verdict("DeletesHeld", status=False, reason="WithinLimit")


@dataclass(slots=True)
class Gate:
    """Of one generation of one rule. `held`: it was decided, and more would go than may."""

    limits: Limits
    generation: int
    open: bool = False
    held: bool = False
    _deletes: dict[Request, int] = field(default_factory=dict)  # also of items that only release
    _made: dict[Request, int] = field(default_factory=dict)

    def passing(self, plan: Plan) -> Plan:
        """What may be carried out of a plan for now; its removals are counted."""
        if self.open:
            return plan
        request = plan.request
        if plan.unwanted:
            self._deletes[request] = sum(not item.release for item in plan.unwanted)
        else:
            self._deletes.pop(request, None)
        kept = sum(item.ours and item.live is not None for item in plan.wanted)
        self._made.setdefault(request, kept + len(plan.unwanted))
        return replace(plan, held=True) if plan.unwanted else plan

    def decide(self, approved: str) -> tuple[Request, ...]:
        """Every work item was looked at: opens if it may. The work items whose removals may go now.

        `approved` is the generation that somebody approved, as text.
        """
        if self.open:
            return ()
        if self.going > self.allowed and approved != str(self.generation):
            self.held = True
            return ()
        self.open, self.held = True, False
        waiting = tuple(self._deletes)
        self._deletes.clear()
        self._made.clear()
        return waiting

    @property
    def going(self) -> int:
        """Objects that would be removed."""
        return sum(self._deletes.values())

    @property
    def allowed(self) -> int:
        return self.limits.may_delete(sum(self._made.values()))

    def verdict(self) -> Verdict:
        """Condition DeletesHeld."""
        if not self.held:
            return WITHIN
        message = (
            f"{self.going} objects would be deleted, and limits.maxDeletes allows {self.allowed}: nothing "
            f'is, until annotation {APPROVE}: "{self.generation}" approves it or the rule is changed'
        )
        return Verdict("DeletesHeld", status=True, reason="MaxDeletes", message=message)
