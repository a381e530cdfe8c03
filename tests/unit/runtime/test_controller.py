"""A rule at work: when it begins, what it looks at, and what it lets go of."""

from __future__ import annotations

import pytest

from rulesengine.cache import Interest, Phase
from rulesengine.compiler.rule import Mode, Source
from rulesengine.core.keys import Request
from rulesengine.reconcile import Item
from rulesengine.reconcile.tally import ItemState
from rulesengine.runtime.controller import State
from tests.unit.runtime.fakes import (
    CONFIG_MAP,
    KEY,
    NAMESPACE,
    SECRET,
    SELECTED,
    WIDGET,
    Bench,
    child,
    made,
    make_rule,
    widget,
)

CONVERGED = Item(ItemState.CONVERGED)


@pytest.fixture
async def bench() -> Bench:
    bench = Bench()
    for gvk in (WIDGET, CONFIG_MAP, SECRET, NAMESPACE):
        bench.cache.acquire(Interest(gvk, "source"))  # so that things can be there before the rule
    return bench


async def test_nothing_is_looked_at_before_every_cache_is_filled(bench: Bench) -> None:
    """Half a view could show a child as absent that is there."""
    bench.cache.set(widget())
    bench.cache.phase(CONFIG_MAP, Phase.SYNCING)
    controller = bench.use()
    bench.cache.set(widget("v"))
    assert await bench.ready() == []
    bench.cache.phase(CONFIG_MAP, Phase.SYNCED)
    assert controller.state is State.ACTIVE
    assert await bench.ready() == ["v", "w"]


@pytest.mark.parametrize("phase", [Phase.UNSERVED, Phase.FORBIDDEN, Phase.REFUSED])
async def test_a_kind_that_cannot_be_read_holds_up_nothing_else(bench: Bench, phase: Phase) -> None:
    """It is said on the rule; when it can be read, everything is looked at again."""
    bench.cache.set(widget())
    bench.cache.phase(SECRET, phase)
    controller = bench.use(make_rule(child(), child(SECRET, "s")))
    assert await bench.ready() == ["w"]
    blocked = controller.blocked()
    assert blocked is not None
    assert "Secret" in blocked.message
    bench.cache.phase(SECRET, Phase.SYNCED)
    assert await bench.ready() == ["w"]
    assert controller.blocked() is None
    assert bench.served == ([SECRET] if phase is Phase.UNSERVED else [])


async def test_sources_that_went_while_nobody_looked_are_looked_at(bench: Bench) -> None:
    """What was made for them names them."""
    bench.cache.set(widget("here"))
    bench.cache.set(made("gone"))
    bench.cache.set(made("gone", name="second"))
    bench.use()
    assert await bench.ready() == ["gone", "here"]


async def test_deselected_sources_are_looked_at_only_if_something_was_made_there(bench: Bench) -> None:
    """A rule over ten of 100,000 objects has ten work items."""
    bench.cache.set(widget("on", metadata={"labels": {"on": "yes"}}))
    bench.cache.set(widget("off"))
    bench.cache.set(widget("was-on"))
    bench.cache.set(made("was-on"))
    bench.use(make_rule(source=Source(WIDGET, selector=SELECTED)))
    assert await bench.ready() == ["on", "was-on"]


async def test_events_of_sources_become_work_items(bench: Bench) -> None:
    """Once it is active."""
    bench.use()
    bench.cache.set(widget(spec={"size": 1}))
    assert await bench.ready() == ["w"]
    bench.cache.set(widget(spec={"size": 1}, status={"x": 1}))
    assert await bench.ready() == []
    bench.cache.remove(WIDGET, "a", "w")
    assert await bench.ready() == ["w"]


