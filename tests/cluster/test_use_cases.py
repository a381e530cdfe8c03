"""Jobs people do, played through on a real API server with rules applied by kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.case import Case
from tests.cluster.engine import Engine
from tests.cluster.plane import Plane

CASES = sorted((Path(__file__).parents[1] / "cases" / "use").glob("*.yaml"))


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_every_step_holds(file: Path, plane: Plane, engine: Engine) -> None:
    """All steps, exact counts of writes, and silence afterwards and after a restart."""
    Case.load(file, plane, engine).play()
