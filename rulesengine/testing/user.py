"""What a user of a case does: kubectl's verbs, each with the field manager that kubectl would use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from rulesengine.client import AlreadyExists, APIError, Conflict, Forbidden, NotFound
from rulesengine.core import json
from rulesengine.core.errors import UsageError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.testing.cases import Edit, Verb
from rulesengine.testing.cluster import Cluster

CRD = "CustomResourceDefinition"
KUBECTL = {
    Verb.APPLY: "kubectl",
    Verb.CREATE: "kubectl-create",
    Verb.REPLACE: "kubectl-replace",
    Verb.PATCH: "kubectl-patch",
    Verb.STATUS: "kubectl-patch",
    Verb.DELETE: "",
}


class User:
    """Acts on a cluster. `patience`: seconds to wait for what a server does a moment later."""

    def __init__(self, cluster: Cluster, patience: float) -> None:
        self._cluster = cluster
        self._patience = patience
        self.touched: list[Object] = []  # every object that was made or changed, in order

    async def edit(self, edit: Edit) -> None:
        """Raises APIError as the server answers, UsageError for a kind that is not served."""
        self.touched.append(edit.body)
        resource, space, name = await self._about(edit.body)
        connection, manager = self._cluster.connection, edit.manager or KUBECTL[edit.verb]
        body = edit.body
        match edit.verb:
            case Verb.APPLY:
                await connection.apply(resource, space, name, body, field_manager=manager, force=True)
            case Verb.CREATE:
                await connection.create(resource, space, body, field_manager=manager)
            case Verb.REPLACE:
                await connection.replace(resource, space, name, body, field_manager=manager)
            case Verb.PATCH:
                await connection.patch(resource, space, name, _change(body), field_manager=manager)
            case Verb.STATUS:
                status = {"status": body.get("status")}
                below = "status" if "status" in resource.subresources else ""
                await connection.patch(
                    resource, space, name, status, field_manager=manager, subresource=below
                )
            case Verb.DELETE:
                await connection.delete(resource, space, name)
        if body.get("kind") == CRD:
            await self.served(body)

    async def make(self, body: Object) -> None:
        """Creates an object with its status; one that is there already is changed to it."""
        self.touched.append(body)
        await self._soon(lambda: self._make(body))

    async def _make(self, body: Object) -> None:
        resource, space, name = await self._about(body)
        connection = self._cluster.connection
        try:
            await connection.create(resource, space, body, field_manager=KUBECTL[Verb.CREATE])
        except AlreadyExists:
            found = await self.get(body)
            if found is None or found["metadata"].get("deletionTimestamp"):
                raise
            await connection.patch(resource, space, name, _change(body), field_manager=KUBECTL[Verb.PATCH])
        if "status" in body and "status" in resource.subresources:
            await self.edit(Edit(Verb.STATUS, body))
            self.touched.pop()
        if body.get("kind") == CRD:
            await self.served(body)

    async def _soon(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Again for a moment where the server is about to be ready: a kind served late, a name set free."""
        end = time.monotonic() + self._patience
        while True:
            try:
                return await attempt()
            except (AlreadyExists, NotFound, Conflict, Forbidden, UsageError):
                if time.monotonic() > end:
                    raise
            await asyncio.sleep(0.05)

    async def served(self, crd: Object) -> None:
        """Until the kinds of a CRD are established, or it is gone."""
        end = time.monotonic() + self._patience
        while (found := await self.get(crd)) is not None and not _established(found):
            if time.monotonic() > end:
                raise UsageError(f"{CRD} {crd['metadata'].get('name')} has not become established")
            await asyncio.sleep(0.05)
        self._cluster.look_again()

    async def get(self, body: Object) -> Object | None:
        """The object of that name, None where there is none or its kind is not served."""
        try:
            resource, space, name = await self._about(body)
            return json.decode_object(await self._cluster.connection.get(resource, space, name))
        except (NotFound, UsageError):
            return None

    async def all_of(self, gvk: GroupVersionKind) -> list[Object]:
        """Every object of a kind; none where it is not served."""
        try:
            resource = await self._cluster.resource(gvk)
            listed = json.decode_object(await self._cluster.connection.list(resource))
        except (NotFound, UsageError):
            return []
        kind: Object = {"apiVersion": gvk.api_version, "kind": gvk.kind}
        return [kind | item for item in listed.get("items") or ()]

    async def remove(self, body: Object) -> None:
        """Deletes it if it is there."""
        try:
            resource, space, name = await self._about(body)
            await self._cluster.connection.delete(resource, space, name)
        except (NotFound, UsageError):
            pass

    async def gone(self, bodies: list[Object]) -> None:
        """Until none of these is there; at most for the whole patience."""
        end = time.monotonic() + self._patience
        for body in bodies:
            while time.monotonic() < end:
                if await self.get(body) is None:
                    break
                await asyncio.sleep(0.05)

    async def _about(self, body: Object) -> tuple[ResourceType, str, str]:
        meta = body["metadata"]
        resource = await self._cluster.resource(GroupVersionKind.parse(body["apiVersion"], body["kind"]))
        space = str(meta.get("namespace") or "default") if resource.namespaced else ""
        return resource, space, str(meta["name"])


def _change(body: Object) -> Object:
    """A merge patch: everything but what names the object."""
    meta = {k: v for k, v in body["metadata"].items() if k not in ("name", "namespace")}
    change = {k: v for k, v in body.items() if k not in ("apiVersion", "kind", "metadata")}
    return change | ({"metadata": meta} if meta else {})


def _established(crd: Object) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)


def explained(error: APIError) -> str:
    """What the server said, in full: a case shows its own user what it is told."""
    return f"{error.status} {error.reason}: {error.message}" if error.message else str(error)
