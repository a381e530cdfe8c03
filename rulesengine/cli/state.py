"""Objects from files in an API server in the process: a cluster for one command.

CRDs go first and namespaces second, whatever their order in the files; a status stands as it
is written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rulesengine import api, embedded
from rulesengine.cli.files import texts
from rulesengine.client import APIError, Client, Discovery
from rulesengine.core import json
from rulesengine.core.errors import UsageError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind

MANAGER = "rulesengine-files"
_FIRST = ("CustomResourceDefinition", "Namespace")


@asynccontextmanager
async def holding(files: Sequence[str]) -> AsyncIterator[Client]:
    """A connection to a server that has the rules' CRDs and the objects in `files`."""
    async with Client(embedded.Server().transport()) as connection:
        await load(connection, files)
        yield connection


async def load(connection: Client, files: Sequence[str]) -> None:
    """Applies the CRDs of rules, then the objects of the files."""
    discovery = Discovery(connection)
    found: list[tuple[str, Any]] = [("", crd) for crd in api.crds()]
    for name, text in texts(files):
        found += [(name, body) for body in api.load_objects(text, name)]
    for name, body in sorted(found, key=lambda item: _rank(item[1])):
        await apply(connection, discovery, body, name)


def _rank(body: Object) -> int:
    kind = body.get("kind")
    return _FIRST.index(str(kind)) if kind in _FIRST else len(_FIRST)


async def apply(connection: Client, discovery: Discovery, body: Object, file: str) -> None:
    """Server-side apply of one object and of its status, missing namespaces made on the way."""
    try:
        gvk = GroupVersionKind.parse(body["apiVersion"], body["kind"])
        meta: Object = dict(body["metadata"])
        name = meta["name"]
    except (KeyError, TypeError):
        raise UsageError(f"{file}: an object needs apiVersion, kind and metadata.name") from None
    if gvk.kind == "CustomResourceDefinition":
        discovery = Discovery(connection)
    resource = await discovery.resource(gvk)
    if resource is None:
        raise UsageError(f"{file}: {gvk} is no kind of Kubernetes 1.37; add the file with its CRD")
    space = meta.setdefault("namespace", "default") if resource.namespaced else ""
    try:
        if space:
            await _namespace(connection, discovery, space)
        raw = await connection.apply(
            resource, space, name, body | {"metadata": meta}, field_manager=MANAGER, force=True
        )
        if "status" in body and "status" in resource.subresources:
            uid = json.decode_object(raw)["metadata"]["uid"]
            status = {k: body[k] for k in ("apiVersion", "kind", "status")} | {
                "metadata": {"name": name, "uid": uid} | ({"namespace": space} if space else {})
            }
            await connection.apply(
                resource, space, name, status, field_manager=MANAGER, force=True, subresource="status"
            )
    except APIError as error:
        raise UsageError(f"{file}: {gvk.kind} {name} is refused: {error}") from error


async def _namespace(connection: Client, discovery: Discovery, name: str) -> None:
    resource = await discovery.resource(GroupVersionKind("", "v1", "Namespace"))
    assert resource is not None
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await connection.apply(resource, "", name, body, field_manager=f"{MANAGER}-namespaces")
