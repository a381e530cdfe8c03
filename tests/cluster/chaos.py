"""Random edits of users while network, server and engine fail: `python -m tests.cluster.chaos --help`.

The edits, and the few lines that know what ought to be there, are those of the engine's own random
test; here the server is the real one, and the engine is a process that is killed and started.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from rulesengine.client import APIError, Client, Discovery, connect
from tests.cluster import plane as planes
from tests.cluster.engine import Engine
from tests.cluster.plane import Plane
from tests.cluster.storm import Storm
from tests.unit.runtime.test_random_edits import CONFIG_MAP, KINDS, SPACES, Play, Rule

FOREIGN = "not-ours"
ROUND = 6.0  # seconds of edits between two looks at whether all is well


class Chaos(Play):
    """A cluster under edits and faults. `counts` says what happened."""

    def __init__(self, plane: Plane, user: Client, seed: int, *, hard: bool) -> None:
        self.chance = random.Random(seed)
        self.plane = plane
        self.user = user
        self.discovery = Discovery(user)
        self.rules: dict[str, Rule] = {}
        self.leaving: set[str] = set()
        self.sources: dict[tuple[str, str], tuple[int, str]] = {}
        self.counts: Counter[str] = Counter()
        self.hard = hard
        self.storm = Storm(plane.api_port, seed + 1)
        self.process = Engine(plane, config=self._config())
        self.foreign: dict[tuple[str, str], str] = {}

    def _config(self) -> Path:
        config = json.loads((self.plane.folder / "engine.kubeconfig").read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self.storm.port}"}
        path = self.plane.folder / "storm.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    # --- the engine, as a Deployment keeps it ---

    def start(self) -> None:
        process = self.process.process
        if process is not None and process.poll() is None:
            return
        if process is not None:
            self.counts[f"ended by itself with {process.returncode}"] += 1
        self.process.start()

    async def stop(self, *, kill: bool) -> None:
        process = self.process.process
        if process is None or process.poll() is not None:
            return
        self.counts["killed" if kill else "stopped"] += 1
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        await asyncio.to_thread(process.wait, 40)
        self.process.process = None

    # --- edits ---

    async def edit(self) -> None:
        luck = self.chance.random()
        if luck < 0.015:
            await self.stop(kill=self.chance.random() < 0.7)
        elif luck < 0.02 and self.hard:
            await asyncio.to_thread(self._restart_server)
        elif luck < 0.03 and self.hard:
            await asyncio.to_thread(self._compact)
        elif luck < 0.06:
            await self._impostor()
        else:
            # few enough that what a changed rule removes stays below limits.maxDeletes
            space, name = self.chance.choice(SPACES), f"w{self.chance.randint(0, 3)}"
            edits = [self._source] * 6 + [self._no_source] * 2 + [self._child] * 4
            await self.chance.choice([*edits, self._rule, self._no_rule])(space, name)
        self.start()
        self.counts["edits"] += 1

    async def _impostor(self) -> None:
        """A foreign object with the stamp of one of ours, copied: it proves nothing."""
        children = await self.listed(CONFIG_MAP, "rulesengine.dev/rule")
        if not children:
            return
        stamp = self.chance.choice(children)["metadata"].get("annotations", {})
        name, space = f"{FOREIGN}-{len(self.foreign)}", self.chance.choice(SPACES)
        meta = {"name": name, "namespace": space, "annotations": stamp}
        await self.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"size": "7"}})
        self.foreign[space, name] = ""

    def _restart_server(self) -> None:
        self.counts["server restarted"] += 1
        self.plane.stop("apiserver")
        self.plane.start_server()

    def _compact(self) -> None:
        """etcd forgets the past: watches that begin there are told 410."""
        url = f"http://127.0.0.1:{self.plane.etcd_port}/v3/kv"
        found = json.loads(post(f"{url}/range", {"key": "AA=="}))
        post(f"{url}/compaction", {"revision": found["header"]["revision"], "physical": True})
        self.counts["compacted"] += 1

    # --- the whole ---

    async def run(self, seconds: float) -> dict[str, Any]:
        """Edits under faults for so long, with looks between; then calm, and the last checks."""
        begun = time.monotonic()
        for space in SPACES:
            await self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        self.start()
        slowest = 0.0
        while time.monotonic() - begun < seconds:
            pause = time.monotonic() + ROUND
            while time.monotonic() < pause:
                await self._steadily()
                await asyncio.sleep(self.chance.random() * 0.15)
            looked = time.monotonic()
            await self.settle(90.0)
            slowest = max(slowest, time.monotonic() - looked)
            self.counts["rounds"] += 1
        while len(self.rules) < 2 or not self.wanted():
            await self._rule("", "")
            await self._source(self.chance.choice(SPACES), "w0")
        self.storm.calm()
        await self.settle(60.0)
        await self.check()
        found = {"seconds": round(time.monotonic() - begun), "slowest settling": round(slowest, 1)}
        return found | dict(self.counts) | {"faults": dict(self.storm.faults)}

    async def _steadily(self) -> None:
        """An edit; a user tries again when the server is away."""
        while True:
            try:
                await self.edit()
            except APIError:
                await asyncio.sleep(0.2)
            else:
                return

    async def check(self) -> None:
        """Sources and foreign objects as they were made; at rest no write, and none after a restart."""
        found = {
            (s["metadata"]["namespace"], s["metadata"]["name"]): s
            for s in await self.listed(CONFIG_MAP)
            if s["metadata"]["namespace"] in SPACES
        }
        assert {key for key, s in found.items() if "source" in s["metadata"].get("labels", {})} == set(
            self.sources
        )
        for key in self.foreign:
            body = found[key]
            assert body["data"] == {"size": "7"}, key
            assert {m["manager"] for m in body["metadata"]["managedFields"]} == {"user"}, key
        before = await self._versions()
        self.process.mark()
        assert self.process.stop() == 0
        self.process.start()
        await asyncio.to_thread(self.process.quiet, 2.0)
        assert self.process.changes() == {"created": 0, "updated": 0, "deleted": 0}
        assert await self._versions() == before

    async def _versions(self) -> dict[tuple[str, str, str], str]:
        found = {}
        for kind, gvk in KINDS.items():
            for item in await self.listed(gvk):
                meta = item["metadata"]
                if meta["namespace"] in SPACES:
                    found[kind, meta["namespace"], meta["name"]] = meta["resourceVersion"]
        return found

    def end(self) -> None:
        if self.process.process is not None:
            self.process.process.kill()
            self.process.process.wait()
            self.process.process = None
        self.storm.close()


def post(url: str, body: dict[str, Any]) -> bytes:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as answer:
        return bytes(answer.read())


async def play(plane: Plane, seed: int, seconds: float, *, hard: bool) -> dict[str, Any]:
    """Raises AssertionError with what is not as it ought to be."""
    async with await connect(plane.kubeconfig) as user:
        chaos = Chaos(plane, user, seed, hard=hard)
        try:
            return await chaos.run(seconds)
        finally:
            chaos.end()


def main() -> None:
    parser = argparse.ArgumentParser(description="Edits, faults, kills and restarts on a real control plane.")
    parser.add_argument("--seconds", type=float, default=1200.0, help="how long edits go on (20 minutes)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same again")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as folder:
        plane = Plane(Path(folder), planes.build())
        plane.start()
        try:
            crds = Path(__file__).parents[2] / "crds"
            plane.kubectl("apply", "--server-side", "-f", str(crds))
            for crd in ("clusterrules", "rules"):
                plane.kubectl("wait", "--for=condition=Established", f"crd/{crd}.rulesengine.dev")
            print(f"seed {chosen.seed}", flush=True)
            print(json.dumps(asyncio.run(play(plane, chosen.seed, chosen.seconds, hard=True)), indent=2))
        finally:
            plane.stop()


if __name__ == "__main__":
    main()
