"""What the process around an engine shows: metrics, probes and the answer to why."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rulesengine import embedded, runtime
from rulesengine.client import Client
from rulesengine.core import json
from rulesengine.core.errors import UsageError
from rulesengine.core.keys import RuleKey
from rulesengine.testing import Cluster, in_process
from tests.integration.test_engine import CONFIG_MAP, RULE, data, entry, rule, space, until

ALL = {"metrics_address": "127.0.0.1:0", "health_address": "127.0.0.1:0", "debug_address": "127.0.0.1:0"}
DEPLOY = Path(__file__).parents[2] / "deploy" / "monitoring"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with in_process() as found:
        yield found


@asynccontextmanager
async def manager(cluster: Cluster, **settings: Any) -> AsyncIterator[runtime.Manager]:
    chosen = runtime.Settings(**{"status_delay": 0.0, **ALL, **settings})
    running = runtime.Manager(cluster.connection, chosen)
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(running.engine.started.wait(), 10)
    try:
        yield running
    finally:
        running.engine.stop()
        await asyncio.wait_for(task, 40)


async def fetch(url: str, **headers: str) -> tuple[int, str]:
    def ask() -> tuple[int, str]:
        request = urllib.request.Request(url, headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    return await asyncio.to_thread(ask)


async def samples(running: runtime.Manager) -> dict[tuple[str, ...], float]:
    """Each sample by its name and its labels' values in the order of their names."""
    _, text = await fetch(f"http://{running.addresses['metrics']}/metrics")
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_metrics_tell_what_was_done(cluster: Cluster) -> None:
    """Names of controller-runtime and client-go where they mean the same, and our own."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "1"), entry("y", "1")))
    async with manager(cluster) as running:
        await until(data(cluster, "a", "y"))
        await cluster.patch(CONFIG_MAP, "a", "x", {"data": {"k": "by hand"}})

        async def repaired() -> bool:
            found = await samples(running)
            writes = found.get(("rulesengine_writes_total", "clusterrule/r", "ConfigMap", "update"))
            return writes == 1 and running.engine.idle

        await until(repaired)
        found = await samples(running)
    name = "clusterrule/r"
    assert found["rulesengine_writes_total", name, "ConfigMap", "create"] == 2
    assert found["controller_runtime_reconcile_total", name, "success"] >= 2
    assert found["controller_runtime_reconcile_total", name, "error"] == 0
    assert found["controller_runtime_reconcile_time_seconds_count", name] >= 2
    assert found["controller_runtime_active_workers", name] == 0
    assert found["workqueue_adds_total", "work"] >= 2
    assert found["workqueue_depth", "work"] == 0
    assert found["rulesengine_items", name, "converged"] == 1
    assert sum(n for key, n in found.items() if key[:2] == ("rulesengine_noops_total", name)) >= 1
    assert found["rulesengine_cache_objects", "ConfigMap"] == 2
    assert found["rulesengine_cache_bytes", "ConfigMap"] > 100
    assert 0 <= found["rulesengine_cache_lag_seconds", "ConfigMap"] < 30
    assert found["rulesengine_rules", "active"] == 1
    assert found["leader_election_master_status", "rulesengine"] == 1
    requests = {key[1:]: n for key, n in found.items() if key[0] == "rest_client_requests_total"}
    patches = {code: n for (code, _, method), n in requests.items() if method == "PATCH"}
    assert sum(patches.values()) >= 3
    assert {"200", "201"} <= set(patches)


async def test_what_is_counted_for_a_rule_goes_with_it(cluster: Cluster) -> None:
    """No series of a rule is left after its end."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "1")))
    async with manager(cluster) as running:
        await until(data(cluster, "a", "x"))
        assert any("clusterrule/r" in key for key in await samples(running))
        await cluster.delete(RULE, "", "r")

        async def gone() -> bool:
            return RuleKey("ClusterRule", "", "r") not in running.engine.rules.controllers

        await until(gone)
        assert not [key for key in await samples(running) if "clusterrule/r" in key]


