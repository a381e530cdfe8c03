"""`rulesengine uninstall`: rules first, while an engine is there to clean up after them, then the rest.

--prune: what rules made goes with them. --keep: it is released, field by field, and stays. In both
cases nothing of the engine is left: no rule, CRD, role, webhook or namespace.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rulesengine import api, client
from rulesengine.cli.manifests import PART_OF, Options, manifests
from rulesengine.client import Client, Discovery, NotFound
from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType

LOOK = 0.5  # seconds between looks at what is still there
MANAGER = "rulesengine-uninstall"
KINDS = tuple(GroupVersionKind.parse(api.API_VERSION, kind) for kind in ("ClusterRule", "Rule"))


class StillThere(RulesEngineError):
    """Rules do not go; nothing else was removed."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line said. `keep`: what rules made stays."""

    keep: bool
    namespace: str
    timeout: float
    kubeconfig: Path | None
    context: str | None


def uninstall(wish: Wish) -> int:
    """0 when nothing is left; raises StillThere when rules do not go in time."""
    asyncio.run(remove_all(wish))
    return 0


async def remove_all(wish: Wish) -> None:
    async with await client.connect(wish.kubeconfig, wish.context) as connection:
        discovery = Discovery(connection)
        rules = [resource for kind in KINDS if (resource := await discovery.resource(kind)) is not None]
        await _remove_rules(connection, rules, wish)
        for kind in _kinds(wish.namespace):
            resource = await discovery.resource(kind)
            if resource is not None:
                await _remove(connection, resource)


async def _remove_rules(connection: Client, resources: list[ResourceType], wish: Wish) -> None:
    for resource in resources:
        for body in await _items(connection, resource):
            where = body["metadata"].get("namespace", ""), body["metadata"]["name"]
            if wish.keep:
                change: Object = {"spec": {"onRuleDeletion": "Orphan"}}
                await connection.patch(resource, *where, change, field_manager=MANAGER)
            await _delete(connection, resource, *where)
    end = time.monotonic() + wish.timeout
    while left := [name for resource in resources for name in await _names(connection, resource)]:
        if time.monotonic() > end:
            shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
            raise StillThere(
                f"{shown} did not go within {wish.timeout:g} s; nothing else was removed. Is an engine "
                "running? `kubectl describe` says what a rule waits for; annotation "
                "rulesengine.dev/abandon lets it go and leaves what it made"
            )
        await asyncio.sleep(LOOK)


def _kinds(namespace: str) -> Iterator[GroupVersionKind]:
    """Of everything that `install` prints, in the reverse order of its being applied."""
    found = manifests(Options(namespace, ""), (), lambda _: None)
    kinds = [GroupVersionKind.parse(body["apiVersion"], body["kind"]) for body in found]
    last = [kind for kind in kinds if kind.kind in ("Namespace", "CustomResourceDefinition")]
    yield from dict.fromkeys([*reversed([kind for kind in kinds if kind not in last]), *reversed(last)])


async def _remove(connection: Client, resource: ResourceType) -> None:
    """What `install` has made of a kind, by its label."""
    label = ",".join(f"{key}={value}" for key, value in PART_OF.items())
    for body in await _items(connection, resource, label):
        where = body["metadata"].get("namespace", ""), body["metadata"]["name"]
        await _delete(connection, resource, *where)
        sys.stdout.write(f"{resource.group_resource} {'/'.join(filter(None, where))} deleted\n")


async def _delete(connection: Client, resource: ResourceType, namespace: str, name: str) -> None:
    try:
        await connection.delete(resource, namespace, name, propagation="Background")
    except NotFound:
        return


async def _items(connection: Client, resource: ResourceType, label: str = "") -> list[Object]:
    try:
        raw = await connection.list(resource, label_selector=label)
    except NotFound:
        return []
    return list(json.decode_object(raw).get("items") or ())


async def _names(connection: Client, resource: ResourceType) -> list[str]:
    found = [body["metadata"] for body in await _items(connection, resource)]
    return ["/".join(filter(None, (meta.get("namespace", ""), meta["name"]))) for meta in found]
