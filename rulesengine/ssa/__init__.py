"""Server-side apply: what an apply would do, whether it would do anything, and what differs."""

from rulesengine.ssa import diff
from rulesengine.ssa.apply import Applied, apply
from rulesengine.ssa.conflicts import Conflicted
from rulesengine.ssa.fieldset import FieldSet
from rulesengine.ssa.managers import ManagerId, Managers
from rulesengine.ssa.managers import decoded as managers_of
from rulesengine.ssa.masking import Mask
from rulesengine.ssa.noop import entry, owned_digest, unchanged
from rulesengine.ssa.prepare import Prepared, prepare
from rulesengine.ssa.resets import resets
from rulesengine.ssa.strip import strip
from rulesengine.ssa.typed import InvalidConfig
from rulesengine.ssa.update import keep_times, update

__all__ = [
    "Applied",
    "Conflicted",
    "FieldSet",
    "InvalidConfig",
    "ManagerId",
    "Managers",
    "Mask",
    "Prepared",
    "apply",
    "diff",
    "entry",
    "keep_times",
    "managers_of",
    "owned_digest",
    "prepare",
    "resets",
    "strip",
    "unchanged",
    "update",
]
