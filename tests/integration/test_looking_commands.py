"""Commands that look: render and graph on files, status and orphans on a cluster behind a socket."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rulesengine import api, embedded, runtime
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.core.settings import Settings
from rulesengine.testing import Cluster, in_process
from tests.integration.test_commands import run

BASELINE = Path(__file__).parents[2] / "rules" / "tenancy" / "baseline" / "rule.yaml"
EXAMPLES = Path(__file__).parents[2] / "examples"
RULE = GroupVersionKind("rulesengine.dev", "v1alpha1", "ClusterRule")
QUOTA = GroupVersionKind("", "v1", "ResourceQuota")
BLUE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blue", "labels": {"tenant": "true"}}}
LOOP = """\
apiVersion: rulesengine.dev/v1alpha1
kind: ClusterRule
metadata: {name: there}
spec:
  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {way: there}}}
  resources:
  - {name: s, template: {apiVersion: v1, kind: Secret, metadata: {name: "a-${object.metadata.name}"}}}
  - name: t
    includeWhen: ["true"]
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${resources.s.metadata.name}"}
      spec: {ports: [{port: 80}]}
---
apiVersion: rulesengine.dev/v1alpha1
kind: ClusterRule
metadata: {name: back}
spec:
  for: {apiVersion: v1, kind: Secret}
  resources:
  - name: c
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "b-${object.metadata.name}", labels: {way: BACK}}
"""


# --- render ---


def test_render_prints_what_the_engine_would_apply(tmp_path: Path) -> None:
    """As YAML documents without the engine's marks; objects that do not match are said."""
    file = tmp_path / "objects.yaml"
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    file.write_text(api.dump(BLUE) + "---\n" + api.dump(other))
    done = run("render", str(BASELINE), "--object", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    found = api.load_objects(done.stdout, "stdout")
    assert [(o["kind"], o["metadata"]) for o in found] == [
        ("ResourceQuota", {"name": "base", "namespace": "blue"}),
        ("LimitRange", {"name": "base", "namespace": "blue"}),
        ("NetworkPolicy", {"name": "default-deny", "namespace": "blue"}),
    ]
    data = json.loads(run("render", str(BASELINE), "--object", str(file), "-o", "json").stdout)
    assert [item["object"] for item in data] == found
    assert [item["resource"] for item in data] == ["quota", "defaults", "deny"]


def test_render_takes_kinds_that_nobody_defines() -> None:
    """No CRD is needed; what waits is said on standard error."""
    app = EXAMPLES / "web-app"
    done = run("render", str(app / "rule.yaml"), "--object", str(app / "objects.yaml"))
    kinds = [body["kind"] for body in api.load_objects(done.stdout, "stdout")]
    assert kinds[:2] == ["Deployment", "Service"]
    assert "waits for" in done.stderr


def test_render_says_what_cannot_be_known(tmp_path: Path) -> None:
    """Exit 1 for an evaluation that fails, and for a rule about something else a word."""
    (tmp_path / "rule.yaml").write_text(
        BASELINE.read_text().replace(
            "object.metadata.labels[?'size'].orValue('')", "object.metadata.labels['size']"
        )
    )
    file = tmp_path / "blue.yaml"
    file.write_text(api.dump(BLUE))
    done = run("render", str(tmp_path / "rule.yaml"), "--object", str(file))
    assert done.returncode == 1
    assert "quota: EvaluationFailed" in done.stderr
    assert "LimitRange" in done.stdout
    file.write_text(api.dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}))
    assert "none of the objects" in run("render", str(BASELINE), "--object", str(file)).stderr


# --- graph ---


