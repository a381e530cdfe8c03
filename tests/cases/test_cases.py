"""Every case file on the embedded server: rule, state, steps, exact counts of writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rulesengine import api
from tests.cases.player import stage

Object = dict[str, Any]
CASES = sorted(Path(__file__).parent.rglob("[A-Z][0-9]*.yaml"))


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
async def test_every_step_holds(file: Path) -> None:
    """All steps, and silence after a restart."""
    (content,) = api.load_objects(file.read_bytes().decode(), str(file), any_shape=True)  # noqa: ASYNC240 - a test
    content["crds"] = [crd for each in content.get("crds", ()) for crd in loaded(file, each)]
    async with stage(content) as play:
        await play()


def loaded(file: Path, given: Object | str) -> list[Object]:
    """CRDs that a case names inline or by file."""
    if isinstance(given, dict):
        return [given]
    found: list[Object] = api.load_objects((file.parent / given).read_bytes().decode(), given)
    return found
