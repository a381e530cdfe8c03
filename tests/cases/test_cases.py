"""Every case file on the embedded server: rule, state, steps, exact counts of writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulesengine.cli.verdicts import as_text
from rulesengine.testing import embedded_stage, may_be_case, play, read_case
from tests.cases.not_yet import NOT_YET

HERE = Path(__file__).parent
CASES = [file for file in sorted(HERE.rglob("*.yaml")) if may_be_case(file.read_bytes(), str(file))]


def cases(files):
    """One parameter for each; what is listed as not holding yet fails once it does."""
    for file in files:
        why = NOT_YET.get(file.stem)
        marks = [pytest.mark.xfail(reason=f"not yet: {why}", raises=AssertionError)] if why else []
        yield pytest.param(file, marks=marks, id=file.stem)


@pytest.mark.parametrize("file", list(cases(CASES)))
async def test_every_step_holds(file: Path) -> None:
    """All steps, and silence afterwards and after a restart."""
    case = read_case(file.read_bytes(), str(file))  # noqa: ASYNC240 - a test
    async with embedded_stage(case) as stage:
        verdict = await play(case, stage)
    assert verdict.passed, as_text(verdict)


def test_what_is_listed_as_not_holding_yet_is_there() -> None:
    assert set(NOT_YET) <= {file.stem for file in CASES}
