"""A rule's life: in effect, changed, frozen, suspended, deleted; and what is written when."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rulesengine.cache import Phase
from rulesengine.client import Conflict, Unreachable
from rulesengine.core.keys import Request, RuleKey
from rulesengine.reconcile import Item
from rulesengine.reconcile.tally import Failure, ItemState
from rulesengine.runtime.controller import State
from rulesengine.runtime.rule_object import ABANDON, FINALIZER, RULE
from tests.unit.runtime.fakes import CONFIG_MAP, KEY, SECRET, WIDGET, made, widget
from tests.unit.runtime.house import House, rule_body

CONVERGED = Item(ItemState.CONVERGED, resources=1)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    house = House()
    house.start()
    yield house
    await house.stop()


async def look_at_all(house: House, item: Item = CONVERGED) -> None:
    """Plays the workers: every work item that is ready gets this result."""
    while house.queue.ready:
        request = await house.queue.take()
        house.queue.done(request)
        house.rules.controllers[request.rule].note(request, item)


async def test_finalizer_and_kinds_stand_before_anything_may_be_made(house: House) -> None:
    """In this order: finalizer, written kinds, first work item."""
    house.cache.set(widget())
    house.put(rule_body())
    await house.settle()
    assert house.client.verbs == ["patch", "status"]
    assert house.body()["metadata"]["finalizers"] == [FINALIZER]  # type: ignore[index]
    assert house.status()["writtenKinds"] == [{"group": "", "kind": "ConfigMap"}]
    assert house.queue.ready == 1


@pytest.mark.parametrize("which", ["patch", "status"])
async def test_without_them_nothing_is_made(house: House, which: str) -> None:
    """Refused, they are tried again; until then the rule is not at work."""
    house.cache.set(widget())
    if which == "status":
        house.put(rule_body(metadata={"finalizers": [FINALIZER]}))
    else:
        house.put(rule_body())
    house.client.refuse = Unreachable("away")
    await house.settle()
    assert house.queue.ready == 0
    house.client.refuse = None
    await house.settle(1.0)
    assert house.queue.ready == 1


async def test_a_restart_writes_nothing(house: House) -> None:
    """What stands in the cluster says it all already."""
    house.cache.set(widget())
    house.put(rule_body())
    await house.settle()
    await look_at_all(house)
    await house.settle(6.0)
    body = house.body()
    await house.stop()
    again = House()
    again.cache.set(widget())
    again.start()
    assert body is not None
    again.put(body)
    await again.settle(0.2)
    assert again.client.writes == []  # not even that it progresses
    await look_at_all(again)
    await again.settle(60.0)
    assert again.client.writes == []
    await again.stop()


async def test_status_is_written_soon_and_then_seldom(house: House) -> None:
    """The first change at once, further ones at most every five seconds; the last is never lost."""
    for name in ("v", "w"):
        house.cache.set(widget(name))
    house.put(rule_body())
    await house.settle()
    await look_at_all(house)
    await house.settle(5.1)
    assert house.condition("Ready")["status"] == "True"
    assert house.status()["converged"] == 2
    before = len(house.client.writes)
    failed = Item(ItemState.FAILED, failures=(Failure("a/w", "c", "Invalid", "m"),))
    controller = house.rules.controllers[KEY]
    for item in (failed, CONVERGED, failed):
        controller.note(Request(KEY, "a", "w"), item)
        await house.settle(1.0)
    assert len(house.client.writes) == before
    await house.settle(2.1)
    assert len(house.client.writes) == before + 1
    assert house.status()["failures"] == [
        {"source": "a/w", "resource": "c", "reason": "Invalid", "message": "m"}
    ]
    assert house.condition("Ready")["reason"] == "Failed"


async def test_a_status_that_somebody_else_wipes_is_put_back(house: House) -> None:
    """Once: it is written because it differs, not because somebody wrote."""
    house.put(rule_body())
    await house.settle()
    await house.settle(6.0)
    body, before = house.body(), len(house.client.writes)
    assert body is not None
    house.put({name: value for name, value in body.items() if name != "status"})
    await house.settle(6.0)
    assert house.condition("Ready")["status"] == "True"
    assert len(house.client.writes) == before + 1


async def test_a_generation_that_does_not_compile_freezes_the_rule(house: House) -> None:
    """It says why; nothing is done, watches stay; the next good one thaws it."""
    house.cache.set(widget())
    house.put(rule_body())
    await house.settle()
    await look_at_all(house)
    await house.settle(6.0)
    watched = house.watched()
    house.edit(bad=True)
    house.cache.set(widget(spec={"size": 2}))
    await house.settle(6.0)
    assert house.queue.ready == 0
    assert house.watched() == watched
    accepted = house.condition("Accepted")
    assert (accepted["status"], accepted["message"]) == ("False", "RE201: no such name (spec.resources[0])")
    assert accepted["observedGeneration"] == 2
    assert house.status()["converged"] == 1  # what was counted last still stands
    house.edit(bad=False)
    await house.settle(6.0)
    assert house.queue.ready == 1
    assert house.condition("Accepted")["status"] == "True"


async def test_a_change_that_means_nothing_disturbs_nothing(house: House) -> None:
    """An annotation that nobody reads leads to no work."""
    house.cache.set(widget())
    house.put(rule_body())
    await house.settle()
    await look_at_all(house)
    body = house.body()
    assert body is not None
    body["metadata"]["annotations"] = {"note": "hello"}
    house.put(body)
    await house.settle()
    assert house.queue.ready == 0


async def test_asking_on_the_rule_looks_at_everything_once_more(house: House) -> None:
    """And lets what was refused be tried again."""
    house.cache.set(widget())
    house.put(rule_body())
    await house.settle()
    await look_at_all(house)
    body = house.body()
    assert body is not None
    body["metadata"]["annotations"] = {"rulesengine.dev/reconcile-at": "now"}
    house.put(body)
    await house.settle()
    assert (house.queue.ready, house.retried) == (1, 1)


async def test_a_kind_that_a_rule_drops_stays_listed_until_nothing_is_there(house: House) -> None:
    """And is listed before it is written when it comes back."""
    house.cache.set(widget())
    house.put(rule_body(kinds=["ConfigMap", "Secret"]))
    await house.settle()
    await look_at_all(house)
    house.cache.set(made(gvk=SECRET, name="w-c"))
    house.edit(kinds=["ConfigMap"])
    await house.settle(6.0)
    await look_at_all(house)
    await house.settle(6.0)
    assert {"group": "", "kind": "Secret"} in house.status()["writtenKinds"]
    assert SECRET in house.watched()
    house.cache.remove(SECRET, "a", "w-c")
    house.rules.controllers[KEY].wake(Request(KEY, "a", "w"))
    await look_at_all(house)
    await house.settle(6.0)
    assert house.status()["writtenKinds"] == [{"group": "", "kind": "ConfigMap"}]
    assert house.watched() == {CONFIG_MAP, WIDGET}


@pytest.mark.parametrize("mode", ["DryRun", "Suspended"])
async def test_a_rule_that_writes_nothing_gets_no_finalizer(house: House, mode: str) -> None:
    """It may be deleted without the engine."""
    house.put(rule_body(mode=mode))
    await house.settle()
    await house.settle(1.0)
    assert "patch" not in house.client.verbs
    assert house.status()["writtenKinds"] == []
    house.delete()
    await house.settle()
    assert house.rules.controllers == {}
    assert house.gone == [KEY]


async def test_a_deleted_rule_goes_once_all_it_made_is_gone(house: House) -> None:
    """Not before, and then without delay."""
    house.cache.set(widget())
    house.put(rule_body())
    await house.settle()
    await look_at_all(house)
    house.cache.set(made())
    house.delete()
    await house.settle()
    controller = house.rules.controllers[KEY]
    assert controller.state is State.CLEANING
    assert house.body() is not None
    house.cache.remove(CONFIG_MAP, "a", "w-c")
    await look_at_all(house)
    await house.settle()
    assert house.body() is None
    assert house.rules.controllers == {}
    assert house.watched() == set()


async def test_a_deleted_rule_that_does_not_compile_goes_too(house: House) -> None:
    """What it made before is known from its status."""
    written = {"writtenKinds": [{"group": "", "kind": "Secret"}]}
    house.cache.set(made(gvk=SECRET, name="w-c"))
    house.put(rule_body(bad=True, status=written, metadata={"finalizers": [FINALIZER]}))
    await house.settle()
    house.delete()
    await house.settle()
    assert house.queue.ready == 1
    house.cache.remove(SECRET, "a", "w-c")
    await look_at_all(house)
    await house.settle()
    assert house.body() is None


async def test_a_clean_up_whose_beginning_fails_begins_again(house: House) -> None:
    """The server could not be asked when an engine found the rule deleted."""
    written = {"writtenKinds": [{"group": "", "kind": "ConfigMap"}]}
    gone = {"finalizers": [FINALIZER], "deletionTimestamp": "2026-01-05T08:00:00Z"}
    house.compiling.error = Unreachable("away")
    house.put(rule_body(status=written, metadata=gone))
    await house.settle()
    assert house.body() is not None
    house.compiling.error = None
    await house.settle(1.0)
    assert house.body() is None


async def test_what_cannot_be_cleaned_up_is_said_and_can_be_abandoned(house: House) -> None:
    """A kind that may not be read holds the rule, until somebody says to let go."""
    house.put(rule_body())
    await house.settle()
    house.cache.phase(CONFIG_MAP, Phase.FORBIDDEN)
    house.delete()
    await house.settle(6.0)
    assert house.condition("CleanupBlocked")["reason"] == "Forbidden"
    body = house.body()
    assert body is not None
    body["metadata"]["annotations"] = {ABANDON: "true"}
    house.put(body)
    await house.settle()
    assert house.body() is None


async def test_a_clean_up_that_was_blocked_goes_on_by_itself(house: House) -> None:
    """Once the kind can be read again."""
    house.put(rule_body())
    await house.settle()
    house.cache.phase(CONFIG_MAP, Phase.FORBIDDEN)
    house.delete()
    await house.settle(6.0)
    assert house.body() is not None
    house.cache.phase(CONFIG_MAP, Phase.SYNCED)
    await house.settle()
    assert house.body() is None


async def test_a_pass_under_way_keeps_the_rule_until_it_ended(house: House) -> None:
    """It may be about to make something."""
    house.cache.set(widget())
    house.put(rule_body())
    await house.settle()
    request = await house.queue.take()
    house.delete()
    await house.settle()
    assert house.body() is not None
    house.rules.controllers[KEY].missed(request)
    house.queue.done(request)
    await look_at_all(house)
    await house.settle()
    assert house.body() is None


async def test_a_rule_of_a_namespace_that_goes_is_let_go_at_once(house: House) -> None:
    """All it made goes with the namespace."""
    key = RuleKey("Rule", "a", "r")
    house.put(rule_body(kind="Rule", metadata={"namespace": "a"}))
    await house.settle()
    house.cache.set(made(rule=key))
    house.client.terminating.add("a")
    house.delete(key)
    await house.settle()
    assert house.body(key) is None
    assert house.cache.stores[(RULE, "")].get("a", "r") is None


async def test_a_rule_that_moved_meanwhile_is_looked_at_anew(house: House) -> None:
    """A conflict is not an error."""
    house.client.refuse = Conflict(409, "Conflict")
    house.put(rule_body())
    await house.settle()
    house.client.refuse = None
    await house.settle(1.0)
    assert house.body()["metadata"]["finalizers"] == [FINALIZER]  # type: ignore[index]


async def test_rules_are_compiled_anew_when_what_the_server_serves_changes(house: House) -> None:
    """Those that name a kind of the group, and no others."""
    house.put(rule_body())
    await house.settle()
    assert house.rules.naming("example.com") == {KEY}
    assert house.rules.naming("other.example.com") == frozenset()
    before = house.compiling.count
    house.rules.compile_anew([KEY])
    await house.settle()
    assert house.compiling.count == before + 1


async def test_a_server_that_cannot_be_asked_delays_a_rule(house: House) -> None:
    """It is tried again and nothing of it is lost."""
    house.compiling.error = Unreachable("away")
    house.put(rule_body())
    await house.settle(0.2)
    assert house.client.verbs == ["status"]
    assert house.condition("Accepted")["status"] == "Unknown"
    assert house.condition("Ready")["message"] == "the server could not be asked: away"
    house.compiling.error = None
    await house.settle(1.0)
    await house.settle(6.0)
    assert house.client.verbs[1] == "patch"
    assert house.condition("Ready")["status"] == "True"


async def test_a_defect_in_compiling_is_said_and_holds_no_rule(house: House) -> None:
    """The rule says that something unexpected happened; it can still be deleted."""
    house.put(rule_body())
    await house.settle()
    house.edit(mode="no such mode")
    await house.settle(6.0)
    assert house.condition("Ready")["reason"] == "Unavailable"
    house.delete()
    await house.settle(6.0)
    assert house.body() is None


async def test_very_many_sources_leave_the_loop_to_others(house: House) -> None:
    """Enqueueing goes in pieces; the rule is planned only after the last."""
    for n in range(1200):
        house.cache.set(widget(f"w{n}"))
    house.put(rule_body())
    await house.settle()
    assert house.queue.ready == 1200
    await look_at_all(house)
    assert house.rules.controllers[KEY].planned


async def test_a_rule_made_anew_under_the_same_name_starts_anew(house: House) -> None:
    """Its uid tells it from the one before."""
    house.put(rule_body())
    await house.settle()
    house.put(rule_body(metadata={"uid": "another"}))
    await house.settle()
    rule = house.rules.controllers[KEY].rule
    assert rule is not None
    assert rule.uid == "another"
