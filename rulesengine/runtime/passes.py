"""One pass over a work item: plan, carry out, and what that means for when to look again.

Whatever goes wrong in a pass stays in it: it is counted on the rule, logged without values,
and tried again with backoff.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rulesengine.client import APIError
from rulesengine.compiler.rule import CompiledRule, Mode
from rulesengine.core.clock import Clock
from rulesengine.core.keys import ObjectKey, Request
from rulesengine.core.reasons import Reason
from rulesengine.reconcile import Item, item_of
from rulesengine.reconcile.plan import Failed, Held, Plan, Result, Unchanged
from rulesengine.reconcile.tally import Failure, ItemState
from rulesengine.runtime.budget import Budget
from rulesengine.runtime.controller import Controller, State
from rulesengine.runtime.routing import NAMESPACE, Waiters

logger = logging.getLogger(__name__)

FRAMES = 4  # of a defect's traceback that are logged
_HOUSES = frozenset({Reason.NAMESPACE_MISSING, Reason.NAMESPACE_TERMINATING})


class Executes(Protocol):
    """apply.Executor or apply.DryRun."""

    async def execute(self, plan: Plan) -> Result: ...


class Records(Protocol):
    """apply.Recorder."""

    def record(self, subject: CompiledRule, result: Result) -> None: ...


@dataclass(frozen=True, slots=True)
class Again:
    """When to look again: `after` seconds, or with backoff where it `failed`; neither: on an event."""

    after: float | None = None
    failed: bool = False


class Passes:
    """Runs passes. `on_namespace_wait` hears that somebody waits for a namespace."""

    def __init__(
        self,
        executor: Executes,
        dry: Executes,
        recorder: Records,
        waiters: Waiters,
        clock: Clock,
        *,
        rounds: int,
        on_namespace_wait: Callable[[], None],
        budget: Budget,
    ) -> None:
        self._executor = executor
        self._dry = dry
        self._recorder = recorder
        self._waiters = waiters
        self._clock = clock
        self._rounds = rounds
        self._on_namespace_wait = on_namespace_wait
        self._budget = budget
        self.count = 0
        self.defects = 0

    async def run(self, controller: Controller, request: Request) -> Again:
        """Never raises, but for being cancelled."""
        if wait := self._budget.owed(request.rule):
            return Again(wait)
        self.count += 1
        try:
            return await self._run(controller, request)
        except APIError as error:
            # discovery or schemas could not be asked; answers about objects are outcomes already
            logger.warning("a pass could not ask the server", extra=_about(request) | {"error": error})
            controller.note(request, _failed(request, Reason.UNAVAILABLE, str(error)))
        except Exception as error:  # noqa: BLE001 - a defect must not stop the other work items
            self.defects += 1
            extra = _about(request) | {"error": type(error).__name__, "at": where(error)}
            logger.error("a pass failed unexpectedly", extra=extra)  # noqa: TRY400 - its message may hold values
            controller.note(request, _failed(request, Reason.INTERNAL, Reason.INTERNAL.sentence))
        return Again(failed=True)

    async def _run(self, controller: Controller, request: Request) -> Again:
        rule, state = controller.rule, controller.state
        assert rule is not None
        cleaning = state is State.CLEANING
        dry = rule.mode is Mode.DRY_RUN and not cleaning
        executor = self._dry if dry else self._executor
        rounds = self._rounds
        while True:
            plan = controller.plan(request)
            result = await executor.execute(plan if dry else controller.admit(plan))
            self._budget.charge(request.rule, requests(result))
            if not dry:
                self._recorder.record(rule, result)
            if controller.rule is not rule or controller.state is not state:
                controller.missed(request)  # another generation has taken over meanwhile
                return Again()
            more = result.wrote and controller.observes and not dry and not cleaning
            if not more or rounds <= 0:
                break
            rounds -= 1
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("a pass", extra=_about(request) | told(result))
        self._wait(request, result)
        finished = not cleaning or self._is_clean(controller, request)
        controller.note(request, item_of(result, dry_run=dry), finished=finished)
        return Again(0.0) if more else when(result, self._clock)

    def _is_clean(self, controller: Controller, request: Request) -> bool:
        return not controller.plan(request).unwanted and not controller.leftover(request)

    def _wait(self, request: Request, result: Result) -> None:
        keys, houses = waits(result)
        self._waiters.set(request, keys | houses)
        if houses:
            self._on_namespace_wait()


def when(result: Result, clock: Clock) -> Again:
    """When a pass with this result asks to be repeated."""
    delays: list[float] = []
    failed = False
    for done in result.done:
        if not isinstance(done.outcome, Held | Failed):
            continue
        if done.outcome.retry_after is not None:
            delays.append(done.outcome.retry_after)
        elif isinstance(done.outcome, Failed):
            failed = True
    if (wake_at := result.plan.wake_at) is not None:
        delays.append(max((wake_at - clock.now()).total_seconds(), 0.0))
    return Again(min(delays, default=None), failed)


def requests(result: Result) -> int:
    """How many requests a pass has caused, about."""
    free = ("verdict", "structural", "echo")  # known without asking
    count = 0
    for done in result.done:
        match done.outcome:
            case Held():
                pass
            case Unchanged(step):
                count += step not in free
            case _:
                count += 1
    return count


def waits(result: Result) -> tuple[set[ObjectKey], set[ObjectKey]]:
    """The objects whose change may let more of the plan be done, and the namespaces."""
    plan = result.plan
    named = [wait.key for wait in plan.waits] + [unknown.key for unknown in plan.unknowns]
    keys = {key for key in named if key is not None}
    houses: set[ObjectKey] = set()
    for done in result.done:
        if isinstance(done.outcome, Held | Failed):
            keys.add(done.key)
            if done.outcome.reason in _HOUSES:
                houses.add(ObjectKey(*NAMESPACE, "", done.key.namespace))
    return keys, houses


def told(result: Result) -> dict[str, object]:
    """A pass in numbers and words, for the log: what became of its objects, by kind of outcome."""
    counts = Counter(type(done.outcome).__name__.lower() for done in result.done)
    if result.plan.waits:
        counts["waits"] = len(result.plan.waits)
    if result.plan.unknowns:
        counts["unknowns"] = len(result.plan.unknowns)
    outcomes = " ".join(f"{count} {name}" for name, count in counts.items())
    return {"matched": result.plan.matched, "outcomes": outcomes}


def where(error: BaseException) -> str:
    """Where an error came from, innermost first, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return " < ".join(f"{f.filename.rpartition('/')[2]}:{f.lineno} {f.name}" for f in reversed(frames))


def _about(request: Request) -> dict[str, object]:
    return {"rule": request.rule, "source": f"{request.namespace}/{request.name}".lstrip("/")}


def _failed(request: Request, reason: Reason, message: str) -> Item:
    source = f"{request.namespace}/{request.name}".lstrip("/")
    return Item(ItemState.FAILED, failures=(Failure(source, "", reason.word, message),))
