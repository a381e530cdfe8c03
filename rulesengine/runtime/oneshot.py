"""What rules would do, found out once and changed nowhere: for `diff`.

The same compiling, caches, planning and executing as in the engine, over a client whose writes
are dry runs. The cluster is read once; nothing is followed afterwards.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rulesengine import api
from rulesengine.apply import DryRun, Preview
from rulesengine.cache import Cache, Phase
from rulesengine.client import Client, Discovery, NotFound, OpenAPI, dry_run
from rulesengine.compiler.rule import CompiledRule, Mode
from rulesengine.core import json
from rulesengine.core.clock import Clock, SystemClock
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.findings import Finding
from rulesengine.core.json import Object
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.kinds import GroupKind, ResourceType
from rulesengine.core.settings import Settings
from rulesengine.reconcile import Ownership, Tally, Verdict, item_of
from rulesengine.reconcile.plan import Plan, Result
from rulesengine.runtime import rule_object
from rulesengine.runtime.compiling import Compiling
from rulesengine.runtime.controller import Around, Controller, State
from rulesengine.runtime.engine import settled
from rulesengine.runtime.queue import Queue
from rulesengine.runtime.routing import NAMESPACE
from rulesengine.runtime.secret import SIZE, read_key

PATIENCE = 60.0  # seconds for reading everything the rules are about
SIDE_BY_SIDE = 8
_PLURALS = {"ClusterRule": "clusterrules", "Rule": "rules"}


@dataclass(frozen=True, slots=True)
class SourceForecast:
    """What would become of one source's objects. `previews` are the changes among `result`."""

    request: Request
    result: Result
    previews: tuple[Preview, ...]


@dataclass(frozen=True, slots=True)
class RuleForecast:
    """What one rule would do. `stored`: it is in the cluster already, in whatever form.

    `blocked` says what keeps the whole rule from working; `tally` counts as the rule's status
    does. A suspended rule does nothing.
    """

    key: RuleKey
    mode: Mode
    stored: bool
    sources: tuple[SourceForecast, ...]
    tally: Tally
    blocked: Verdict | None


async def stored_rule(client: Client, key: RuleKey) -> api.RuleModel:
    """A rule as it is in the cluster. Raises UsageError when it is not there, FindingsError."""
    body = await _read(client, key)
    if body is None:
        raise UsageError(f"there is no {key} in the cluster {client.server}")
    return api.rule_from_object(body)


async def forecast(
    client: Client, models: Sequence[api.RuleModel], settings: Settings, clock: Clock | None = None
) -> tuple[RuleForecast, ...]:
    """What these rules would do if they were applied. Raises FindingsError with all that is wrong in
    any of them, UsageError when the cluster cannot be read, APIError.
    """
    looking = _Looking(client, settings, clock or SystemClock())
    try:
        return await looking.forecast(models)
    finally:
        await looking.close()


