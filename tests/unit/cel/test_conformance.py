"""The specification's tests, file by file, where their data is there."""

from __future__ import annotations

import os

import pytest

from tests.conformance import answers, default_file


def test_the_language_is_the_specifications() -> None:
    """Every test holds."""
    file = default_file()
    if not file.exists() and os.environ.get("CI"):
        pytest.fail(f"the specification's tests are required in CI: {file}")
    if not file.exists():
        pytest.skip("the specification's tests are not beside this clone")
    failed = [f"{each.file}/{each.name}: {each.problem}" for each in answers(file) if each.problem]
    assert failed == []
