"""The queue: each item once, one run at a time, rules in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import sampled_from

from rulesengine.core.keys import Request, RuleKey
from rulesengine.runtime.queue import PASSED_OVER, Priority, Queue
from tests.unit.runtime.fakes import FakeClock, item


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def queue(clock: FakeClock) -> AsyncIterator[Queue]:
    queue = Queue(clock)
    yield queue
    queue.close()


async def drain(queue: Queue) -> list[str]:
    """Takes and finishes everything that is ready."""
    names = []
    while queue.ready:
        key = await queue.take()
        names.append(key.name)
        queue.done(key)
    return names


async def test_an_item_added_twice_runs_once(queue: Queue) -> None:
    """Events that say the same are one."""
    queue.add(item("a"))
    queue.add(item("a"))
    assert await drain(queue) == ["a"]


async def test_added_while_running_it_runs_exactly_once_more(queue: Queue) -> None:
    """Never twice at once, and no event is lost."""
    queue.add(item("a"))
    key = await queue.take()
    queue.add(key)
    queue.add(key)
    assert queue.ready == 0
    queue.done(key)
    assert await drain(queue) == ["a"]


async def test_an_event_goes_before_a_pending_delay_and_turns_it_off(queue: Queue, clock: FakeClock) -> None:
    """The item is not looked at a second time when the delay would have been over."""
    queue.add_after(item("a"), 60)
    queue.add(item("a"))
    assert await drain(queue) == ["a"]
    clock.advance(61)
    queue.wake()
    assert queue.ready == 0
    assert queue.delayed == 0


async def test_of_two_delays_the_shorter_holds(queue: Queue, clock: FakeClock) -> None:
    """Whichever order they come in."""
    for first, second in ((60, 5), (5, 60)):
        queue.add_after(item("a"), first)
        queue.add_after(item("a"), second)
        clock.advance(4.9)
        queue.wake()
        assert queue.ready == 0
        clock.advance(0.2)
        queue.wake()
        assert await drain(queue) == ["a"]
        clock.advance(60)
        queue.wake()
        assert queue.ready == 0


async def test_backoff_doubles_up_to_its_limit_and_success_resets_it(queue: Queue, clock: FakeClock) -> None:
    """5 ms · 2ⁿ, at most 1,000 s."""
    queue.add(item("a"))
    expected = [min(0.005 * 2**n, 1000.0) for n in range(22)]
    for delay in expected:
        key = await queue.take()
        queue.done(key, failed=True)
        clock.advance(delay * 0.99)
        queue.wake()
        assert queue.ready == 0
        clock.advance(delay * 0.011)
        queue.wake()
        assert queue.ready == 1
    key = await queue.take()
    queue.done(key)
    assert queue.failures(key) == 0
    queue.add(key)
    queue.done(await queue.take(), failed=True)
    clock.advance(0.0051)
    queue.wake()
    assert queue.ready == 1


async def test_a_failure_that_names_its_delay_comes_back_by_the_sooner(
    queue: Queue, clock: FakeClock
) -> None:
    """A long retry_after does not stretch a short backoff."""
    queue.add(item("a"))
    queue.done(await queue.take(), after=300.0, failed=True)
    clock.advance(0.006)
    queue.wake()
    assert queue.ready == 1


async def test_events_go_before_lists_but_lists_age(queue: Queue) -> None:
    """However many events there are, every eighth turn is a low item's."""
    for n in range(3):
        queue.add(item(f"low{n}"), Priority.LOW)
    for n in range(20):
        queue.add(item(f"event{n}"))
    order = await drain(queue)
    assert order[:PASSED_OVER] == [f"event{n}" for n in range(PASSED_OVER)]
    assert [order.index(f"low{n}") for n in range(3)] == [7, 15, 22]


async def test_an_event_lifts_an_item_from_the_list(queue: Queue) -> None:
    """It goes before the others of the list, and once."""
    for name in ("a", "b", "c"):
        queue.add(item(name), Priority.LOW)
    queue.add(item("c"))
    assert await drain(queue) == ["c", "a", "b"]


async def test_a_list_does_not_hold_an_event_down(queue: Queue) -> None:
    """An item that is ready as an event stays one."""
    queue.add(item("b"), Priority.LOW)
    queue.add(item("a"))
    queue.add(item("a"), Priority.LOW)
    assert await drain(queue) == ["a", "b"]


@pytest.mark.parametrize("priority", list(Priority))
async def test_a_rule_with_very_many_items_delays_another_by_one_round(
    queue: Queue, priority: Priority
) -> None:
    """100,000 items of one rule, then one of another: it is the second to go."""
    for n in range(100_000):
        queue.add(item(str(n), "big"), priority)
    queue.add(item("mine", "small"), priority)
    order = [(await queue.take()).rule.name for _ in range(2)]
    assert "small" in order


async def test_takers_wait_and_are_woken_one_by_one(queue: Queue) -> None:
    """No taker is woken for nothing, none sleeps on while there is work."""
    takers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add(item("a"))
    queue.add(item("b"))
    done, waiting = await asyncio.wait(takers, timeout=0.05)
    assert {task.result().name for task in done} == {"a", "b"}
    for task in waiting:
        task.cancel()
    await asyncio.wait(takers)


