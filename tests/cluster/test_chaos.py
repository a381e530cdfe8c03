"""Half a minute of what `python -m tests.cluster.chaos` does for twenty."""

from __future__ import annotations

from tests.cluster.chaos import play
from tests.cluster.plane import Plane


async def test_after_faults_kills_and_edits_all_is_as_the_rules_say(plane: Plane, crds: None) -> None:
    """Equal to the naive answer, foreign objects untouched, silence at rest and after a restart."""
    found = await play(plane, seed=7, seconds=25, hard=False)
    assert found["edits"] > 50
    assert sum(found["faults"].values()) > 50
    assert found.get("killed", 0) + found.get("stopped", 0) > 0
