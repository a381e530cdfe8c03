"""One pass: what is repeated, when, and what a defect does to others: nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from rulesengine.cache import Interest
from rulesengine.client import Unreachable
from rulesengine.compiler.rule import Mode
from rulesengine.core.keys import ObjectKey, Request
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Done,
    Failed,
    Held,
    Outcome,
    Plan,
    Result,
    Unchanged,
    Wait,
)
from rulesengine.runtime.budget import Budget
from rulesengine.runtime.passes import Again, Passes, when
from rulesengine.runtime.routing import Waiters
from tests.unit.runtime.fakes import (
    CONFIG_MAP,
    KEY,
    SECRET,
    STATUS,
    WIDGET,
    Bench,
    FakeClock,
    child,
    made,
    make_rule,
    widget,
)

REQUEST = Request(KEY, "a", "w")
CHILD = ObjectKey("", "ConfigMap", "a", "w-c")


class FakeExecutor:
    """Answers every plan by `answer(plan, number of the call)`."""

    def __init__(self, answer: Callable[[Plan, int], Result]) -> None:
        self.answer = answer
        self.plans: list[Plan] = []

    async def execute(self, plan: Plan) -> Result:
        self.plans.append(plan)
        return self.answer(plan, len(self.plans))


class FakeRecorder:
    def __init__(self) -> None:
        self.results: list[Result] = []

    def record(self, subject: object, result: Result) -> None:
        self.results.append(result)


def answering(*outcomes: Outcome) -> Callable[[Plan, int], Result]:
    """The first outcome to the first call, and so on; the last for all that follow."""

    def answer(plan: Plan, call: int) -> Result:
        outcome = outcomes[min(call, len(outcomes)) - 1]
        return Result(plan, (Done("c", CONFIG_MAP, CHILD, outcome),))

    return answer


class Table:
    """Passes over one widget, with everything around them."""

    def __init__(self, *outcomes: Outcome, answer: Any = None) -> None:
        self.bench = Bench()
        for gvk in (WIDGET, CONFIG_MAP, SECRET):
            self.bench.cache.acquire(Interest(gvk, "source"))
        self.bench.cache.set(widget())
        self.executor = FakeExecutor(answer or answering(*outcomes))
        self.dry = FakeExecutor(answer or answering(*outcomes))
        self.recorder = FakeRecorder()
        self.waiters = Waiters()
        self.spaces = 0
        self.budget = Budget(self.bench.clock, rate=1.0, burst=10.0)
        self.passes = Passes(
            self.executor,
            self.dry,
            self.recorder,
            self.waiters,
            self.bench.clock,
            rounds=3,
            on_namespace_wait=self._space,
            budget=self.budget,
        )

    def _space(self) -> None:
        self.spaces += 1

    async def run(self) -> Again:
        return await self.passes.run(self.bench.controller, REQUEST)

    @property
    def counts(self) -> dict[str, int]:
        return self.bench.controller.tally.counts


async def test_a_settled_work_item_is_counted_and_waits_for_an_event() -> None:
    """No timer, no second look."""
    table = Table(Unchanged("structural"))
    table.bench.use()
    assert await table.run() == Again()
    assert table.counts["converged"] == 1
    assert len(table.executor.plans) == 1


async def test_a_rule_that_reads_what_it_makes_is_planned_again_after_a_write() -> None:
    """At once: the store holds the answers. And until nothing is written any more."""
    table = Table(Created(), Created(), Unchanged("verdict"))
    table.bench.use(make_rule(child(), source_status=STATUS))
    assert await table.run() == Again()
    assert len(table.executor.plans) == 3


async def test_other_rules_are_not_planned_again_after_a_write() -> None:
    """Their plans cannot have changed by it."""
    table = Table(Created())
    table.bench.use()
    assert await table.run() == Again()
    assert len(table.executor.plans) == 1


async def test_rounds_end_and_the_rest_queues_up() -> None:
    """A rule that never comes to rest does not keep a worker."""
    table = Table(Created())
    table.bench.use(make_rule(child(), source_status=STATUS))
    assert await table.run() == Again(after=0.0)
    assert len(table.executor.plans) == 4


@pytest.mark.parametrize(
    ("outcome", "again"),
    [
        (Held(Reason.WAITING, "x"), Again()),
        (Held(Reason.UNAVAILABLE, "x", retry_after=2.0), Again(2.0)),
        (Failed(Reason.FORBIDDEN, "x", retry_after=300.0), Again(300.0)),
        (Failed(Reason.INVALID, "x"), Again(None, failed=True)),
        (Created(), Again()),
    ],
)
def test_an_outcome_says_when_to_look_again(outcome: Outcome, again: Again) -> None:
    """By its own time, with backoff, or on an event."""
    plan = Plan(REQUEST, None, matched=True)
    assert when(answering(outcome)(plan, 1), FakeClock()) == again


def test_the_soonest_of_several_times_holds() -> None:
    """Among outcomes and the plan's own."""
    clock = FakeClock()
    plan = Plan(REQUEST, None, matched=True, wake_at=clock.start)
    clock.advance(-30.0)
    done = [Done("c", CONFIG_MAP, CHILD, Held(Reason.WAITING, "x", retry_after=s)) for s in (60.0, 40.0)]
    assert when(Result(plan, tuple(done)), clock) == Again(30.0)


