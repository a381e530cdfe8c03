"""Jobs people do, played through on a real API server: the same files and the same player."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulesengine import client
from rulesengine.cli.verdicts import as_text
from rulesengine.testing import may_be_case, play, read_case, real_stage
from tests.cases.not_yet import NOT_YET
from tests.cluster.plane import Plane

USE = Path(__file__).parents[1] / "cases" / "use"
CASES = [file for file in sorted(USE.glob("*.yaml")) if may_be_case(file.read_bytes(), str(file))]


@pytest.mark.parametrize("file", [f for f in CASES if f.stem not in NOT_YET], ids=lambda file: file.stem)
async def test_every_step_holds(file: Path, plane: Plane) -> None:
    """All steps, exact counts of writes, and silence afterwards and after a restart."""
    case = read_case(file.read_bytes(), str(file))  # noqa: ASYNC240 - a test
    connection = await client.connect(kubeconfig=plane.kubeconfig)
    async with connection, real_stage(connection, case) as stage:
        verdict = await play(case, stage)
    assert verdict.passed, as_text(verdict)
