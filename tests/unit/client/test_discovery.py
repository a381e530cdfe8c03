"""Kinds are heard of once; a kind that comes later is found without asking for everything."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rulesengine.client import Client, Discovery, Unreachable
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from tests.unit.client.scripted import Asked, Scripted, ok, refused

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
WIDGET = GroupVersionKind("example.com", "v1", "Widget")

CONFIG_MAP_ENTRY = {
    "resource": "configmaps",
    "responseKind": {"group": "", "version": "", "kind": "ConfigMap"},
    "scope": "Namespaced",
    "singularResource": "configmap",
    "verbs": ["get", "list", "watch"],
    "shortNames": ["cm"],
}
DEPLOYMENT_ENTRY = {
    "resource": "deployments",
    "responseKind": {"kind": "Deployment"},
    "scope": "Namespaced",
    "verbs": ["list"],
    "categories": ["all"],
    "subresources": [{"subresource": "status"}, {"subresource": "scale"}],
}


def aggregated(group: str, version: str, *resources: Any, freshness: str = "Current") -> Any:
    versions = [{"version": version, "resources": list(resources), "freshness": freshness}]
    return {"metadata": {"name": group}, "versions": versions}


def document(*items: Any) -> Any:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": list(items)}


class Steps:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 5, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.time


class Server:
    """Paths and what they answer; anything else is 404."""

    def __init__(self, **_: Any) -> None:
        self.paths: dict[str, Any] = {
            "/api": document(aggregated("", "v1", CONFIG_MAP_ENTRY)),
            "/apis": document(aggregated("apps", "v1", DEPLOYMENT_ENTRY)),
        }
        self.transport = Scripted(self.answer)
        self.clock = Steps()
        self.discovery = Discovery(Client(self.transport), self.clock)

    def answer(self, asked: Asked) -> Any:
        found = self.paths.get(asked.path)
        if isinstance(found, Exception):
            return found
        return ok(found) if found is not None else refused(404, "", "404 page not found")

    @property
    def asked(self) -> list[str]:
        return [a.path for a in self.transport.asked]


async def test_everything_comes_in_two_requests_when_first_needed() -> None:
    """Nothing before the first question, then /api and /apis, then nothing more."""
    server = Server()
    assert server.discovery.known(CONFIG_MAP) is None
    found = await server.discovery.resource(CONFIG_MAP)
    assert found is not None
    assert (found.plural, found.namespaced, found.short_names) == ("configmaps", True, ("cm",))
    deployments = await server.discovery.resource(DEPLOYMENT)
    assert deployments is not None
    assert deployments.subresources == {"status", "scale"}
    assert deployments.categories == ("all",)
    assert server.asked == ["/api", "/apis"]
    assert (
        server.transport.asked[0].headers["Accept"].startswith("application/json;g=apidiscovery.k8s.io;v=v2;")
    )
    assert server.discovery.known(DEPLOYMENT) is deployments


async def test_a_missing_kind_is_looked_for_in_its_own_version_only_and_not_too_often() -> None:
    """One small request every few seconds; it is found as soon as it is served."""
    server = Server()
    assert await server.discovery.resource(WIDGET) is None
    assert await server.discovery.resource(WIDGET) is None
    assert server.asked == ["/api", "/apis", "/apis/example.com/v1"]
    server.paths["/apis/example.com/v1"] = {
        "resources": [
            {
                "name": "widgets",
                "kind": "Widget",
                "namespaced": True,
                "verbs": ["get"],
                "singularName": "widget",
            },
            {"name": "widgets/status", "kind": "Widget", "namespaced": True, "verbs": ["get"]},
        ]
    }
    assert await server.discovery.resource(WIDGET) is None
    server.clock.time = 6.0
    found = await server.discovery.resource(WIDGET)
    assert found is not None
    assert (found.plural, found.subresources) == ("widgets", {"status"})
    assert server.asked[3:] == ["/apis/example.com/v1"]


async def test_a_forgotten_kind_is_asked_for_at_once() -> None:
    """Whoever knows that a CRD came need not wait for the interval."""
    server = Server()
    assert await server.discovery.resource(WIDGET) is None
    server.paths["/apis/example.com/v1"] = {"resources": [{"name": "widgets", "kind": "Widget"}]}
    server.discovery.forget(WIDGET)
    assert await server.discovery.resource(WIDGET) is not None


async def test_a_missing_kind_of_a_served_version_is_not_asked_for_twice_in_a_row() -> None:
    """The document of a moment ago has answered already."""
    server = Server()
    assert await server.discovery.resource(GroupVersionKind("apps", "v1", "Nothing")) is None
    assert server.asked == ["/api", "/apis"]


async def test_a_refresh_of_a_group_asks_for_that_group() -> None:
    """Versions that came are known, and a group that went is not."""
    server = Server()
    await server.discovery.resource(CONFIG_MAP)
    server.paths["/apis/example.com"] = {
        "name": "example.com",
        "versions": [{"version": "v2"}, {"version": "v1"}],
    }
    server.paths["/apis/example.com/v1"] = {"resources": [{"name": "widgets", "kind": "Widget"}]}
    server.paths["/apis/example.com/v2"] = {"resources": [{"name": "widgets", "kind": "Widget"}]}
    await server.discovery.refresh("example.com")
    assert server.discovery.known(WIDGET) is not None
    assert server.discovery.preferred(GroupKind("example.com", "Widget")) == WIDGET._replace(version="v2")
    del server.paths["/apis/example.com"]
    await server.discovery.refresh("example.com")
    assert server.discovery.known(WIDGET) is None
    assert server.discovery.preferred(GroupKind("example.com", "Widget")) is None


async def test_an_old_server_is_asked_for_each_version_when_needed() -> None:
    """Plain discovery lists groups only; the resources of a version are one more request."""
    server = Server()
    server.paths = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "groups": [{"name": "apps", "versions": [{"version": "v1"}]}]},
        "/api/v1": {"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]},
        "/apis/apps/v1": {"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True}]},
    }
    assert await server.discovery.resource(DEPLOYMENT) is not None
    assert await server.discovery.resource(CONFIG_MAP) is not None
    assert await server.discovery.resource(CONFIG_MAP) is not None
    assert server.asked == ["/api", "/apis", "/apis/apps/v1", "/api/v1"]


async def test_a_stale_aggregated_group_is_asked_directly() -> None:
    """An extension server that was away when the document was made may answer itself."""
    server = Server()
    server.paths["/apis"] = document(aggregated("example.com", "v1", freshness="Stale"))
    server.paths["/apis/example.com/v1"] = {"resources": [{"name": "widgets", "kind": "Widget"}]}
    assert await server.discovery.resource(WIDGET) is not None


async def test_no_answer_is_not_the_same_as_not_served() -> None:
    """Only an answer makes a kind unserved; an unreachable server is an error."""
    server = Server()
    server.paths["/api"] = Unreachable("down", sent=False)
    with pytest.raises(Unreachable):
        await server.discovery.resource(WIDGET)
    server.paths["/api"] = document(aggregated("", "v1", CONFIG_MAP_ENTRY))
    assert await server.discovery.resource(CONFIG_MAP) is not None


async def test_what_is_known_stays_known_while_its_group_is_asked_anew() -> None:
    """A CRD of the group changed: a pass in that moment must not take its kinds for unserved."""
    known: list[object] = []
    entry = {
        "resource": "widgets",
        "responseKind": {"kind": "Widget"},
        "scope": "Namespaced",
        "verbs": ["list"],
    }
    plain = {"name": "widgets", "namespaced": True, "kind": "Widget", "verbs": ["list"]}
    paths = {
        "/api": document(),
        "/apis": document(aggregated("example.com", "v1", entry)),
        "/apis/example.com": {"kind": "APIGroup", "name": "example.com", "versions": [{"version": "v1"}]},
        "/apis/example.com/v1": {"kind": "APIResourceList", "resources": [plain]},
    }

    def answer(asked: Asked) -> Any:
        known.append(discovery.known(WIDGET))
        return ok(paths[asked.path])

    discovery = Discovery(Client(Scripted(answer)))
    await discovery.refresh()
    known.clear()
    await discovery.refresh("example.com")
    assert len(known) == 2
    assert all(known)
    del paths["/apis/example.com/v1"]["resources"]
    await discovery.refresh("example.com")
    assert discovery.known(WIDGET) is None