async def test_a_failure_is_counted_and_waited_for_by_its_object() -> None:
    """When the object in the way changes, the work item is looked at."""
    table = Table(Failed(Reason.NOT_OURS, "not ours", retry_after=300.0))
    table.bench.use()
    assert await table.run() == Again(300.0)
    assert table.counts["failed"] == 1
    assert table.waiters.on(CHILD) == {REQUEST}


async def test_waiting_for_a_namespace_begins_to_watch_namespaces() -> None:
    """So that it is heard when the namespace comes."""
    table = Table(Held(Reason.NAMESPACE_MISSING, "namespace a", retry_after=1.0))
    table.bench.use()
    await table.run()
    assert table.spaces == 1
    assert table.waiters.on(ObjectKey("", "Namespace", "", "a")) == {REQUEST}


async def test_waits_and_unknowns_of_the_plan_name_what_ends_them() -> None:
    """An object on its way out, for one."""
    key = ObjectKey("", "ConfigMap", "a", "other")
    waiting = (Wait("c", "its deletion", Reason.TERMINATING, key),)
    table = Table(answer=lambda plan, _: Result(Plan(plan.request, None, True, waits=waiting), ()))
    table.bench.use()
    await table.run()
    assert table.waiters.on(key) == {REQUEST}
    assert table.counts["waiting"] == 1


async def test_a_defect_is_contained_counted_and_logged_without_its_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A message may hold values of objects; the place in the code does not."""

    def broken(plan: Plan, call: int) -> Result:
        raise KeyError("s3cret-value")

    table = Table(answer=broken)
    table.bench.use()
    with caplog.at_level(logging.INFO, "rulesengine"):
        assert await table.run() == Again(failed=True)
    (logged,) = caplog.records
    said = repr(vars(logged))
    assert "s3cret-value" not in said
    assert "broken" in said
    assert (table.passes.defects, table.counts["failed"]) == (1, 1)
    assert table.bench.controller.tally.failures()[0]["reason"] == "InternalError"


async def test_a_server_that_cannot_be_asked_is_no_defect() -> None:
    """The work item fails as unavailable and is tried with backoff."""

    def away(plan: Plan, call: int) -> Result:
        raise Unreachable("connection refused")

    table = Table(answer=away)
    table.bench.use()
    assert await table.run() == Again(failed=True)
    assert table.passes.defects == 0
    assert table.bench.controller.tally.failures()[0]["reason"] == "Unavailable"


async def test_a_dry_run_executes_nothing() -> None:
    """What would be written is pending, and no event is told."""
    table = Table(Created())
    table.bench.use(make_rule(mode=Mode.DRY_RUN))
    assert await table.run() == Again()
    assert (len(table.executor.plans), len(table.dry.plans)) == (0, 1)
    assert table.counts["pendingCreates"] == 1
    assert table.recorder.results == []


async def test_a_pass_that_a_new_generation_overtook_is_not_counted() -> None:
    """It is repeated under the new one."""
    table = Table()

    def overtaken(plan: Plan, call: int) -> Result:
        table.bench.use(make_rule(generation=2))
        return answering(Failed(Reason.INVALID, "old"))(plan, call)

    table.executor.answer = overtaken
    table.bench.use()
    assert await table.run() == Again()
    assert table.counts["failed"] == 0
    assert await table.bench.ready() == ["w"]


@pytest.mark.parametrize(("gone", "finished"), [(True, [KEY]), (False, [])])
async def test_a_clean_up_ends_when_its_objects_are_gone(gone: bool, finished: list[object]) -> None:
    """Accepted by the server is not gone: the event of its going brings the next look."""
    table = Table()

    def delete(plan: Plan, call: int) -> Result:
        assert [item.live.key for item in plan.unwanted] == [CHILD]
        if gone:
            table.bench.cache.remove(CONFIG_MAP, "a", "w-c")
        return answering(Deleted())(plan, call)

    table.executor.answer = delete
    table.bench.cache.set(made())
    table.bench.controller.written = {CONFIG_MAP.group_kind}
    table.bench.controller.clean(make_rule(mode=Mode.DRY_RUN))
    assert await table.run() == Again()
    assert table.bench.finished == finished


async def test_a_rule_beyond_its_budget_is_put_off() -> None:
    """Its pass is not run, and no worker waits for it."""
    table = Table(Created())
    table.bench.use()
    for _ in range(10):
        await table.run()
    ran = table.passes.count
    again = await table.run()
    assert (table.passes.count, again.failed) == (ran, False)
    assert again.after
