"""What a plan would do, asked of the server with dryRun=All and changed nowhere.

The same executor runs, with a client that sends dry runs and a ledger that only looks, so
that what is shown is what happens.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rulesengine import ssa
from rulesengine.apply.answers import heard, in_missing_namespace
from rulesengine.apply.breaker import Breaker
from rulesengine.apply.decide import Write
from rulesengine.apply.executor import NAMESPACE, Executor
from rulesengine.apply.memory import Memory
from rulesengine.apply.ports import Client, Resources, Schemas
from rulesengine.apply.preview import Glances, Preview, previewed, visible
from rulesengine.client import APIError
from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import ResourceType
from rulesengine.core.ports import Live
from rulesengine.reconcile.plan import Plan, Result, Wanted


@dataclass(frozen=True, slots=True)
class Forecast:
    """What `execute` would say of a plan, and the changes behind it."""

    result: Result
    previews: tuple[Preview, ...]


class DryRun:
    """As Executor, for a rule in mode DryRun and for `rulesengine diff`: nothing is changed.

    `client` must send dry runs only (client.dry_run).
    """

    def __init__(self, client: Client, resources: Resources, schemas: Schemas, clock: Clock) -> None:
        self._client = client
        self._resources = resources
        self._schemas = schemas
        self._clock = clock
        self._coming: set[str] = set()

    def expect(self, namespaces: Collection[str]) -> None:
        """Namespaces that something else of this run creates; those of earlier plans are known."""
        self._coming.update(namespaces)

    async def execute(self, plan: Plan) -> Result:
        """What Executor.execute would answer."""
        return (await self.forecast(plan)).result

    async def forecast(self, plan: Plan) -> Forecast:
        """What would become of the plan, with the objects before and after."""
        client, glances = _Foresight(self._client, self._coming), Glances()
        executor = Executor(
            client,
            _Look(glances),
            self._resources,
            self._schemas,
            Memory(),  # nothing is remembered: what would have been written was not
            self._clock,
            breaker=Breaker(fights=1 << 30, writes=1 << 30),  # nothing is written, so nothing loops
        )
        # the collector's patience delays a removal, it does not change what will have happened
        patient = replace(plan, unwanted=tuple(replace(item, wait_until=None) for item in plan.unwanted))
        result = await executor.execute(patient)
        glances.local.update(client.local)
        for wanted in plan.wanted:
            if wanted.live is not None and wanted.live.foreign:
                await self._read(wanted, glances)
        shown = [previewed(plan, done, glances) for done in result.done]
        previews = tuple(preview for _, preview in shown if preview is not None)
        return Forecast(Result(plan, tuple(done for done, _ in shown)), previews)

    async def _read(self, wanted: Wanted, glances: Glances) -> None:
        """A foreign object as it is, of which the cache has the identity only."""
        resource = self._resources.known(wanted.gvk)
        if resource is None or (wanted.key, "") not in glances.after:
            return
        try:
            raw = await self._client.get(resource, wanted.key.namespace, wanted.key.name)
        except APIError:
            return  # gone since it was read a moment ago: shown against nothing
        glances.before[wanted.key] = json.decode_object(raw)


class _Look:
    """A ledger that keeps the answers of one plan for comparing, and enters them nowhere."""

    def __init__(self, glances: Glances) -> None:
        self._glances = glances

    def accept(self, write: Write, live: Live | None, resource: ResourceType, raw: bytes) -> bool:
        """A dry run leaves resourceVersion as it was: whether it would move shows in the object."""
        del resource
        after = json.decode_object(raw)
        self._glances.after[write.child.key, write.child.part] = after
        return live is None or live.foreign or _moves(live.object(), after, write)

    def seen(self, resource: ResourceType, raw: bytes) -> None:
        found = json.decode_object(raw)
        meta = found["metadata"]
        kind = resource.gvk
        self._glances.read[ObjectKey(kind.group, kind.kind, meta.get("namespace", ""), meta["name"])] = found

    def gone(self, resource: ResourceType, key: ObjectKey, uid: str) -> None:
        """Not really."""


class _Foresight:
    """A client that answers itself where the server cannot: in a namespace this run creates."""

    def __init__(self, client: Client, coming: set[str]) -> None:
        self._client = client
        self._coming = coming
        self.local: set[ObjectKey] = set()

    async def get(self, resource: ResourceType, namespace: str, name: str) -> bytes:
        return await self._client.get(resource, namespace, name)

    async def create(
        self, resource: ResourceType, namespace: str, body: Object, *, field_manager: str
    ) -> bytes:
        return await self._client.create(resource, namespace, body, field_manager=field_manager)

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
    ) -> bytes:
        kind = resource.gvk
        key = ObjectKey(kind.group, kind.kind, namespace, name)
        try:
            raw = await self._client.apply(
                resource,
                namespace,
                name,
                body,
                field_manager=field_manager,
                force=force,
                subresource=subresource,
            )
        except APIError as error:
            if namespace not in self._coming or not in_missing_namespace(heard(error, key)):
                raise
            self.local.add(key)
            return json.encode(body)
        if key.group_kind == NAMESPACE:
            self._coming.add(name)
        return raw

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
        return await self._client.patch(
            resource, namespace, name, body, field_manager=field_manager, subresource=subresource
        )

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        propagation: str,
    ) -> bytes:
        return await self._client.delete(
            resource, namespace, name, uid=uid, resource_version=resource_version, propagation=propagation
        )


def _moves(before: Object, after: Object, write: Write) -> bool:
    """Whether the real apply would move resourceVersion: values differ, or what we own does."""
    if not json.same(visible(before), visible(after)):
        return True
    child = write.child
    mine, then = (ssa.entry(each, child.manager, child.part) for each in (before, after))
    return (mine or {}).get("fieldsV1") != (then or {}).get("fieldsV1")
