"""Conflicts between appliers, in the server's words."""

from __future__ import annotations

from dataclasses import dataclass

from rulesengine.core.json import Object
from rulesengine.ssa.elements import shown
from rulesengine.ssa.fieldset import Tree, paths
from rulesengine.ssa.managers import ManagerId, identifier


@dataclass(frozen=True, slots=True)
class Conflicted:
    """An apply without force that met other owners: `(manager, path)` each, and the message.

    The manager is written as in the server's causes: `"kubectl" using v1`.
    """

    conflicts: tuple[tuple[str, str], ...]
    message: str

    @property
    def causes(self) -> list[Object]:
        """`details.causes` of the server's answer."""
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
            for who, path in self.conflicts
        ]


def conflicted(contested: dict[ManagerId, Tree]) -> Conflicted:
    """From the contested fields of each other manager."""
    by_manager = [
        (str(who), [shown(path) for path in paths(contested[who])])
        for who in sorted(contested, key=identifier)
    ]
    conflicts = tuple((who, path) for who, found in by_manager for path in found)
    if len(conflicts) == 1:
        who, path = conflicts[0]
        return Conflicted(conflicts, f"Apply failed with 1 conflict: conflict with {who}: {path}")
    lines = [
        line for who, found in by_manager for line in (f"conflicts with {who}:", *(f"- {p}" for p in found))
    ]
    return Conflicted(conflicts, f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines))
