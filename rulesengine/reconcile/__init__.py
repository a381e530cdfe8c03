"""Deciding, without I/O: (rule, snapshot, request, context) → plan, and results → rule status."""

from rulesengine.reconcile.context import Context
from rulesengine.reconcile.ownership import ANNOTATION, LABEL, Claim, Ownership, read_claim, was_restored
from rulesengine.reconcile.planner import cleanup, plan
from rulesengine.reconcile.status import Verdict, accepted, progress, rejected, rule_status
from rulesengine.reconcile.tally import Item, Tally, item_of

__all__ = [
    "ANNOTATION",
    "LABEL",
    "Claim",
    "Context",
    "Item",
    "Ownership",
    "Tally",
    "Verdict",
    "accepted",
    "cleanup",
    "item_of",
    "plan",
    "progress",
    "read_claim",
    "rejected",
    "rule_status",
    "was_restored",
]
