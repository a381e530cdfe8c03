"""Hundreds of rules come, change and go: afterwards the engine holds what it held before."""

from __future__ import annotations

import asyncio
import gc
from asyncio import AbstractEventLoop
from collections import Counter, OrderedDict
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType

from rulesengine import runtime
from rulesengine.apply import Memory, Recorder
from rulesengine.apply.breaker import Breaker
from rulesengine.cache import Handle, Store
from rulesengine.cache.informer import Informer
from rulesengine.cache.reflector import Reflector
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.runtime.controller import Controller
from rulesengine.runtime.measures import RuleMeasures
from rulesengine.runtime.metrics import Metrics
from rulesengine.runtime.view import View
from rulesengine.testing import Cluster, in_process
from tests.integration.test_engine import NAMESPACE, RULE, entry, rule, space, until

SECRET = GroupVersionKind("", "v1", "Secret")
COUNT = 100
HELD = (Controller, CompiledRule, View, Handle, Informer, Store, Reflector, RuleMeasures)


def body(number: int, value: str) -> dict[str, object]:
    """Every third makes another kind, every fifth has an entry that waits, every seventh is wrong."""
    made = entry("x", value)
    made["template"]["metadata"]["name"] = f"x{number}"
    if number % 3 == 0:
        made["template"] |= {"kind": "Secret", "stringData": made["template"].pop("data")}
    entries = [made]
    if number % 5 == 0:
        entries.append(entry("y", "${resources.x.metadata.annotations.none}", includeWhen=["size('a') == 1"]))
        entries[-1]["template"]["metadata"]["name"] = f"y{number}"
    found = rule(*entries, name=f"r{number}")
    if number % 7 == 0 and value == "2":
        found["spec"]["matchConditions"] = [{"name": "c", "expression": "objct.x == 1"}]
    return found


async def one_round(cluster: Cluster, engine: runtime.Engine) -> None:
    for value in ("1", "2"):
        for number in range(COUNT):
            await cluster.apply(body(number, value))
        await settle(engine)
        assert len(engine.rules.controllers) == COUNT
    for number in range(COUNT):
        await cluster.delete(RULE, "", f"r{number}")

    async def gone() -> bool:
        return not await cluster.names(RULE)

    await until(gone, 60)
    await settle(engine)


async def settle(engine: runtime.Engine) -> None:
    """Until nothing is under way or marked, and no watch is on its way out."""

    async def still() -> bool:
        return engine.idle and engine.queue.delayed == 0 and engine.statuses.queue.delayed == 0

    await until(still, 60)


def holdings(engine: runtime.Engine, metrics: Metrics) -> dict[str, int]:
    """What can be counted."""
    gc.collect()
    found = Counter(type(each) for each in gc.get_objects())
    counts = {kind.__name__: found[kind] for kind in HELD}
    counts["watches"] = engine.cache.watches
    counts["tasks"] = len(asyncio.all_tasks())
    text = metrics.expose("")[1].decode()
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "rest_client"))]
    counts["series"] = len(lines)
    counts["of rules"] = sum("clusterrule/" in line for line in lines)
    return counts


def reachable(engine: runtime.Engine) -> int:
    """How many objects the engine holds, but for what it remembers of the past, up to a limit."""
    outside = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType, FrameType, AbstractEventLoop)
    bounded = (Memory, Recorder, Breaker, OrderedDict)
    seen: set[int] = {id(engine)}
    todo: list[object] = [engine]
    while todo:
        for each in gc.get_referents(todo.pop()):
            if id(each) in seen or isinstance(each, outside + bounded):
                continue
            if not type(each).__module__.startswith("rulesengine.embedded"):
                seen.add(id(each))
                todo.append(each)
    return len(seen)


async def test_nothing_is_left_of_rules_that_went() -> None:
    """Watches, tasks, series and objects: as before, after hundreds of rules."""
    settings = runtime.Settings(status_delay=0.0, status_interval=0.0, watch_grace=0.0, kinds_delay=0.0)
    async with in_process() as cluster:
        for name in ("a", "b"):
            await cluster.apply(space(name, on="yes"))
        engine = runtime.Engine(cluster.connection, settings)
        metrics = Metrics(engine)
        task = asyncio.create_task(engine.run())
        await asyncio.wait_for(engine.started.wait(), 10)
        await one_round(cluster, engine)  # schemas and kinds that are asked for once
        before, held = holdings(engine, metrics), reachable(engine)
        assert before["of rules"] == before["Controller"] == before["CompiledRule"] == 0

        async def as_before() -> bool:
            return holdings(engine, metrics) == before

        for _ in range(2):
            await one_round(cluster, engine)
            await until(as_before)  # cancelled watches take a turn or two to end
        assert reachable(engine) - held < COUNT, "less than one object for two rules"
        assert await cluster.names(NAMESPACE) >= {"a", "b"}
        engine.stop()
        await asyncio.wait_for(task, 40)
