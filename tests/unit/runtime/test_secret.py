"""The owner key: one for all engines, made once, never replaced in silence."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import Any

import pytest

from rulesengine.client import AlreadyExists, Forbidden, NotFound
from rulesengine.core import json
from rulesengine.core.kinds import ResourceType
from rulesengine.runtime.secret import NAME, NoOwnerKey, owner_key, read_key

SPACE = "rulesengine-system"


class FakeServer:
    """Secrets and namespaces, with the server's answers."""

    def __init__(self, *namespaces: str) -> None:
        self.namespaces = set(namespaces)
        self.secret: dict[str, Any] | None = None
        self.requests: list[str] = []
        self.forbidden: set[str] = set()

    async def get(self, resource: ResourceType, namespace: str, name: str) -> bytes:
        await self._request(f"get {resource.plural}")
        if self.secret is None:
            raise NotFound(404, "NotFound", details={"name": NAME, "kind": "secrets"})
        return json.encode(self.secret)

    async def create(self, resource: ResourceType, namespace: str, body: Any, *, field_manager: str) -> bytes:
        await self._request(f"create {resource.plural}")
        if resource.plural == "namespaces":
            if body["metadata"]["name"] in self.namespaces:
                raise AlreadyExists(409, "AlreadyExists")
            self.namespaces.add(body["metadata"]["name"])
            return b"{}"
        if namespace not in self.namespaces:
            raise NotFound(404, "NotFound", details={"name": namespace, "kind": "namespaces"})
        if self.secret is not None:
            raise AlreadyExists(409, "AlreadyExists")
        self.secret = body
        return json.encode(body)

    async def _request(self, what: str) -> None:
        self.requests.append(what)
        await asyncio.sleep(0)
        if what in self.forbidden:
            raise Forbidden(403, "Forbidden")


async def never() -> bool:
    return False


async def ever() -> bool:
    return True


async def key_of(server: FakeServer, written: Any = never) -> bytes:
    return await owner_key(server, SPACE, written)  # type: ignore[arg-type]


async def test_the_first_engine_makes_key_and_namespace() -> None:
    """32 random bytes, in a Secret that nobody can change by mistake."""
    server = FakeServer()
    key = await key_of(server)
    assert len(key) == 32
    assert server.secret is not None
    assert server.secret["immutable"] is True
    assert SPACE in server.namespaces


async def test_a_restart_costs_one_request() -> None:
    """And finds the same key."""
    server = FakeServer(SPACE)
    key = await key_of(server)
    server.requests.clear()
    assert await key_of(server, ever) == key
    assert server.requests == ["get secrets"]


async def test_engines_that_start_together_agree() -> None:
    """Whoever is first makes the key of all."""
    server = FakeServer()
    keys = await asyncio.gather(*(key_of(server) for _ in range(5)))
    assert len(set(keys)) == 1


async def test_a_key_that_is_lost_is_not_replaced_in_silence() -> None:
    """With another key nothing that was made could be proven."""
    server = FakeServer(SPACE)
    with pytest.raises(NoOwnerKey, match="Restore the Secret"):
        await key_of(server, ever)
    assert server.secret is None


@pytest.mark.parametrize("value", ["", "!!", base64.b64encode(b"short").decode(), 5])
async def test_a_damaged_key_is_an_error(value: Any) -> None:
    """And is left as it is."""
    server = FakeServer(SPACE)
    server.secret = {"data": {"key": value}}
    with pytest.raises(NoOwnerKey, match="damaged"):
        await key_of(server)
    assert server.secret == {"data": {"key": value}}


@pytest.mark.parametrize("what", ["get secrets", "create secrets"])
async def test_missing_rights_say_what_to_allow(what: str) -> None:
    """One clear message."""
    server = FakeServer(SPACE)
    server.forbidden.add(what)
    with pytest.raises(NoOwnerKey, match=f"may not .*{SPACE}/{NAME}"):
        await key_of(server)


async def test_reading_makes_nothing() -> None:
    """A dry run looks for the key and does not need one."""
    server = FakeServer(SPACE)
    assert await read_key(server, SPACE) is None  # type: ignore[arg-type]
    assert server.requests == ["get secrets"]


async def test_the_key_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Neither raw nor encoded."""
    server = FakeServer()
    with caplog.at_level(logging.DEBUG):
        key = await key_of(server)
    said = caplog.text + repr([vars(r) for r in caplog.records])
    assert base64.b64encode(key).decode() not in said
    assert repr(key) not in said
