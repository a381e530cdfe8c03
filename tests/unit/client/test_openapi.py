"""Schemas come from the server once, one document for all the kinds of a version."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from rulesengine.client import Client, OpenAPI, Unreachable
from rulesengine.client.openapi import KEEP
from rulesengine.core.kinds import GroupVersionKind
from tests.unit.client.scripted import Asked, Scripted, ok, refused

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
SECRET = GroupVersionKind("", "v1", "Secret")
WIDGET = GroupVersionKind("example.com", "v1", "Widget")


def described(*gvks: GroupVersionKind, field: str = "data") -> Any:
    """A document with one definition per kind."""
    return {
        "openapi": "3.0.0",
        "paths": {},
        "components": {
            "schemas": {
                gvk.kind: {
                    "type": "object",
                    "properties": {field: {"type": "string"}},
                    "x-kubernetes-group-version-kind": [gvk._asdict()],
                }
                for gvk in gvks
            }
        },
    }


class Site:
    """Documents by path; a clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.documents: dict[str, Any] = {
            "/openapi/v3": {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=1"}}},
            "/openapi/v3/api/v1?hash=1": described(CONFIG_MAP, SECRET),
        }
        self.transport = Scripted(self.answer)
        self.schemas = OpenAPI(Client(self.transport), self)

    def answer(self, asked: Asked) -> Any:
        found = self.documents.get(asked.path)
        if isinstance(found, Exception):
            return found
        return ok(found) if found is not None else refused(404)

    def now(self) -> datetime:
        return datetime(2026, 1, 5, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    @property
    def asked(self) -> list[str]:
        return [a.path for a in self.transport.asked]


async def test_the_kinds_of_a_version_cost_one_document() -> None:
    """The index, the document, and nothing for the second kind or the second question."""
    site = Site()
    assert site.schemas.known(CONFIG_MAP) is None
    found, other = await asyncio.gather(site.schemas.schema(CONFIG_MAP), site.schemas.schema(SECRET))
    assert found is not None
    assert other is not None
    assert found.properties["data"].type == "string"
    assert site.schemas.known(CONFIG_MAP) is found
    assert await site.schemas.schema(CONFIG_MAP) is found
    assert site.asked == ["/openapi/v3", "/openapi/v3/api/v1?hash=1"]


async def test_only_what_was_asked_for_is_kept() -> None:
    """A document's other kinds go after a while; another question fetches it again."""
    site = Site()
    await site.schemas.schema(CONFIG_MAP)
    site.seconds = KEEP
    site.schemas._drop_old()
    assert site.schemas._documents == {}
    assert site.schemas.known(CONFIG_MAP) is not None
    assert await site.schemas.schema(SECRET) is not None
    assert len(site.asked) == 3


async def test_a_kind_that_is_not_described_is_none() -> None:
    """Nothing is known of it; it is not asked for at every question, and found when it comes."""
    site = Site()
    assert await site.schemas.schema(WIDGET) is None
    assert await site.schemas.schema(WIDGET) is None
    assert site.asked == ["/openapi/v3"]
    site.documents["/openapi/v3"] = {
        "paths": {"apis/example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=2"}}
    }
    site.documents["/openapi/v3/apis/example.com/v1?hash=2"] = described(WIDGET)
    site.seconds = 6.0
    assert await site.schemas.schema(WIDGET) is not None


async def test_a_changed_crd_is_read_anew() -> None:
    """Only its own group is forgotten."""
    site = Site()
    site.documents["/openapi/v3"]["paths"]["apis/example.com/v1"] = {"serverRelativeURL": "/w?hash=1"}
    site.documents["/w?hash=1"] = described(WIDGET)
    await site.schemas.schema(WIDGET)
    await site.schemas.schema(CONFIG_MAP)
    site.schemas.invalidate("example.com")
    assert site.schemas.known(WIDGET) is None
    assert site.schemas.known(CONFIG_MAP) is not None
    site.documents["/openapi/v3"]["paths"]["apis/example.com/v1"] = {"serverRelativeURL": "/w?hash=2"}
    site.documents["/w?hash=2"] = described(WIDGET, field="more")
    found = await site.schemas.schema(WIDGET)
    assert found is not None
    assert set(found.properties) >= {"more"}


async def test_a_server_without_openapi_has_no_schemas() -> None:
    """That is no error; an unreachable one is."""
    site = Site()
    site.documents = {}
    assert await site.schemas.schema(CONFIG_MAP) is None
    site.documents["/openapi/v3"] = Unreachable("down", sent=False)
    site.seconds = 6.0
    with pytest.raises(Unreachable):
        await site.schemas.schema(CONFIG_MAP)