async def test_a_taker_that_is_cancelled_loses_no_item(queue: Queue) -> None:
    """The call that was meant for it reaches another taker."""
    first, second = (asyncio.create_task(queue.take()) for _ in range(2))
    await asyncio.sleep(0)
    queue.add(item("a"))
    first.cancel()
    key = await asyncio.wait_for(second, 1)
    assert key.name == "a"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_forgotten_rule_leaves_nothing(queue: Queue, clock: FakeClock) -> None:
    """Ready, delayed and repeated items go; another rule's stay."""
    queue.add(item("running"))
    running = await queue.take()
    queue.add(running)
    queue.add(item("ready"))
    queue.add(item("low"), Priority.LOW)
    queue.add_after(item("delayed"), 1)
    queue.add(item("other", "other"))
    queue.forget(running.rule)
    assert queue.is_running(running.rule)
    queue.done(running)
    clock.advance(2)
    queue.wake()
    assert await drain(queue) == ["other"]
    assert not queue.is_running(running.rule)


async def test_a_forgotten_rule_may_come_again_while_its_item_still_runs(queue: Queue) -> None:
    """What the new one adds runs after the old run's end."""
    queue.add(item("a"))
    key = await queue.take()
    queue.forget(key.rule)
    queue.add(key)
    queue.done(key)
    assert await drain(queue) == ["a"]


async def test_a_delay_passes_by_itself(clock: FakeClock) -> None:
    """On a real loop the timer fires without anybody calling wake."""

    class Real(FakeClock):
        def monotonic(self) -> float:
            return time.monotonic()

    queue = Queue(Real())
    queue.add_after(item("a"), 0.01)
    assert (await asyncio.wait_for(queue.take(), 5)).name == "a"
    queue.close()


async def test_timers_of_delays_that_are_off_do_not_pile_up(queue: Queue) -> None:
    """An item that is delayed and taken up again and again costs no memory."""
    for _ in range(10_000):
        queue.add_after(item("a"), 60)
        queue.add(item("a"))
        await drain(queue)
    assert len(queue._timers) < 200


async def test_an_item_costs_less_than_five_microseconds(clock: FakeClock) -> None:
    """In, out and done; the best of five, since others use the machine too."""
    queue = Queue(clock)
    keys = [item(str(n), f"r{n % 7}") for n in range(5_000)]
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for key in keys:
            queue.add(key)
        for _ in keys:
            queue.done(await queue.take())
        best = min(best, time.perf_counter() - start)
    queue.close()
    assert best / len(keys) < 5e-6


class Model(RuleBasedStateMachine):
    """Random use against what is promised: nothing lost, nothing twice at once."""

    KEYS: ClassVar = [item(name, rule) for name in "ab" for rule in "xy"]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.queue = Queue(self.clock)
        self.owed: set[Request] = set()  # must run (again) without anybody doing anything
        self.running: list[Request] = []
        self.due: dict[Request, float] = {}

    def run(self, call: object) -> object:
        async def calling() -> object:
            result = call()  # type: ignore[operator]
            return await result if asyncio.iscoroutine(result) else result

        return self.loop.run_until_complete(calling())

    @rule(key=sampled_from(KEYS), priority=sampled_from(list(Priority)))
    def add(self, key: Request, priority: Priority) -> None:
        self.run(lambda: self.queue.add(key, priority))
        self.owed.add(key)
        if key not in self.running:
            self.due.pop(key, None)

    @rule(key=sampled_from(KEYS), seconds=sampled_from([0.5, 2.0]))
    def add_after(self, key: Request, seconds: float) -> None:
        self.run(lambda: self.queue.add_after(key, seconds))
        if key not in self.owed and key not in self.running:
            at = self.clock.seconds + seconds
            self.due[key] = min(self.due.get(key, at), at)

    @precondition(lambda self: self.queue.ready)
    @rule()
    def take(self) -> None:
        key = self.run(self.queue.take)
        assert isinstance(key, Request)
        assert key not in self.running
        self.running.append(key)
        self.owed.discard(key)

    @precondition(lambda self: self.running)
    @rule(after=sampled_from([None, 1.0]))
    def done(self, after: float | None) -> None:
        key = self.running.pop(0)
        self.run(lambda: self.queue.done(key, after=after))
        if key not in self.owed and after is not None:
            self.due[key] = self.clock.seconds + after

    @rule(seconds=sampled_from([0.3, 1.0]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.run(self.queue.wake)
        for key, at in list(self.due.items()):
            if at <= self.clock.seconds:
                del self.due[key]
                self.owed.add(key)

    @rule(name=sampled_from("xy"))
    def forget(self, name: str) -> None:
        rule_key = RuleKey("ClusterRule", "", name)
        self.run(lambda: self.queue.forget(rule_key))
        self.owed = {key for key in self.owed if key.rule != rule_key}
        self.due = {key: at for key, at in self.due.items() if key.rule != rule_key}

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.queue.ready == len(self.owed - set(self.running))
        assert self.queue.delayed == len(self.due)

    def teardown(self) -> None:
        self.queue.close()
        self.loop.close()


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestModel = Model.TestCase