async def test_probes_say_what_holds(cluster: Cluster) -> None:
    """Each check by name where one fails or somebody asks."""
    async with manager(cluster) as running:
        health = f"http://{running.addresses['health']}"
        assert await fetch(f"{health}/healthz") == (200, "ok\n")
        assert await fetch(f"{health}/readyz") == (200, "ok\n")
        status, text = await fetch(f"{health}/readyz?verbose")
        assert status == 200
        assert text == "[+]rules ok\n[+]started ok\n[+]shutdown ok\nreadyz check passed\n"
        running.engine.stop()
        running.engine.warm = False
        answer = runtime.health.answer(runtime.health.ready(running.engine), verbose=False, what="readyz")
        assert not answer.ok
        assert "[-]shutdown failed: stopping" in answer.text
        assert "[-]started failed: still starting" in answer.text


async def test_why_names_what_an_object_waits_for(cluster: Cluster) -> None:
    """The rule, its watches, the work item and its plan; never a value."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "hush"), entry("y", "${resources.x.data.missing}")))
    async with manager(cluster) as running:
        await until(data(cluster, "a", "x"))
        debug = f"http://{running.addresses['debug']}/debug/why"

        async def told() -> Any:
            status, text = await fetch(f"{debug}?rule=clusterrule/r&object=a")
            assert status == 200
            found = json.decode(text.encode())
            return found["object"]["last"] in ("waiting", "failed") and text

        text = await until(told)
        found = json.decode(text.encode())
        assert found["state"] == "active"
        assert {each["phase"] for each in found["reads"]} == {"synced"}
        plan = found["object"]["plan"]
        assert plan["matched"] is True
        assert [each["resource"] for each in plan["wanted"]] == ["x"]
        assert [each["resource"] for each in plan["waits"] + plan["unknown"]] == ["y"]
        assert plan["mayRemove"] is False
        assert "hush" not in text
        assert (await fetch(f"{debug}?rule=clusterrule/none"))[0] == 404
        assert (await fetch(f"{debug}?rule=r"))[0] == 400


@pytest.mark.parametrize(
    ("name", "address", "words"),
    [
        ("metrics_address", "8080", "expected HOST:PORT"),
        ("health_address", "127.0.0.1:99999", "expected HOST:PORT"),
        ("debug_address", ":0", "must be on 127.0.0.1"),
        ("debug_address", "0.0.0.0:0", "must be on 127.0.0.1"),
    ],
)
async def test_a_wrong_address_is_one_message(cluster: Cluster, name: str, address: str, words: str) -> None:
    """Before anything is started."""
    running = runtime.Manager(cluster.connection, runtime.Settings(**{name: address}))
    with pytest.raises(UsageError, match=words):
        await running.run()


async def test_an_address_in_use_is_one_message(cluster: Cluster) -> None:
    """And leaves nothing listening."""
    async with manager(cluster) as running:
        taken = running.addresses["metrics"]
        second = runtime.Manager(cluster.connection, runtime.Settings(metrics_address=taken))
        with pytest.raises(UsageError, match=r"cannot listen on .* \(metrics\)"):
            await second.run()


async def test_the_scrapers_form_is_served(cluster: Cluster) -> None:
    """OpenMetrics to who asks for it."""
    async with manager(cluster) as running:
        url = f"http://{running.addresses['metrics']}/metrics"
        _, text = await fetch(url, Accept="application/openmetrics-text; version=1.0.0")
        assert text.endswith("# EOF\n")


async def test_dashboard_and_alerts_name_metrics_that_exist(cluster: Cluster) -> None:
    """Every metric in a query is one that the engine serves, with the labels that the query uses."""
    await cluster.apply(space("a", on="yes"))
    await cluster.apply(rule(entry("x", "1"), entry("y", "${resources.x.data.missing}")))
    async with manager(cluster) as running:
        await until(data(cluster, "a", "x"))
        _, text = await fetch(f"http://{running.addresses['metrics']}/metrics")
    served: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        names = {family.name, f"{family.name}_total"} if family.type == "counter" else {family.name}
        for name in names:
            served.setdefault(name, set())
        for sample in family.samples:
            served.setdefault(sample.name, set()).update(sample.labels)
    found = list(queries())
    assert len(found) > 15
    for query in found:
        named = metrics_in(query)
        assert named, query
        for name, labels in named:
            assert name in served, f"{name} in {query}"
            known = served[name]
            assert labels <= known | {"le"} or not known, f"{labels - known} of {name} in {query}"


def queries() -> Any:
    """The expressions of the dashboard and of the alert rules."""
    from rulesengine import api

    board = json.decode((DEPLOY / "dashboard.json").read_bytes())
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    (alerts,) = api.load_objects((DEPLOY / "alerts.yaml").read_text(), "alerts.yaml")
    for group in alerts["spec"]["groups"]:
        for alert in group["rules"]:
            assert alert["annotations"]["summary"], alert["alert"]
            assert alert["annotations"]["description"], alert["alert"]
            yield alert["expr"]


def metrics_in(query: str) -> list[tuple[str, set[str]]]:
    """The metrics that a query names, with the labels that it matches on and groups by."""
    import re

    grouped = {
        label.strip()
        for labels in re.findall(r"\bby\s*\(([^)]*)\)", query)
        for label in labels.split(",")
        if label.strip()
    }
    found = []
    for name, matchers in re.findall(
        r"\b((?:controller_runtime|workqueue|rest_client|leader_election|rulesengine|process|python)_\w+)(?:\{([^}]*)\})?",
        query,
    ):
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        found.append((name, labels | grouped))
    return found


class Slow:
    """A connection whose writes of ConfigMaps are not answered before `go`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.server = inner.server
        self.stream = inner.stream
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def request(self, method: str, path: str, *rest: Any) -> Any:
        if method == "PATCH" and "/configmaps/" in path:
            self.asked.set()
            await self.go.wait()
        return await self._inner.request(method, path, *rest)

    async def close(self) -> None:
        pass


