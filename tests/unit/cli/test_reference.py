"""The reference pages say what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulesengine.cli.reference import pages

FOLDER = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_up_to_date(name: str) -> None:
    """`make reference` writes them anew."""
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name]
