"""Forecasts: what `diff` shows is what the engine then does, and looking changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rulesengine import api, embedded
from rulesengine.client import Client, Discovery
from rulesengine.core import json
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.runtime import Engine, RuleForecast, Settings, forecast, stored_rule

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def rule(*names: str, kind: str = "ConfigMap", mode: str = "Enforce", label: str = "on") -> str:
    """For every ConfigMap with the label, a Secret (or so) for each name."""
    entries = [
        {
            "name": name,
            "template": {
                "apiVersion": "v1",
                "kind": kind,
                "metadata": {"name": "${object.metadata.name}-" + name},
                "data": {"k": "${object.data.k}"},
            },
        }
        for name in names
    ]
    source = {"apiVersion": "v1", "kind": "ConfigMap", "selector": {"matchLabels": {label: "yes"}}}
    spec = {"mode": mode, "for": source, "resources": entries}
    body = {"apiVersion": "rulesengine.dev/v1alpha1", "kind": "ClusterRule", "metadata": {"name": "r"}}
    return json.encode(body | {"spec": spec}).decode()


def models(text: str) -> list[Any]:
    found, findings = api.rules_from(text, "rule.yaml")
    assert not findings
    return found


class Cluster:
    """The embedded server, with a user's hands."""

    def __init__(self) -> None:
        self.client = Client(embedded.Server().transport())
        self.discovery = Discovery(self.client)

    async def apply(self, body: dict[str, Any]) -> None:
        gvk = GroupVersionKind.parse(body["apiVersion"], body["kind"])
        resource = await self.discovery.resource(gvk)
        assert resource is not None
        meta = body["metadata"]
        space = meta.get("namespace", "")
        await self.client.apply(resource, space, meta["name"], body, field_manager="user", force=True)

    async def source(self, name: str, **data: str) -> None:
        meta = {"name": name, "namespace": "default", "labels": {"on": "yes"}}
        await self.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})

    async def rule(self, text: str) -> None:
        await self.apply(json.decode(text))

    async def forecast(self, text: str) -> RuleForecast:
        (found,) = await forecast(self.client, models(text), Settings())
        return found

    async def version(self) -> str:
        """Moves with every write to a ConfigMap, Secret or rule."""
        versions = []
        for gvk in (CONFIG_MAP, GroupVersionKind("", "v1", "Secret")):
            resource = await self.discovery.resource(gvk)
            assert resource is not None
            found = json.decode(await self.client.list(resource, ""))
            versions += [item["metadata"]["resourceVersion"] for item in found["items"]]
        return ",".join(sorted(versions))

    async def converge(self) -> None:
        """Runs an engine until it has nothing to do."""
        engine = Engine(self.client, Settings(status_delay=0.0))
        running = asyncio.create_task(engine.run())
        await asyncio.wait_for(engine.started.wait(), 10)
        for _ in range(2000):
            if engine.idle and all(c.planned for c in engine.rules.controllers.values()):
                break
            await asyncio.sleep(0.01)
        else:
            raise AssertionError("the engine does not come to rest")
        engine.stop()
        await running


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    cluster = Cluster()
    for crd in api.crds():
        await cluster.apply(crd)
    yield cluster
    await cluster.client.close()


def changes(told: RuleForecast) -> list[tuple[str, str]]:
    return [(p.operation, p.key.name) for source in told.sources for p in source.previews]


async def test_a_rule_that_is_not_applied_yet_shows_what_it_would_create(cluster: Cluster) -> None:
    """Every object of every source; and nothing is written, not even a key."""
    for name in ("a", "b"):
        await cluster.source(name, k="1")
    before = await cluster.version()
    told = await cluster.forecast(rule("x", kind="Secret"))
    assert changes(told) == [("create", "a-x"), ("create", "b-x")]
    assert (told.stored, told.tally.counts["pendingCreates"]) == (False, 2)
    assert await cluster.version() == before


async def test_after_the_engine_did_it_nothing_is_left_to_show(cluster: Cluster) -> None:
    """The same rule, applied and converged."""
    await cluster.source("a", k="1")
    await cluster.rule(rule("x"))
    await cluster.converge()
    told = await cluster.forecast(rule("x"))
    assert changes(told) == []
    assert told.stored
    assert told.tally.counts["converged"] == 1


async def test_a_changed_rule_shows_updates_and_deletes(cluster: Cluster) -> None:
    """An entry that is gone, one that stays, one that is new; then the engine does just that."""
    await cluster.source("a", k="1")
    await cluster.rule(rule("x", "y"))
    await cluster.converge()
    await cluster.source("a", k="2")
    text = rule("y", "z")
    expected = [("create", "a-z"), ("delete", "a-x"), ("update", "a-y")]
    assert sorted(changes(await cluster.forecast(text))) == expected
    await cluster.rule(text)
    await cluster.converge()
    assert changes(await cluster.forecast(text)) == []


async def test_a_kind_that_the_rule_no_longer_names_is_seen(cluster: Cluster) -> None:
    """What it once made of it is known from the stored rule's status."""
    await cluster.source("a", k="MQ==")
    await cluster.rule(rule("x", kind="Secret"))
    await cluster.converge()
    told = await cluster.forecast(rule("x", kind="ConfigMap"))
    assert [(p.operation, p.key.kind) for p in told.sources[0].previews] == [
        ("create", "ConfigMap"),
        ("delete", "Secret"),
    ]


async def test_sources_that_are_no_longer_selected_are_seen(cluster: Cluster) -> None:
    """What was made for them goes."""
    await cluster.source("a", k="1")
    await cluster.rule(rule("x"))
    await cluster.converge()
    assert changes(await cluster.forecast(rule("x", label="other"))) == [("delete", "a-x")]


async def test_a_suspended_rule_would_do_nothing(cluster: Cluster) -> None:
    """As in the engine."""
    await cluster.source("a", k="1")
    assert changes(await cluster.forecast(rule("x", mode="Suspended"))) == []


async def test_a_stored_rule_can_be_named_instead_of_given(cluster: Cluster) -> None:
    """A rule in the cluster is read from there; one that is not is a clear error."""
    await cluster.rule(rule("x"))
    model = await stored_rule(cluster.client, RuleKey("ClusterRule", "", "r"))
    assert model.key == RuleKey("ClusterRule", "", "r")
    with pytest.raises(UsageError, match="there is no ClusterRule none"):
        await stored_rule(cluster.client, RuleKey("ClusterRule", "", "none"))


async def test_all_mistakes_of_all_rules_are_told_at_once(cluster: Cluster) -> None:
    """Not the first rule's only."""
    wrong = rule("x").replace("${object.data.k}", "${nothing.here}")
    two = [*models(wrong), *models(wrong.replace('"name":"r"', '"name":"s"'))]
    with pytest.raises(FindingsError) as caught:
        await forecast(cluster.client, two, Settings())
    assert len(caught.value.findings) == 2


async def test_a_forecast_leaves_no_watch_and_no_task(cluster: Cluster) -> None:
    """It is over when it is told."""
    await cluster.source("a", k="1")
    before = asyncio.all_tasks()
    await cluster.forecast(rule("x"))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
