"""`rulesengine orphans`: stamped objects whose rule or source is gone, and why they are there.

The stamp's proof is checked where the caller may read the engine's key. Without it nothing is
deleted: anybody can copy a stamp.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rulesengine import api, client, runtime
from rulesengine.cli.output import print_data
from rulesengine.client import APIError, Discovery, Forbidden, MethodNotAllowed, NotFound
from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError, UsageError
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupKind, ResourceType
from rulesengine.reconcile import ANNOTATION, LABEL, Claim, Ownership, read_claim, was_restored

PAGE = 500
MANAGER = "rulesengine-orphans"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; see `orphans --help`."""

    output: str
    adopt: bool
    delete: bool
    kubeconfig: Path | None
    context: str | None
    namespace: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """`proven`: the stamp is this engine's and about this object; None: its key could not be read."""

    resource: ResourceType
    body: Object
    claim: Claim
    gone: str
    why: str
    proven: bool | None

    @property
    def key(self) -> ObjectKey:
        meta = self.body["metadata"]
        gvk = self.resource.gvk
        return ObjectKey(gvk.group, gvk.kind, str(meta.get("namespace") or ""), str(meta["name"]))


def show_orphans(options: Options) -> int:
    """Prints them and does with them what was asked for; 1 where that failed for one."""
    if options.adopt and options.delete:
        raise UsageError("--adopt and --delete exclude each other")
    return asyncio.run(_show(options))


async def _show(options: Options) -> int:
    async with await client.connect(kubeconfig=options.kubeconfig, context=options.context) as connection:
        try:
            found = [orphan async for orphan in _orphans(connection, options.namespace)]
        except APIError as error:
            raise UsageError(f"the cluster could not be asked: {error}") from error
        done = [await _treated(connection, orphan, options) for orphan in found]
    if options.output == "text":
        sys.stdout.write("".join(_line(orphan, what) for orphan, what in zip(found, done, strict=True)))
        sys.stdout.write(f"{len(found)} orphans\n")
    else:
        print_data([_data(o, what) for o, what in zip(found, done, strict=True)], options.output)
    return 1 if any(what.startswith("left") for what in done) else 0


# --- finding them ---


async def _orphans(connection: client.Client, namespace: str) -> AsyncIterator[Orphan]:
    discovery = Discovery(connection)
    await discovery.refresh()
    ownership = await _ownership(connection, namespace)
    known = _Known(connection, discovery)
    kinds: dict[GroupKind, ResourceType] = {}
    for resource in discovery.all():  # one version of each kind
        if "list" in resource.verbs and resource.gvk.group != api.GROUP:
            kinds.setdefault(resource.gvk.group_kind, resource)
    for resource in kinds.values():
        async for body in _stamped(connection, resource):
            if (orphan := await _orphan(resource, body, ownership, known)) is not None:
                yield orphan


async def _ownership(connection: client.Client, namespace: str) -> Ownership | None:
    try:
        key = await runtime.read_key(connection, namespace)
    except RulesEngineError:
        return None
    return Ownership(key) if key is not None else None


async def _stamped(connection: client.Client, resource: ResourceType) -> AsyncIterator[Object]:
    token = ""
    while True:
        try:
            raw = await connection.list(resource, label_selector=LABEL, limit=PAGE, continue_token=token)
        except (Forbidden, MethodNotAllowed, NotFound):
            return  # not to be listed by this caller, or not at all
        page = json.decode_object(raw)
        for item in page.get("items") or ():
            yield item
        token = str(page["metadata"].get("continue") or "")
        if not token:
            return


@dataclass
class _Known:
    """Rules and sources, each asked for once."""

    connection: client.Client
    discovery: Discovery
    uids: dict[ObjectKey, str | None] = field(default_factory=dict)

    async def uid(self, key: ObjectKey) -> str | None:
        """Of what is there; "" when it is gone, None when that cannot be known."""
        if key not in self.uids:
            self.uids[key] = await self._ask(key)
        return self.uids[key]

    async def _ask(self, key: ObjectKey) -> str | None:
        gvk = self.discovery.preferred(key.group_kind)
        resource = self.discovery.known(gvk) if gvk is not None else None
        if resource is None:
            return ""  # not even its kind is there
        try:
            raw = await self.connection.get(resource, key.namespace, key.name)
        except NotFound as error:
            return "" if error.names_object else None
        except Forbidden:
            return None
        return str(json.decode_object(raw)["metadata"]["uid"])


async def _orphan(
    resource: ResourceType, body: Object, ownership: Ownership | None, known: _Known
) -> Orphan | None:
    """None where rule and source are there, or it cannot be known."""
    meta = body["metadata"]
    text = str((meta.get("annotations") or {}).get(ANNOTATION, ""))
    claim = read_claim(text)
    if claim is None:
        return None
    rule = ObjectKey(api.GROUP, claim.rule.kind, claim.rule.namespace, claim.rule.name)
    gone = ""
    for what, key, uid in (("rule", rule, claim.rule_uid), ("source", claim.source, claim.source_uid)):
        found = await known.uid(key) if key.name else uid
        if found is None:
            return None
        if found != uid:
            words = "is gone" if not found else "is another one of that name"
            gone = f"{what} {key} {words}"
            break
    if not gone:
        return None
    about = ObjectKey(
        resource.gvk.group, resource.gvk.kind, str(meta.get("namespace") or ""), str(meta["name"])
    )
    proven = None if ownership is None else ownership.verify(text, about) is not None
    return Orphan(resource, body, claim, gone, _why(body, claim, proven=proven), proven)


def _why(body: Object, claim: Claim, *, proven: bool | None) -> str:
    if proven is False:
        return "the stamp is a copy, or of an engine with another key: it proves nothing"
    if was_restored(str(body["metadata"].get("creationTimestamp", "")), claim):
        return "it was created after it was stamped: a restored copy is left to people"
    if claim.adopted:
        return "it was there before the rule: it is released and not deleted"
    if claim.keep:
        return "its resource says deletion: Orphan"
    return "the engine collects it 5 minutes after it began to look, if one is running"


# --- doing something about them ---


async def _treated(connection: client.Client, orphan: Orphan, options: Options) -> str:
    """What was done: deleted, adopted, left and why, or nothing at all."""
    meta = orphan.body["metadata"]
    space, name = str(meta.get("namespace") or ""), str(meta["name"])
    try:
        if options.delete:
            if not orphan.proven:
                return "left: only what is proven to be the engine's is deleted"
            await connection.delete(
                orphan.resource, space, name, uid=meta["uid"], resource_version=meta["resourceVersion"]
            )
            return "deleted"
        if options.adopt:
            change = {
                "metadata": {
                    "resourceVersion": meta["resourceVersion"],
                    "annotations": {ANNOTATION: None},
                    "labels": {LABEL: None},
                }
            }
            await connection.patch(orphan.resource, space, name, change, field_manager=MANAGER)
            return "adopted"
    except APIError as error:
        return f"left: {error}"
    return ""


def _line(orphan: Orphan, done: str) -> str:
    made = f"made by {orphan.claim.rule} {orphan.claim.entry}"
    said = f"  {done}\n" if done else ""
    return f"{orphan.key}\n  {made}; {orphan.gone}\n  {orphan.why}\n{said}"


def _data(orphan: Orphan, done: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "object": str(orphan.key),
        "rule": str(orphan.claim.rule),
        "resource": orphan.claim.entry,
        "source": str(orphan.claim.source),
        "gone": orphan.gone,
        "why": orphan.why,
        "proven": orphan.proven,
    }
    return found | ({"done": done} if done else {})
