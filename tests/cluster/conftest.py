"""One control plane per module, one engine at a time. Required in CI, skipped without Go elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import plane as planes
from tests.cluster.engine import Engine
from tests.cluster.plane import Plane


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    missing = planes.why_not()
    if missing and os.environ.get("CI"):
        pytest.fail(f"tests/cluster is required in CI: {missing}")
    if missing:
        pytest.skip(f"tests/cluster is left out: {missing}")
    running = Plane(tmp_path_factory.mktemp("plane"), planes.build())
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def crds(plane: Plane) -> None:
    folder = Path(__file__).parents[2] / "crds"
    plane.kubectl("apply", "--server-side", "-f", str(folder))
    plane.kubectl("wait", "--for=condition=Established", "crd/clusterrules.rulesengine.dev", "--timeout=30s")
    plane.kubectl("wait", "--for=condition=Established", "crd/rules.rulesengine.dev", "--timeout=30s")


@pytest.fixture
def engine(plane: Plane, crds: None) -> Iterator[Engine]:
    """A running engine; afterwards every rule is deleted with what it made, and it is stopped."""
    running = Engine(plane)
    running.start()
    yield running
    if running.process is None:
        running.start()
    plane.kubectl("delete", "clusterrules,rules", "--all", "-A", "--timeout=60s")
    assert running.stop() == 0
