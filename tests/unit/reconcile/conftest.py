"""Every test gets a cluster of its own."""

from __future__ import annotations

import pytest

from tests.unit.reconcile.fakes import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
