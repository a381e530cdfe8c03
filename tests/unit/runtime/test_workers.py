"""Workers: side by side, never the same item twice at once, and an orderly end."""

from __future__ import annotations

import asyncio

from rulesengine.core.keys import Request
from rulesengine.runtime.passes import Again
from rulesengine.runtime.queue import Queue
from rulesengine.runtime.workers import Workers
from tests.unit.runtime.fakes import FakeClock, item, until


async def test_items_run_side_by_side_up_to_the_number_of_workers() -> None:
    """Three workers, five items: three run, the others follow."""
    queue, running, gate = Queue(FakeClock()), set(), asyncio.Event()
    most = 0

    async def run(request: Request) -> Again:
        nonlocal most
        running.add(request)
        most = max(most, len(running))
        await gate.wait()
        running.discard(request)
        return Again()

    workers = Workers(queue, run, 3)
    workers.start()
    for n in range(5):
        queue.add(item(str(n)))
    await until(lambda: workers.busy == 3)
    gate.set()
    await until(lambda: queue.idle)
    assert most == 3
    assert await workers.stop(1.0)


async def test_what_a_pass_says_decides_when_it_is_repeated() -> None:
    """Nothing, a delay, or a failure with backoff."""
    clock = FakeClock()
    queue = Queue(clock)
    answers = {"none": None, "event": Again(), "later": Again(after=60.0), "failed": Again(failed=True)}

    async def run(request: Request) -> Again | None:
        return answers[request.name]

    workers = Workers(queue, run, 2)
    workers.start()
    for name in answers:
        queue.add(item(name))
    await until(lambda: queue.idle)
    assert queue.delayed == 2
    assert queue.failures(item("failed")) == 1
    await workers.stop(1.0)
    queue.close()


async def test_a_stop_lets_what_is_under_way_end_and_starts_nothing_new() -> None:
    """Of two items with one worker the first comes to its end, the second never begins."""
    queue, gate, begun, ended = Queue(FakeClock()), asyncio.Event(), [], []

    async def run(request: Request) -> Again:
        begun.append(request.name)
        await gate.wait()
        ended.append(request.name)
        return Again()

    workers = Workers(queue, run, 1)
    workers.start()
    queue.add(item("a"))
    queue.add(item("b"))
    await until(lambda: begun)
    stopping = asyncio.create_task(workers.stop(10.0))
    await asyncio.sleep(0)
    gate.set()
    assert await stopping
    assert (begun, ended) == (["a"], ["a"])


async def test_a_stop_cuts_off_what_takes_too_long() -> None:
    """And says so."""
    queue = Queue(FakeClock())

    async def run(request: Request) -> Again:
        await asyncio.Event().wait()
        return Again()

    workers = Workers(queue, run, 1)
    workers.start()
    queue.add(item("a"))
    await until(lambda: workers.busy)
    assert not await workers.stop(0.01)


async def test_settled_items_leave_the_loop_to_others() -> None:
    """Passes that never wait for anything do not starve a timer or a watch."""
    queue, turns = Queue(FakeClock()), 0

    async def run(request: Request) -> Again:
        return Again()

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    workers = Workers(queue, run, 2)
    workers.start()
    for n in range(1000):
        queue.add(item(str(n)))
    await until(lambda: queue.idle)
    assert turns >= 100
    task.cancel()
    await workers.stop(1.0)
