"""Kinds that come and change: who is told, and that nothing is asked for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

import pytest

from rulesengine.client import Unreachable
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.runtime.kinds import CRD, KindWatch
from rulesengine.runtime.rule_object import GROUP
from tests.unit.runtime.fakes import KEY, WIDGET, FakeCache, FakeClock, until


class World(FakeCache):
    """Discovery, schemas, memory and rules in one, noting what they are told."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.told: list[str] = []
        self.away = 0
        self.shapes = ["before", "after"]  # what is known of a kind, moved on by each refresh
        self.tasks: set[asyncio.Task[None]] = set()
        self.watch = KindWatch(self, self, self, self, self, delays=(0.0, 0.0), spawn=self._spawn)  # type: ignore[arg-type]

    def known(self, gvk: GroupVersionKind) -> Any:
        return self.shapes[0]

    async def schema(self, gvk: GroupVersionKind) -> Any:
        return self.shapes[0]

    async def refresh(self, group: str | None = None) -> None:
        if self.away:
            self.away -= 1
            raise Unreachable("away")
        self.told.append(f"refresh {group}")
        if len(self.shapes) > 1:
            del self.shapes[0]

    def invalidate(self, group: str) -> None:
        self.told.append(f"invalidate {group}")

    def forget_kind(self, kind: GroupKind) -> None:
        self.told.append(f"forget {kind}")

    def recheck(self, kind: GroupVersionKind) -> None:
        self.told.append(f"recheck {kind.kind}")

    def naming(self, group: str) -> Iterable[RuleKey]:
        return [KEY] if group == WIDGET.group else []

    def kinds_of(self, group: str) -> Iterable[GroupVersionKind]:
        return [WIDGET] if group == WIDGET.group else []

    def compile_anew(self, keys: Iterable[RuleKey]) -> None:
        self.told += [f"compile {key.name}" for key in keys]

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def crd(self, name: str, **more: Any) -> None:
        self.set({"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": {"name": name}}, **more)


LOOK = ["refresh example.com", "invalidate example.com", "recheck Widget"]
MOVED = ["forget Widget.example.com", "compile r"]


@pytest.fixture
async def world() -> World:
    world = World()
    world.watch.follow()
    return world


async def test_a_crd_that_rules_name_is_looked_at_twice(world: World) -> None:
    """Schemas are published later than the kind itself."""
    world.crd("widgets.example.com")
    world.crd("widgets.example.com")
    await until(lambda: not world.tasks)
    assert world.told == [*LOOK, *MOVED, *LOOK]


async def test_a_schema_that_comes_late_is_seen_by_the_second_look(world: World) -> None:
    """And rules are compiled again only when something is different."""
    world.shapes = ["before", "before", "after"]
    world.crd("widgets.example.com")
    await until(lambda: not world.tasks)
    assert world.told == [*LOOK, *LOOK, *MOVED]


async def test_the_first_list_asks_nothing(world: World) -> None:
    """A restart of the engine costs no request for the CRDs there are."""
    world.crd("widgets.example.com", initial=True)
    assert not world.tasks


async def test_crds_that_no_rule_names_ask_nothing(world: World) -> None:
    """However many come and go."""
    world.crd("others.other.example.org")
    assert not world.tasks


async def test_the_rules_own_kinds_are_found_when_they_come(world: World) -> None:
    """An engine that was started before `rulesengine crds` was applied."""
    world.crd(f"clusterrules.{GROUP}")
    await until(lambda: not world.tasks)
    assert (
        world.told
        == [*(f"refresh {GROUP}", f"invalidate {GROUP}", "recheck ClusterRule", "recheck Rule")] * 2
    )


async def test_a_server_that_is_away_is_asked_again(world: World) -> None:
    """By the second look."""
    world.away = 1
    world.crd("widgets.example.com")
    await until(lambda: not world.tasks)
    assert world.told == [*LOOK, *MOVED]


async def test_a_kind_that_came_unheard_is_looked_at(world: World) -> None:
    """Where CRDs may not be watched, the cache finds it by asking."""
    world.watch.served(WIDGET)
    await until(lambda: not world.tasks)
    assert "compile r" in world.told


async def test_a_stop_leaves_no_task_and_no_watch(world: World) -> None:
    """Even in the middle of a look."""
    world.crd("widgets.example.com")
    world.watch.stop()
    await until(lambda: not world.tasks)
    assert world.held == []