def graph(tmp_path: Path, text: str, form: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    return run("graph", str(file), "-o", form)


def test_a_loop_is_found_and_drawn_in_red(tmp_path: Path) -> None:
    """Exit 1, in every form; where labels show that there is none, 0 and nothing red."""
    loop = LOOP.replace("BACK", "there")
    done = graph(tmp_path, loop, "text")
    assert done.returncode == 1
    assert "loop: ClusterRule there → ClusterRule back → ClusterRule there" in done.stdout
    assert "makes   Service (resource t, if included, after s)" in done.stdout
    for form, red in (("mermaid", "stroke:red"), ("dot", "color=red"), ("svg", 'stroke="#c00"')):
        done = graph(tmp_path, loop, form)
        assert (done.returncode, red in done.stdout) == (1, True)
        assert "loop: " in done.stderr
        done = graph(tmp_path, LOOP.replace("BACK", "elsewhere"), form)
        assert (done.returncode, red in done.stdout, done.stderr) == (0, False, "")


def test_a_picture_has_every_kind_and_every_rule(tmp_path: Path) -> None:
    """Boxes do not lie upon each other, and nothing is outside of the picture."""
    root = ET.fromstring(graph(tmp_path, LOOP.replace("BACK", "there"), "svg").stdout)
    name = "{http://www.w3.org/2000/svg}"
    texts = {element.text for element in root.iter(f"{name}text")}
    assert {"ClusterRule there", "ClusterRule back", "ConfigMap", "Secret", "Service", "t? after s"} <= texts
    boxes = [[float(r.get(k, "")) for k in ("x", "y", "width", "height")] for r in root.iter(f"{name}rect")]
    assert len(boxes) == 5
    for index, (x, y, w, h) in enumerate(boxes):
        assert x + w <= float(root.get("width", ""))
        assert y + h <= float(root.get("height", ""))
        for ox, oy, ow, oh in boxes[:index]:
            assert x >= ox + ow or ox >= x + w or y >= oy + oh or oy >= y + h


def test_rules_that_are_no_good_are_not_drawn(tmp_path: Path) -> None:
    done = graph(tmp_path, LOOP.replace("object.metadata", "objct.metadata"), "text")
    assert (done.returncode, done.stdout) == (1, "")
    assert "undeclared reference to 'objct'" in done.stderr


# --- status and orphans ---


@dataclass
class Served:
    """A cluster in this process behind a socket, with an engine when it is wanted."""

    cluster: Cluster
    kubeconfig: Path

    async def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        return await asyncio.to_thread(run, *arguments, env=env)

    async def data(self, *arguments: str) -> Any:
        return json.loads((await self.command(*arguments, "-o", "json")).stdout)

    async def converged(self, count: int) -> None:
        for _ in range(1000):
            rule = await self.cluster.get(RULE, "", "tenant-baseline")
            if rule is not None and rule.get("status", {}).get("converged") == count:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the rule has not converged")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with (
        embedded.serve(port=0, kubeconfig=tmp_path / "config") as running,
        in_process(running.server) as cluster,
    ):
        await cluster.apply(BLUE)
        for body in api.load_objects(BASELINE.read_text(), "rule.yaml"):
            await cluster.apply(body)
        yield Served(cluster, tmp_path / "config")


async def work(served: Served, *, until: int) -> None:
    """An engine that runs until so many work items have converged."""
    engine = runtime.Engine(served.cluster.connection, Settings(status_interval=0, status_delay=0))
    task = asyncio.create_task(engine.run())
    await served.converged(until)
    engine.stop()
    await task


async def test_status_says_how_far_rules_are(served: Served) -> None:
    """Exit 1 until they are ready; with --all each source."""
    done = await served.command("status")
    assert done.returncode == 1
    assert "no status yet: is an engine running?" in done.stdout
    (before,) = await served.data("status", "--all")
    assert before["sources"] == [{"source": "blue", "state": "changes", "message": "3 to create"}]
    await work(served, until=1)
    done = await served.command("status", "tenant-baseline")
    assert done.returncode == 0
    head, row = done.stdout.splitlines()
    assert head.split() == ["RULE", "MODE", "READY", "MATCHED", "CONVERGED", "WAITING", "FAILED"]
    assert row.split() == ["ClusterRule", "tenant-baseline", "Enforce", "True", "1", "1", "0", "0"]
    done = await served.command("status", "clusterrule/nothing")
    assert (
        done.returncode,
        "there is no rule clusterrule/nothing; there are: tenant-baseline" in done.stderr,
    ) == (2, True)


async def test_orphans_are_listed_with_the_reason_and_dealt_with(served: Served) -> None:
    """Whose rule went while no engine ran; only what is proven is deleted; adopted ones are the user's."""
    await work(served, until=1)
    assert await served.data("orphans") == []
    await served.cluster.patch(RULE, "", "tenant-baseline", {"metadata": {"finalizers": None}})
    await served.cluster.delete(RULE, "", "tenant-baseline")
    quota = await served.cluster.get(QUOTA, "blue", "base")
    assert quota is not None
    meta = quota["metadata"]
    copy = {"name": "copy", "namespace": "blue", "labels": meta["labels"], "annotations": meta["annotations"]}
    await served.cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": copy})

    found = {item["object"]: item for item in await served.data("orphans")}
    assert set(found) == {
        "ResourceQuota blue/base",
        "ResourceQuota blue/copy",
        "LimitRange blue/base",
        "NetworkPolicy.networking.k8s.io blue/default-deny",
    }
    assert found["ResourceQuota blue/base"]["proven"] is True
    assert (
        found["ResourceQuota blue/base"]["gone"] == "rule ClusterRule.rulesengine.dev tenant-baseline is gone"
    )
    assert found["ResourceQuota blue/copy"]["proven"] is False
    done = await served.command("orphans", "--delete")
    assert done.returncode == 1
    assert "left: only what is proven" in done.stdout
    assert await served.cluster.names(QUOTA) == {"copy"}
    done = await served.command("orphans", "--adopt")
    assert (done.returncode, "adopted" in done.stdout) == (0, True)
    copied = await served.cluster.get(QUOTA, "blue", "copy")
    assert copied is not None
    assert "rulesengine.dev/owner" not in copied["metadata"].get("annotations", {})
    assert await served.data("orphans") == []
    assert (await served.command("orphans", "--adopt", "--delete")).returncode == 2