class _Looking:
    """One forecast, with what it has to close."""

    def __init__(self, client: Client, settings: Settings, clock: Clock) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._discovery = Discovery(client, clock)
        self._schemas = OpenAPI(client, clock)
        self._compiling = Compiling(self._discovery, self._schemas)
        self._cache = Cache(client, self._discovery, clock)
        self._dry = DryRun(dry_run(client), self._discovery, self._schemas, clock)
        self._queue = Queue(clock)

    async def close(self) -> None:
        self._queue.close()
        await self._cache.close()

    async def forecast(self, models: Sequence[api.RuleModel]) -> tuple[RuleForecast, ...]:
        await self._discovery.refresh()
        key = await read_key(self._client, self._settings.namespace)
        # without a key there is nothing that the engine could have made
        around = self._around(Ownership(key or secrets.token_bytes(SIZE)))
        controllers = await self._controllers(models, around)
        await self._gather([controller for controller, _ in controllers])
        plans = [[(r, c.plan(r)) for r in _requests(c)] for c, _ in controllers]
        self._dry.expect({name for items in plans for _, plan in items for name in _coming(plan)})
        return tuple(
            [
                await self._rule(controller, stored, items)
                for (controller, stored), items in zip(controllers, plans, strict=True)
            ]
        )

    def _around(self, ownership: Ownership) -> Around:
        def fill(key: RuleKey, requests: Iterator[Request]) -> None:
            del key
            for request in requests:
                self._queue.add(request)

        return Around(
            cache=self._cache,
            kinds=self._discovery,
            queue=self._queue,
            clock=self._clock,
            ownership=ownership,
            namespace=self._settings.namespace,
            changed=_nothing,
            served=lambda _key, _gvk: None,
            finished=_nothing,
            fill=fill,
        )

    async def _controllers(
        self, models: Sequence[api.RuleModel], around: Around
    ) -> list[tuple[Controller, bool]]:
        """A controller for each rule, with whether it is in the cluster; all findings at once."""
        found: list[tuple[Controller, bool]] = []
        findings: list[Finding] = []
        for model in models:
            body = await _read(self._client, model.key)
            try:
                rule = await self._compile(model, body)
            except FindingsError as error:
                findings += error.findings
                continue
            controller = Controller(model.key, around)
            controller.written = _written(body, rule)
            controller.use(rule)
            found.append((controller, body is not None))
        if findings:
            raise FindingsError(findings)
        return found

    async def _compile(self, model: api.RuleModel, body: Object | None) -> CompiledRule:
        """As the server would have it: a stored rule's identity is that of the one in the cluster."""
        await self._compiling.prepare({"spec": model.spec.model_dump(mode="json", by_alias=True)})
        rule = self._compiling.compile_model(model)
        if body is None:
            return rule
        meta = body["metadata"]
        return replace(rule, uid=meta["uid"], generation=meta.get("generation", 0))

    async def _gather(self, controllers: list[Controller]) -> None:
        handles = tuple(handle for controller in controllers for handle in controller.view.handles)
        try:
            async with asyncio.timeout(PATIENCE):
                await settled(self._cache, handles)
        except TimeoutError:
            why = next(h.status.why for h in handles if h.status.phase is Phase.SYNCING)
            raise UsageError(f"the cluster could not be read within {PATIENCE:.0f} s: {why}") from None

    async def _rule(
        self, controller: Controller, stored: bool, items: list[tuple[Request, Plan]]
    ) -> RuleForecast:
        rule = controller.rule
        assert rule is not None
        limit = asyncio.Semaphore(SIDE_BY_SIDE)

        async def one(request: Request, plan: Plan) -> SourceForecast:
            async with limit:
                told = await self._dry.forecast(plan)
            controller.note(request, item_of(told.result, dry_run=True))
            return SourceForecast(request, told.result, told.previews)

        sources = await asyncio.gather(*(one(request, plan) for request, plan in items))
        return RuleForecast(
            rule.key, rule.mode, stored, tuple(sources), controller.tally, controller.blocked()
        )


def _requests(controller: Controller) -> list[Request]:
    """Every work item of a rule, by name."""
    return sorted(controller.unplanned) if controller.state is State.ACTIVE else []


def _coming(plan: Plan) -> Iterator[str]:
    """The namespaces that a plan creates."""
    for wanted in plan.wanted:
        if wanted.live is None and wanted.key.group_kind == NAMESPACE:
            yield wanted.key.name


def _written(body: Object | None, rule: CompiledRule) -> set[GroupKind]:
    written = rule_object.written_kinds(body) if body is not None else set()
    return written | {gvk.group_kind for gvk in rule.target_kinds}


async def _read(client: Client, key: RuleKey) -> Object | None:
    gvk = rule_object.kind_of(key)
    resource = ResourceType(gvk, _PLURALS[key.kind], namespaced=key.kind == "Rule")
    try:
        return json.decode_object(await client.get(resource, key.namespace, key.name))
    except NotFound:
        return None


def _nothing(_: object) -> None:
    pass
