"""The fields that a write to one endpoint of a resource ignores, and so gives to nobody.

Where a kind has /status, the main resource ignores `status` and /status ignores the rest:
of built-in kinds `spec`, of custom resources everything. The exceptions are what a real
server was seen to do.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from rulesengine.core.kinds import GroupKind
from rulesengine.schema import builtin
from rulesengine.ssa.fieldset import FieldSet

_NONE: Final = FieldSet()
_STATUS: Final = FieldSet.of(("f:status",))
_SPEC: Final = FieldSet.of(("f:spec",))
_REST: Final = FieldSet.of(("f:spec",), ("f:metadata",))
_EXCEPTIONS: Final = {
    GroupKind("apps", "Deployment"): FieldSet.of(("f:spec",), ("f:metadata", "f:labels")),
    GroupKind("", "Pod"): FieldSet.of(
        ("f:spec",), ("f:metadata", "f:ownerReferences"), ("f:metadata", "f:deletionTimestamp")
    ),
    GroupKind("apiregistration.k8s.io", "APIService"): _REST,
    GroupKind("flowcontrol.apiserver.k8s.io", "FlowSchema"): _REST,
    GroupKind("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _REST,
}


def resets(kind: GroupKind, subresource: str = "", *, has_status: bool) -> FieldSet:
    """What a write to this endpoint ignores; `has_status` says whether the kind has /status."""
    if not has_status or subresource not in ("", "status"):
        return _NONE
    if not subresource:
        return _STATUS
    return _EXCEPTIONS.get(kind) or (_SPEC if kind in _builtin() else _REST)


@cache
def _builtin() -> frozenset[GroupKind]:
    return frozenset(resource.gvk.group_kind for resource in builtin.resources())
