"""Jobs people do, played through on a real API server with rules applied by kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.case import Case
from tests.cluster.engine import Engine
from tests.cluster.plane import Plane

CASES = sorted((Path(__file__).parents[1] / "cases" / "use").glob("[A-Z][0-9]*.yaml"))


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_every_step_holds(file: Path, plane: Plane, engine: Engine) -> None:
    """All steps, exact counts of writes, and silence afterwards and after a restart."""
    before = spaces(plane)
    try:
        Case.load(file, plane, engine).play()
    finally:
        plane.kubectl("delete", "clusterrules,rules", "--all", "-A", "--timeout=60s")
        if left := sorted(spaces(plane) - before):
            plane.kubectl("delete", *left, "--timeout=60s")


def spaces(plane: Plane) -> set[str]:
    """The namespaces there are, but for the engine's own."""
    return set(plane.kubectl("get", "ns", "-o", "name").split()) - {"namespace/rulesengine-system"}
