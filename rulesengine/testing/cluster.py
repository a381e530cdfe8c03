"""What a user does to a cluster, on any connection: apply, patch, delete, get.

`in_process` is such a cluster on the embedded API server, with the CRDs of rules in it. An
engine beside it (`runtime.Engine(cluster.connection)`) makes it the real thing in miniature.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rulesengine import api, embedded
from rulesengine.client import Client, Discovery, NotFound
from rulesengine.core import json
from rulesengine.core.errors import UsageError
from rulesengine.core.json import Json, Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType


class Cluster:
    """A connection and the kinds behind it. Raises APIError as the server answers, UsageError for
    what is no object or no kind that the server serves.
    """

    def __init__(self, connection: Client, manager: str = "kubectl") -> None:
        self.connection = connection
        self._manager = manager
        self._discovery = Discovery(connection)

    async def apply(self, body: Object) -> Object:
        """Server-side apply, forced, of an object and then of its status, if it has one."""
        gvk, meta = _identity(body)
        name = meta["name"]
        resource = await self.resource(gvk)
        space = meta.setdefault("namespace", "default") if resource.namespaced else ""
        found = await self._apply(resource, space, name, body | {"metadata": meta})
        if "status" in body and "status" in resource.subresources:
            identity = {
                key: found["metadata"][key]
                for key in ("name", "namespace", "uid")
                if key in found["metadata"]
            }
            status = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": identity}
            found = await self._apply(resource, space, name, status | {"status": body["status"]}, "status")
        if gvk.kind == "CustomResourceDefinition":
            self.look_again()  # the kind is served from now on
        return found

    async def _apply(
        self, resource: ResourceType, space: str, name: str, body: Object, subresource: str = ""
    ) -> Object:
        raw = await self.connection.apply(
            resource, space, name, body, field_manager=self._manager, force=True, subresource=subresource
        )
        return json.decode_object(raw)

    async def patch(self, gvk: GroupVersionKind, space: str, name: str, change: Object) -> None:
        """A JSON merge patch."""
        resource = await self.resource(gvk)
        await self.connection.patch(resource, space, name, change, field_manager=self._manager)

    async def delete(self, gvk: GroupVersionKind, space: str, name: str) -> None:
        await self.connection.delete(await self.resource(gvk), space, name)

    async def get(self, gvk: GroupVersionKind, space: str, name: str) -> Object | None:
        """The object, None where there is none."""
        with contextlib.suppress(NotFound):
            return json.decode_object(await self.connection.get(await self.resource(gvk), space, name))
        return None

    async def names(self, gvk: GroupVersionKind, space: str = "") -> set[str]:
        """The names of all objects of a kind, in one namespace or in all of them."""
        found = json.decode_object(await self.connection.list(await self.resource(gvk), space))
        return {item["metadata"]["name"] for item in found["items"]}

    def look_again(self) -> None:
        """A CRD came, went or changed: what the server serves is asked for anew."""
        self._discovery = Discovery(self.connection)

    async def serves(self, gvk: GroupVersionKind) -> bool:
        return await self._discovery.resource(gvk) is not None

    async def resource(self, gvk: GroupVersionKind) -> ResourceType:
        found = await self._discovery.resource(gvk)
        if found is None:
            raise UsageError(f"the server does not serve {gvk}; apply its CRD first")
        return found


def _identity(body: Json) -> tuple[GroupVersionKind, Object]:
    """The kind and the metadata of what must be an object with a name."""
    parts: Object = body if isinstance(body, dict) else {}
    found = parts.get("metadata")
    meta: Object = dict(found) if isinstance(found, dict) else {}
    texts = (parts.get("apiVersion"), parts.get("kind"), meta.get("name"), meta.get("namespace", "x"))
    if not all(isinstance(text, str) and text for text in texts):
        raise UsageError("an object needs apiVersion, kind and metadata.name, all of them text")
    return GroupVersionKind.parse(str(texts[0]), str(texts[1])), meta


@asynccontextmanager
async def in_process(server: embedded.Server | None = None) -> AsyncIterator[Cluster]:
    """A cluster on an embedded server (a new one by default) that knows the kinds of rules."""
    async with Client((server or embedded.Server()).transport()) as connection:
        cluster = Cluster(connection)
        for crd in api.crds():
            await cluster.apply(crd)
        yield cluster
