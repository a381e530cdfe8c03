"""Objects from files in an API server in the process: a cluster for one command.

CRDs go first and namespaces second, whatever their order in the files; namespaces that no
file has are made on the way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from rulesengine import api
from rulesengine.cli.files import texts
from rulesengine.client import APIError, Client
from rulesengine.core.errors import UsageError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.testing import Cluster, in_process

_FIRST = ("CustomResourceDefinition", "Namespace")
_NAMESPACE = GroupVersionKind("", "v1", "Namespace")


@asynccontextmanager
async def holding(files: Sequence[str], *, any_kind: bool = False) -> AsyncIterator[Client]:
    """A connection to a server that has the CRDs of rules and the objects in `files`.

    `any_kind`: objects of kinds that nobody defines are taken as they come.
    """
    async with in_process() as cluster:
        if any_kind:
            await _know(
                cluster, [body for name, text in texts(files) for body in api.load_objects(text, name)]
            )
        await load(cluster, files)
        yield cluster.connection


async def load(cluster: Cluster, files: Sequence[str]) -> None:
    """Applies the objects of the files. Raises UsageError, naming the file, for what is refused."""
    found = [(name, body) for name, text in texts(files) for body in api.load_objects(text, name)]
    for name, body in sorted(found, key=lambda item: _rank(item[1])):
        try:
            await _apply(cluster, body)
        except APIError as error:
            about = f"{body.get('kind')} {body['metadata'].get('name')}"
            raise UsageError(f"{name}: {about} is refused: {error}") from error
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from error


async def _apply(cluster: Cluster, body: Object) -> None:
    meta = body.get("metadata")
    space = meta.get("namespace") if isinstance(meta, dict) else None
    if isinstance(space, str) and space and await cluster.get(_NAMESPACE, "", space) is None:
        await cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    await cluster.apply(body)


async def _know(cluster: Cluster, bodies: Sequence[Object]) -> None:
    """Kinds that nobody defines get a CRD that takes everything, so that their objects can be held."""
    defined = {
        (spec.get("group"), spec.get("names", {}).get("kind"))
        for body in bodies
        if body.get("kind") == "CustomResourceDefinition" and isinstance(spec := body.get("spec"), dict)
    }
    opened: dict[tuple[str, str], dict[str, bool]] = {}
    for body in bodies:
        gvk = GroupVersionKind.parse(str(body.get("apiVersion")), str(body.get("kind")))
        if (gvk.group, gvk.kind) in defined or await cluster.serves(gvk):
            continue
        meta = body.get("metadata")
        inside = isinstance(meta, dict) and bool(meta.get("namespace"))
        opened.setdefault((gvk.group, gvk.kind), {})[gvk.version] = inside
    for (group, kind), versions in opened.items():
        if group:
            await cluster.apply(_open_crd(group, kind, versions))


def _open_crd(group: str, kind: str, versions: dict[str, bool]) -> Object:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if any(versions.values()) else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": number == 0,
                    "schema": {"openAPIV3Schema": schema},
                }
                for number, version in enumerate(versions)
            ],
        },
    }


def _rank(body: Object) -> int:
    kind = body.get("kind")
    return _FIRST.index(str(kind)) if kind in _FIRST else len(_FIRST)
