"""Several engines on one server: killed, cut off, stopped and resumed, with a clock that is off.

Who wrote when is read from the server's audit log: each engine has a user of its own.
"""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rulesengine.client import connect
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from tests.cluster.cable import Cable
from tests.cluster.engine import Engine, eventually
from tests.cluster.plane import Plane

LEASE, DEADLINE, RETRY = 4.0, 2.5, 0.4
TIMES = (
    f"--leader-elect-lease-duration={LEASE}",
    f"--leader-elect-renew-deadline={DEADLINE}",
    f"--leader-elect-retry-period={RETRY}",
)
CONFIG_MAPS = ResourceType(GroupVersionKind("", "v1", "ConfigMap"), "configmaps", namespaced=True)
RULE = {
    "apiVersion": "rulesengine.dev/v1alpha1",
    "kind": "ClusterRule",
    "metadata": {"name": "copies"},
    "spec": {
        "for": {"apiVersion": "v1", "kind": "ConfigMap", "selector": {"matchLabels": {"copy": "yes"}}},
        "resources": [
            {
                "name": "copy",
                "template": {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {
                        "name": "${object.metadata.name}-copy",
                        "namespace": "${object.metadata.namespace}",
                    },
                    "data": {"n": "${object.data.n}"},
                },
            }
        ],
    },
}


class Edits(threading.Thread):
    """A user who makes sources all the time, so that there is always something to write."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(daemon=True)
        self._kubeconfig = kubeconfig
        self._end = threading.Event()
        self.made = 0

    def run(self) -> None:
        asyncio.run(self._edit())

    async def _edit(self) -> None:
        async with await connect(self._kubeconfig) as client:
            while not self._end.is_set():
                meta = {"name": f"s{self.made}", "labels": {"copy": "yes"}}
                body = {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": meta,
                    "data": {"n": str(self.made)},
                }
                await client.create(CONFIG_MAPS, "default", body)
                self.made += 1
                await asyncio.sleep(0.1)

    def stop(self) -> None:
        self._end.set()
        self.join(30)


class Crew:
    """Engines by letter, each with its own user and log."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.engines: dict[str, Engine] = {}

    def start(self, letter: str, **more: Any) -> Engine:
        engine = Engine(self.plane, f"engine-{letter}", TIMES, **more)
        engine.start()
        self.engines[letter] = engine
        return engine

    def says(self, letter: str, words: str) -> bool:
        return words in self.engines[letter].log.read_text()

    def leader(self, among: str) -> str:
        """The one of these that says it leads and still runs."""
        return next(letter for letter in among if self.says(letter, " leading "))

    def writes(self) -> list[tuple[float, str]]:
        """When and by whom something was written, but for the lease itself."""
        records, _ = self.plane.requests()
        found = []
        for record in records:
            about = record.get("objectRef", {})
            if record["verb"] in ("get", "list", "watch") or about.get("resource") == "leases":
                continue
            moment = datetime.fromisoformat(record["requestReceivedTimestamp"]).timestamp()
            found.append((moment, record["user"]["username"][-1]))
        return sorted(found)

    def first_after(self, letter: str, moment: float) -> float:
        """Seconds from then until this engine's first write."""
        return next(at for at, who in self.writes() if who == letter and at > moment) - moment

    def end(self) -> None:
        for engine in self.engines.values():
            if engine.process is not None:
                engine.process.kill()
                engine.process.wait()


@pytest.fixture
def crew(plane: Plane, crds: None) -> Any:
    found = Crew(plane)
    yield found
    found.end()


def copies(plane: Plane) -> dict[str, str]:
    items = json.loads(plane.kubectl("get", "configmaps", "-o", "json"))["items"]
    return {
        item["metadata"]["name"].removesuffix("-copy"): item["data"]["n"]
        for item in items
        if item["metadata"]["name"].endswith("-copy")
    }


def test_one_writes_whatever_happens_to_the_others(plane: Plane, crew: Crew, tmp_path: Path) -> None:
    """Killed, cut off, stopped and resumed: the next one within lease + 2 s, never two, nothing lost."""
    crew.start("a")
    eventually(lambda: crew.says("a", " leading "))
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(RULE))
    cable = Cable(plane.api_port)
    through = tmp_path / "cable.kubeconfig"
    config = (plane.folder / "engine-b.kubeconfig").read_text()
    through.write_text(config.replace(f":{plane.api_port}", f":{cable.port}"))
    crew.start("b", config=through)
    skewed = Path(__file__).with_name("skewed.py")
    crew.start("c", program=(str(skewed), "600"))
    edits = Edits(plane.kubeconfig)
    edits.start()
    for letter in "bc":
        eventually(lambda letter=letter: crew.says(letter, "standing by"))
    eventually(lambda: len(copies(plane)) > 5)

    killed = time.time()
    crew.engines["a"].process.kill()
    eventually(lambda: crew.leader("bc"))
    first = crew.leader("bc")
    eventually(lambda: crew.first_after(first, killed))
    assert crew.first_after(first, killed) < LEASE + 2

    second = "bc".replace(first, "")
    fault(crew, first, second, cable)
    crew.start("d")
    eventually(lambda: crew.says("d", "standing by"))
    fault(crew, second, "d", cable)

    edits.stop()
    wanted = {f"s{n}": str(n) for n in range(edits.made)}
    eventually(lambda: copies(plane) == wanted)
    plane.kubectl("delete", "clusterrule", "copies", "--timeout=30s")
    assert copies(plane) == {}
    assert crew.engines["d"].stop() == 0
    assert (
        json.loads(plane.kubectl("get", "lease", "-n", "rulesengine-system", "rulesengine", "-o", "json"))[
            "spec"
        ].get("holderIdentity", "")
        == ""
    ), "given back"

    order = [who for _, who in crew.writes()]
    turns = [who for index, who in enumerate(order) if index == 0 or order[index - 1] != who]
    assert turns == ["a", first, second, "d"], "each wrote in its own time only"
    made = [r["objectRef"]["name"] for r in plane.requests()[0] if made_a_copy(r)]
    assert sorted(made) == sorted(f"{name}-copy" for name in wanted), "each made once"
    cable.close()


def fault(crew: Crew, victim: str, heir: str, cable: Cable) -> None:
    """Cuts off the one with the cable, stops the other for longer than its lease; both then end."""
    begun = time.time()
    process = crew.engines[victim].process
    assert process is not None
    if victim == "b":
        cable.cut()
    else:
        process.send_signal(signal.SIGSTOP)
    eventually(lambda: crew.first_after(heir, begun))
    assert crew.first_after(heir, begun) < LEASE + 2
    process.send_signal(signal.SIGCONT)
    assert process.wait(20) == 2
    assert crew.says(victim, "the lease is lost")


def made_a_copy(record: dict[str, Any]) -> bool:
    about = record.get("objectRef", {})
    created = record.get("responseStatus", {}).get("code") == 201
    return bool(created and str(about.get("name", "")).endswith("-copy"))
