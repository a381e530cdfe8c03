"""The specification's tests, file by file, where their data is there."""

from __future__ import annotations

import os

import pytest

from tests.conformance import answers, default_file

# What later versions bring, by name; everything else holds completely.
NOT_YET = {"network_ext": "ip and cidr"}
NOT_YET_TESTS = {"string_ext/format/map support (all key types)"}


def test_the_language_is_the_specifications() -> None:
    """Every test outside the named gaps passes, and the gaps are not larger than they are said to be."""
    file = default_file()
    if not file.exists() and os.environ.get("CI"):
        pytest.fail(f"the specification's tests are required in CI: {file}")
    if not file.exists():
        pytest.skip("the specification's tests are not beside this clone")
    failed = [a for a in answers(file) if a.problem and a.file not in NOT_YET]
    unexpected = [
        f"{a.file}/{a.name}: {a.problem}" for a in failed if f"{a.file}/{a.name}" not in NOT_YET_TESTS
    ]
    assert unexpected == []
