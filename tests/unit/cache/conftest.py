"""One bench per test, closed afterwards: a watch's task that is left behind fails the test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.cache.fakes import Bench, settle, watch_tasks


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.cache.close()
    await settle()
    assert watch_tasks() == []
