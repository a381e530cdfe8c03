from __future__ import annotations

import pytest

from tests.unit.embedded.fakes import Api


@pytest.fixture
def api() -> Api:
    return Api()