@asynccontextmanager
async def stopping() -> AsyncIterator[tuple[runtime.Manager, Slow, asyncio.Task[None]]]:
    """A manager that was told to stop while a write is under way."""
    server = embedded.Server()
    async with in_process(server) as other:
        await other.apply(space("a", on="yes"))
        await other.apply(rule(entry("x", "1")))
        slow = Slow(server.transport())
        running = runtime.Manager(Client(slow), runtime.Settings(**{"status_delay": 0.0, **ALL}))
        task = asyncio.create_task(running.run())
        await asyncio.wait_for(slow.asked.wait(), 10)
        running.engine.stop()
        yield running, slow, task


async def test_a_stop_lets_work_end_and_says_so() -> None:
    """Not ready, but alive and telling, until the last answer is in; then nothing listens."""
    async with stopping() as (running, slow, task):
        health = f"http://{running.addresses['health']}"
        status, text = await fetch(f"{health}/readyz")
        assert (status, "[-]shutdown failed: stopping" in text) == (500, True)
        assert (await fetch(f"{health}/healthz"))[0] == 200
        assert (await samples(running))["controller_runtime_active_workers", "clusterrule/r"] == 1
        slow.go.set()
        await asyncio.wait_for(task, 10)
        assert running.engine.complete
        with pytest.raises(urllib.error.URLError):
            await fetch(f"{health}/healthz")


async def test_a_second_stop_ends_at_once() -> None:
    """What is under way is cut, and that is known: the lease would not be given back."""
    async with stopping() as (running, _slow, task):
        running.engine.stop()
        await asyncio.wait_for(task, 10)
        assert not running.engine.complete
