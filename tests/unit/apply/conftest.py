"""Every test gets a server of its own."""

from __future__ import annotations

import pytest

from tests.unit.apply.fakes import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
