"""What apply/ needs of the client, the cache and discovery, as narrow as it needs it."""

from __future__ import annotations

from typing import Protocol

from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.schema import Schema


class Client(Protocol):
    """Requests to the API server; each raises an APIError of client/ when refused."""

    async def get(self, resource: ResourceType, namespace: str, name: str) -> bytes: ...

    async def create(
        self, resource: ResourceType, namespace: str, body: Object, *, field_manager: str
    ) -> bytes: ...

    async def apply(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Object,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
    ) -> bytes: ...

    async def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Object,
        *,
        field_manager: str,
        subresource: str = "",
    ) -> bytes:
        """A JSON merge patch."""
        ...

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        propagation: str,
    ) -> bytes: ...


class Store(Protocol):
    """Where the server's answers to our writes go, so that reads see them."""

    def put(self, resource: ResourceType, raw: bytes) -> object: ...
    def drop(self, resource: ResourceType, namespace: str, name: str, uid: str) -> None:
        """A delete of ours removed the object at once."""
        ...


class Resources(Protocol):
    """Discovery: asked for a kind once, known from then on."""

    def known(self, gvk: GroupVersionKind) -> ResourceType | None: ...
    async def resource(self, gvk: GroupVersionKind) -> ResourceType | None: ...


class Schemas(Protocol):
    """Schemas of kinds: fetched once, known from then on."""

    def known(self, gvk: GroupVersionKind) -> Schema | None: ...
    async def schema(self, gvk: GroupVersionKind) -> Schema | None: ...