async def test_a_namespace_leads_to_the_sources_in_it(bench: Bench) -> None:
    """When the selector's answer about it changes."""
    for name, namespace in (("w", "a"), ("v", "b")):
        bench.cache.set(widget(name, namespace))
    bench.use(make_rule(source=Source(WIDGET, namespace_selector=SELECTED)))
    await bench.ready()
    bench.cache.set({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    assert await bench.ready() == ["w"]
    labels = {"on": "yes"}
    bench.cache.set({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}})
    assert await bench.ready() == ["w"]


async def test_another_generation_keeps_the_watches_that_stay(bench: Bench) -> None:
    """And looks at everything anew."""
    bench.cache.set(widget())
    bench.use()
    await bench.ready()
    before = set(map(id, bench.controller.view.handles))
    bench.use(make_rule(child(), child(SECRET, "s"), generation=2))
    assert before <= set(map(id, bench.controller.view.handles))
    assert await bench.ready() == ["w"]


async def test_a_kind_no_longer_named_is_watched_until_nothing_is_left_there(bench: Bench) -> None:
    """Then it leaves the written kinds, too."""
    bench.cache.set(widget())
    bench.cache.set(made(gvk=SECRET, name="w-s"))
    bench.controller.written = {SECRET.group_kind}
    controller = bench.use(make_rule(child()))
    await bench.ready()
    request = Request(KEY, "a", "w")
    controller.note(request, CONVERGED)
    assert SECRET.group_kind in controller.written
    bench.cache.remove(SECRET, "a", "w-s")
    controller.note(request, CONVERGED)
    assert controller.written == {CONFIG_MAP.group_kind}
    assert [h.gvk for h in controller.view.handles] == [CONFIG_MAP, WIDGET]


async def test_it_is_planned_once_every_work_item_was_looked_at(bench: Bench) -> None:
    """Before that, its counts say nothing about the whole."""
    for name in ("v", "w"):
        bench.cache.set(widget(name))
    controller = bench.use()
    assert not controller.planned
    controller.note(Request(KEY, "a", "v"), CONVERGED)
    assert not controller.planned
    controller.note(Request(KEY, "a", "w"), CONVERGED)
    assert controller.planned
    assert controller.tally.counts["converged"] == 2


async def test_a_frozen_rule_does_nothing_and_keeps_its_watches(bench: Bench) -> None:
    """Neither events nor what was queued lead to a pass."""
    bench.cache.set(widget())
    controller = bench.use()
    handles = controller.view.handles
    controller.freeze("RE201: no")
    bench.cache.set(widget(spec={"size": 2}))
    controller.wake(Request(KEY, "a", "w"))
    assert await bench.ready() == []
    assert controller.view.handles == handles


async def test_a_suspended_rule_watches_nothing(bench: Bench) -> None:
    """It costs the server nothing."""
    bench.use()
    bench.use(make_rule(mode=Mode.SUSPENDED))
    assert bench.controller.view.handles == ()
    assert bench.controller.state is State.IDLE


async def test_a_rule_that_is_deleted_looks_at_all_it_made(bench: Bench) -> None:
    """Of every kind it may have written, whether its spec still names it or not."""
    bench.cache.set(widget("untouched"))
    bench.cache.set(made("v"))
    bench.cache.set(made("w", gvk=SECRET, name="w-s"))
    bench.controller.written = {CONFIG_MAP.group_kind, SECRET.group_kind}
    bench.controller.clean(make_rule())
    assert await bench.ready() == ["v", "w"]
    plan = bench.controller.plan(Request(KEY, "a", "w"))
    assert [item.live.key.name for item in plan.unwanted] == ["w-s"]
    assert bench.finished == []


async def test_a_clean_up_is_finished_when_nothing_is_left(bench: Bench) -> None:
    """An object on its way out is still there."""
    bench.cache.set(made("w", metadata={"deletionTimestamp": "2026-01-05T08:00:00Z", "finalizers": ["x"]}))
    bench.controller.written = {CONFIG_MAP.group_kind}
    controller = bench.controller
    controller.clean(make_rule())
    request = Request(KEY, "a", "w")
    assert controller.leftover(request)
    controller.note(request, CONVERGED, finished=False)
    assert bench.finished == []
    bench.cache.remove(CONFIG_MAP, "a", "w-c")
    assert not controller.leftover(request)
    controller.note(request, CONVERGED)
    assert bench.finished == [KEY]


async def test_a_rule_that_made_nothing_is_clean_at_once(bench: Bench) -> None:
    """Nothing has to be waited for."""
    bench.controller.clean(make_rule())
    assert bench.finished == [KEY]


async def test_a_pass_that_a_change_overtook_is_repeated(bench: Bench) -> None:
    """It may have made something of an earlier generation, and counts as not looked at."""
    bench.controller.written = {CONFIG_MAP.group_kind}
    bench.controller.clean(make_rule())
    bench.controller.missed(Request(KEY, "a", "late"))
    assert not bench.controller.planned
    assert await bench.ready() == ["late"]


async def test_a_closed_controller_leaves_nothing_behind(bench: Bench) -> None:
    """No watch, no work item."""
    bench.cache.set(widget())
    before = len(bench.cache.held)
    bench.use()
    bench.controller.close()
    assert len(bench.cache.held) == before
    assert await bench.ready() == []
