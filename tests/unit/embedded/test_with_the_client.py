"""The project's own client on the embedded server, in process and over HTTP."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rulesengine import client, embedded
from rulesengine.core import json
from rulesengine.core.kinds import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
WIDGET = GroupVersionKind("example.com", "v1", "Widget")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


@pytest.fixture(params=["in process", "http"])
async def connected(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[client.Client]:
    if request.param == "in process":
        async with client.Client(embedded.Server().transport()) as connection:
            yield connection
        return
    path = tmp_path / "config"
    async with embedded.serve(kubeconfig=path), await client.connect(kubeconfig=path) as connection:
        yield connection


async def test_create_read_apply_delete(connected: client.Client) -> None:
    """The verbs that the engine uses, with their typed errors."""
    resource = await client.Discovery(connected).resource(CONFIG_MAP)
    assert resource is not None
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    await connected.apply(resource, "default", "a", body, field_manager="me")
    with pytest.raises(client.AlreadyExists):
        await connected.create(resource, "default", body, field_manager="me")
    changed = {**body, "data": {"k": "w"}}
    with pytest.raises(client.Conflict):
        await connected.apply(resource, "default", "a", changed, field_manager="you")
    got = json.decode_object(await connected.get(resource, "default", "a"))
    assert got["data"] == {"k": "v"}
    await connected.delete(resource, "default", "a", uid=got["metadata"]["uid"])
    with pytest.raises(client.NotFound) as caught:
        await connected.get(resource, "default", "a")
    assert caught.value.names_object


async def test_watching_from_the_beginning(connected: client.Client) -> None:
    """A streaming list and what follows it, through the client's lines."""
    resource = await client.Discovery(connected).resource(CONFIG_MAP)
    assert resource is not None
    parameters = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    await connected.create(resource, "default", body, field_manager="me")
    async with connected.watch(resource, "default", parameters=parameters) as lines:
        seen = []
        async for line in lines:
            event = json.decode(line)
            seen.append(event["type"])
            if event["type"] == "BOOKMARK":
                await connected.delete(resource, "default", "a")
            if event["type"] == "DELETED":
                break
    assert seen == ["ADDED", "BOOKMARK", "DELETED"]


async def test_a_new_kind_is_discovered_with_its_schema(connected: client.Client) -> None:
    """Discovery and OpenAPI show a CRD as soon as it is there."""
    discovery, schemas = client.Discovery(connected), client.OpenAPI(connected)
    crd = await discovery.resource(CRD)
    assert crd is not None
    spec = {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    await connected.create(crd, "", body, field_manager="me")
    await discovery.refresh()
    resource = await discovery.resource(WIDGET)
    assert resource is not None
    assert (resource.plural, resource.namespaced) == ("widgets", True)
    found = await schemas.schema(WIDGET)
    assert found is not None
    size = found.at("spec", "size")
    assert size is not None
    assert (size.type, size.default) == ("integer", 3)


async def test_the_kubeconfig_is_for_its_owner_only(tmp_path: Path) -> None:
    """Mode 0600, even where a wider file was there before."""
    path = tmp_path / "config"
    path.write_text("old")
    path.chmod(0o644)
    async with embedded.serve(kubeconfig=path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
