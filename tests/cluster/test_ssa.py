"""Server-side apply in Python does what the real server does."""

from __future__ import annotations

from tests.cluster.differential_ssa import run
from tests.cluster.plane import Plane


def test_random_operations_come_out_as_on_the_server(plane: Plane) -> None:
    """Bodies, managedFields, conflicts, refusals; and a no-op verdict is never wrong."""
    report = run(plane.kubeconfig, operations=600, seed=20)
    assert report.differences == []
    assert report.counts["apply 409"] > 20
    assert report.counts["no-op seen"] > 3
