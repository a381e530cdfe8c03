"""A plan carried out: which requests are sent, which are not, and what comes of each."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rulesengine.client import APIError, Forbidden, Invalid, TooManyRequests
from rulesengine.compiler.rule import Adopt, ApplyPolicy, Conflicts
from rulesengine.core import json
from rulesengine.core.reasons import Reason
from rulesengine.reconcile import source_status
from rulesengine.reconcile.ownership import ANNOTATION
from rulesengine.reconcile.plan import (
    Created,
    Deleted,
    Failed,
    Held,
    Released,
    SourceRef,
    Unchanged,
    Updated,
    Wait,
)
from tests.unit.apply.fakes import CONFIG_MAP, NAMESPACE, RULE, WIDGET, Bench, conflict, key, planned

OTHER_RULE = '"rulesengine:ClusterRule//other" using v1'


def set_data(value: str):
    def change(body: dict) -> None:
        body["data"] = {"a": value}

    return change


# --- creating ---


async def test_a_child_costs_one_request(bench: Bench) -> None:
    """Created at the first pass, and the answer is in the cache and remembered."""
    assert await bench.one(bench.wanted(data={"a": "1"})) == Created()
    assert bench.server.sent == [("apply", "ConfigMap", "x")]
    assert bench.cache.seen[-1]["metadata"]["name"] == "x"
    assert await bench.one(bench.wanted(data={"a": "1"})) == Unchanged("verdict")
    assert len(bench.server.sent) == 1


async def test_an_object_that_appeared_meanwhile_is_not_touched(bench: Bench) -> None:
    """The creation is refused, the object read into the cache, and looked at again."""
    wanted = bench.wanted(data={"a": "1"})
    bench.server.put(CONFIG_MAP, "x", data={"other": "fields"})
    before = json.encode(bench.server.objects[key()])
    outcome = await bench.one(wanted)
    assert isinstance(outcome, Held)
    assert outcome.reason is Reason.STALE
    assert outcome.retry_after is not None
    assert json.encode(bench.server.objects[key()]) == before
    assert bench.cache.seen[-1]["data"] == {"other": "fields"}


async def test_a_namespace_goes_before_what_lives_in_it(bench: Bench) -> None:
    """Both in one pass, whatever order the entries have."""
    plan = planned(bench.wanted("c", namespace="new"), bench.wanted("new", NAMESPACE))
    assert await bench.run(plan) == [Created(), Created()]
    assert [sent[1] for sent in bench.server.sent] == ["Namespace", "ConfigMap"]


async def test_a_missing_namespace_is_waited_for_and_asked_about_when_something_happens(bench: Bench) -> None:
    """Ever more seldom by itself; a pass that its event woke does not have to wait."""
    wanted = bench.wanted(namespace="later")
    outcomes = [await bench.one(wanted) for _ in range(3)]
    assert [outcome.reason for outcome in outcomes] == [Reason.NAMESPACE_MISSING] * 3
    assert [outcome.retry_after for outcome in outcomes] == [1.0, 2.0, 4.0]
    bench.server.namespaces.add("later")
    assert await bench.one(wanted) == Created()


async def test_independent_children_are_sent_side_by_side_and_answered_in_order(bench: Bench) -> None:
    """One that fails stops none of the others."""
    names = ["a", "b", "c", "d", "e", "f"]
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    outcomes = await bench.run(planned(*(bench.wanted(name) for name in names)))
    assert isinstance(outcomes[0], Failed)
    assert outcomes[1:] == [Created()] * 5


async def test_a_defect_is_raised_after_the_other_requests_are_done(bench: Bench) -> None:
    """No request is cut in the middle, and none is left running."""

    def defect() -> None:
        raise ZeroDivisionError

    bench.server.before = [defect]
    with pytest.raises(ZeroDivisionError):
        await bench.run(planned(bench.wanted("a"), bench.wanted("b")))
    assert key("b") in bench.server.objects


# --- at rest ---


async def test_a_restart_sends_nothing(bench: Bench) -> None:
    """Structure tells without the server that live is as desired; afterwards the verdict does."""
    await bench.one(bench.wanted(data={"a": "1"}))
    bench.restarted()
    assert await bench.one(bench.wanted(data={"a": "1"})) == Unchanged("structural")
    assert await bench.one(bench.wanted(data={"a": "1"})) == Unchanged("verdict")
    assert len(bench.server.sent) == 1


async def test_what_the_server_rewrites_costs_one_idle_apply_after_a_restart(bench: Bench) -> None:
    """The echo knows the server's version of our values; a new engine asks once."""
    bench.server.rewrite = lambda body: body["data"].update(a=body["data"]["a"].lower())
    await bench.one(bench.wanted(data={"a": "X"}))
    assert await bench.one(bench.wanted(data={"a": "X"})) == Unchanged("verdict")
    bench.server.edit(key(), lambda body: body["metadata"].update(labels={"l": "by hand"}))
    assert await bench.one(bench.wanted(data={"a": "X"})) == Unchanged("echo")
    assert len(bench.server.sent) == 1
    bench.restarted()
    assert await bench.one(bench.wanted(data={"a": "X"})) == Unchanged("idle")
    assert await bench.one(bench.wanted(data={"a": "X"})) == Unchanged("verdict")
    assert len(bench.server.sent) == 2


async def test_an_echo_is_about_one_desired_only(bench: Bench) -> None:
    """A changed desired is sent although the object is as the server left it."""
    bench.server.rewrite = lambda body: body["data"].update(a=body["data"]["a"].lower())
    await bench.one(bench.wanted(data={"a": "X"}))
    assert await bench.one(bench.wanted(data={"a": "Y"})) == Updated()


# --- repairing ---


async def test_an_edited_field_is_taken_back_with_force(bench: Bench) -> None:
    """First without; the conflict names nobody's rule, so the policy's force goes."""
    await bench.one(bench.wanted(data={"a": "1"}))
    bench.server.edit(key(), set_data("2"))
    assert await bench.one(bench.wanted(data={"a": "1"})) == Updated()
    assert bench.server.sent[1:] == [("apply", "ConfigMap", "x"), ("apply", "ConfigMap", "x", "force")]
    assert bench.server.objects[key()]["data"] == {"a": "1"}


async def test_a_field_of_another_manager_stays(bench: Bench) -> None:
    """What we do not set is not ours to change."""
    await bench.one(bench.wanted(data={"a": "1"}))
    bench.server.edit(key(), lambda body: body["data"].update(b="2"))
    assert await bench.one(bench.wanted(data={"a": "1"})) == Unchanged("structural")
    assert bench.server.objects[key()]["data"] == {"a": "1", "b": "2"}


async def test_with_conflicts_fail_nothing_is_forced(bench: Bench) -> None:
    """The manager is named, and the refusal remembered until something changes."""
    policy = ApplyPolicy(conflicts=Conflicts.FAIL)
    await bench.one(bench.wanted(policy=policy, data={"a": "1"}))
    bench.server.edit(key(), set_data("2"))
    outcome = await bench.one(bench.wanted(policy=policy, data={"a": "1"}))
    assert isinstance(outcome, Failed)
    assert outcome.reason is Reason.CONFLICT
    assert outcome.manager == "kubectl"
    sent = len(bench.server.sent)
    assert isinstance(await bench.one(bench.wanted(policy=policy, data={"a": "1"})), Failed)
    assert len(bench.server.sent) == sent
    assert await bench.one(bench.wanted(policy=policy, data={"a": "2"})) == Updated()


async def test_fields_of_another_rule_are_never_forced(bench: Bench) -> None:
    """Two rules would fight for ever; the other one is named first."""
    await bench.one(bench.wanted(data={"a": "1"}))
    bench.server.edit(key(), set_data("2"))
    bench.server.refuse = [conflict(('"kubectl"', ".x"), (OTHER_RULE, ".data.a"))]
    outcome = await bench.one(bench.wanted(data={"a": "1"}))
    assert isinstance(outcome, Failed)
    assert outcome.manager == "rulesengine:ClusterRule//other"
    assert not [sent for sent in bench.server.sent if "force" in sent]


async def test_a_recreated_object_is_not_hit_by_a_write_for_its_predecessor(bench: Bench) -> None:
    """Writes carry the uid; another one means looking again."""
    await bench.one(bench.wanted(data={"a": "1"}))
    wanted = bench.wanted(data={"a": "2"})
    del bench.server.objects[key()]
    bench.server.put(CONFIG_MAP, "x", data={"mine": "now"})
    outcome = await bench.one(wanted)
    assert isinstance(outcome, Held)
    assert outcome.reason is Reason.STALE
    assert bench.server.objects[key()]["data"] == {"mine": "now"}


async def test_an_object_that_went_away_meanwhile_is_looked_at_again(bench: Bench) -> None:
    """An apply with a uid creates nothing."""
    await bench.one(bench.wanted(data={"a": "1"}))
    wanted = bench.wanted(data={"a": "2"})
    del bench.server.objects[key()]
    outcome = await bench.one(wanted)
    assert isinstance(outcome, Held)
    assert key() not in bench.server.objects


async def test_a_terminating_object_is_not_written(bench: Bench) -> None:
    """It is waited for."""
    bench.server.put(CONFIG_MAP, "x", metadata={"deletionTimestamp": "2026-01-05T08:00:00Z"})
    outcome = await bench.one(bench.wanted())
    assert isinstance(outcome, Held)
    assert outcome.reason is Reason.TERMINATING
    assert not bench.server.sent


# --- refusals ---


async def test_an_invalid_object_is_not_sent_again_until_it_changes_or_time_passes(bench: Bench) -> None:
    """Answered from memory meanwhile, with the time that is left."""
    bench.server.refuse = [Invalid(422, "Invalid", "quotes a secret", {"causes": []})] * 2
    wanted = bench.wanted(data={"a": "bad"})
    assert isinstance(await bench.one(wanted), Failed)
    assert isinstance(await bench.one(wanted), Failed)
    assert len(bench.server.sent) == 1
    assert isinstance(await bench.one(bench.wanted(data={"a": "else"})), Failed)
    assert len(bench.server.sent) == 2
    bench.clock.advance(3600)
    assert await bench.one(wanted) == Created()


async def test_an_overloaded_server_is_no_failure(bench: Bench) -> None:
    """The work item waits as long as the server asked for."""
    bench.server.refuse = [TooManyRequests(429, "TooManyRequests", "", retry_after=7.0)]
    outcome = await bench.one(bench.wanted())
    assert isinstance(outcome, Held)
    assert outcome.reason is Reason.UNAVAILABLE
    assert outcome.retry_after == 7.0


async def test_an_unserved_kind_is_waited_for(bench: Bench) -> None:
    """Discovery says so; nothing is sent."""
    bench.resources.unserved.add(CONFIG_MAP)
    outcome = await bench.one(bench.wanted())
    assert isinstance(outcome, Held)
    assert outcome.reason is Reason.UNKNOWN_KIND
    assert not bench.server.sent


# --- loops ---


async def test_a_fight_over_a_child_is_stopped_and_named(bench: Bench) -> None:
    """Another manager that takes the field back each time: after five rounds the child rests."""
    await bench.one(bench.wanted(data={"a": "1"}))
    outcomes = []
    for _ in range(8):
        bench.server.edit(key(), set_data("2"), manager="other-operator")
        bench.clock.advance(1)
        outcomes.append(await bench.one(bench.wanted(data={"a": "1"})))
    assert outcomes[:5] == [Updated()] * 5
    for outcome in outcomes[5:]:
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.LOOPING
        assert outcome.manager == "other-operator"
        assert outcome.retry_after is not None
    bench.clock.advance(outcomes[-1].retry_after)
    assert await bench.one(bench.wanted(data={"a": "1"})) == Updated()


# --- adopting ---


@pytest.mark.parametrize("holder", ["", "ClusterRule other"])
async def test_a_foreign_object_is_left_alone(bench: Bench, holder: str) -> None:
    """By default nothing is adopted; one of another rule never is."""
    bench.server.put(CONFIG_MAP, "x", data={"a": "theirs"})
    outcome = await bench.one(bench.foreign(Adopt.NEVER, holder=holder, data={"a": "1"}))
    assert isinstance(outcome, Failed)
    assert outcome.reason is (Reason.CONFLICT if holder else Reason.NOT_OURS)
    assert not bench.server.sent


async def test_an_unowned_object_is_adopted_as_it_was_read(bench: Bench) -> None:
    """One live read, then an apply with its uid and resourceVersion."""
    bench.server.put(CONFIG_MAP, "x", data={"b": "theirs"})
    assert await bench.one(bench.foreign(Adopt.IF_UNOWNED, data={"a": "1"})) == Updated()
    assert [sent[0] for sent in bench.server.sent] == ["get", "apply"]
    assert bench.server.objects[key()]["data"] == {"a": "1", "b": "theirs"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"ownerReferences": [{"kind": "Deployment", "name": "d", "uid": "u", "controller": True}]},
        {"managedFields": [{"manager": "helm", "operation": "Apply"}]},
    ],
)
async def test_an_owned_object_is_adopted_only_by_always(bench: Bench, metadata: dict) -> None:
    """A controller or another applier has it; the refusal is remembered."""
    bench.server.put(CONFIG_MAP, "x", metadata=metadata)
    outcome = await bench.one(bench.foreign(Adopt.IF_UNOWNED, data={"a": "1"}))
    assert isinstance(outcome, Failed)
    assert outcome.reason is Reason.NOT_OURS
    assert isinstance(await bench.one(bench.foreign(Adopt.IF_UNOWNED, data={"a": "1"})), Failed)
    assert len(bench.server.sent) == 1
    assert await bench.one(bench.foreign(Adopt.ALWAYS, data={"a": "1"})) == Updated()


async def test_an_object_that_changes_while_it_is_adopted_is_looked_at_again(bench: Bench) -> None:
    """Somebody may have taken it between the read and the write."""
    bench.server.put(CONFIG_MAP, "x", data={"b": "theirs"})
    wanted = bench.foreign(Adopt.IF_UNOWNED, data={"a": "1"})
    bench.server.before = [lambda: None, lambda: bench.server.edit(key(), set_data("new"))]
    outcome = await bench.one(wanted)
    assert isinstance(outcome, Held)
    assert outcome.reason is Reason.STALE
    assert bench.server.objects[key()]["data"] == {"a": "new"}


@pytest.mark.parametrize("finds", ["nothing", "another", "terminating"])
async def test_an_object_to_adopt_that_is_another_by_now_is_looked_at_again(bench: Bench, finds: str) -> None:
    """What the cache said is corrected by the live read, and nothing is written."""
    bench.server.put(CONFIG_MAP, "x")
    wanted = bench.foreign(Adopt.ALWAYS, data={"a": "1"})
    del bench.server.objects[key()]
    if finds == "another":
        bench.server.put(CONFIG_MAP, "x")
    if finds == "terminating":
        gone = {"uid": wanted.live.uid, "deletionTimestamp": "2026-01-05T08:00:00Z"}
        bench.server.put(CONFIG_MAP, "x", metadata=gone)
    outcome = await bench.one(wanted)
    assert isinstance(outcome, Held)
    assert [sent[0] for sent in bench.server.sent] == ["get"]
    assert bench.cache.dropped == (["x"] if finds == "nothing" else [])
    assert len(bench.cache.seen) == (1 if finds == "another" else 0)


async def test_a_live_read_that_fails_adopts_nothing(bench: Bench) -> None:
    """Whether it is free is not known."""
    bench.server.put(CONFIG_MAP, "x")
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    outcome = await bench.one(bench.foreign(Adopt.ALWAYS, data={"a": "1"}))
    assert isinstance(outcome, Failed)
    assert outcome.reason is Reason.FORBIDDEN
    assert [sent[0] for sent in bench.server.sent] == ["get"]


async def test_an_object_that_appears_and_goes_is_simply_created_the_next_time(bench: Bench) -> None:
    """The read after a refused creation may find nothing."""
    wanted = bench.wanted(data={"a": "1"})
    bench.server.put(CONFIG_MAP, "x")
    bench.server.before = [lambda: None, bench.server.objects.clear]
    assert isinstance(await bench.one(wanted), Held)
    bench.clock.advance(1)
    assert await bench.one(wanted) == Created()


# --- removing ---


async def test_what_is_unwanted_goes_after_everything_was_written(bench: Bench) -> None:
    """With uid, resourceVersion and the propagation of its entry."""
    await bench.one(bench.wanted("old"))
    plan = planned(bench.wanted("new"), unwanted=(bench.unwanted("old"),))
    assert await bench.run(plan) == [Created(), Deleted()]
    assert bench.server.sent[-1] == ("delete", "ConfigMap", "old", "Background")
    assert bench.cache.dropped == ["old"]


async def test_a_write_that_failed_keeps_everything(bench: Bench) -> None:
    """Pruning is all or nothing for a work item."""
    await bench.one(bench.wanted("old"))
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    outcomes = await bench.run(planned(bench.wanted("new"), unwanted=(bench.unwanted("old"),)))
    assert len(outcomes) == 1
    assert key("old") in bench.server.objects


async def test_a_plan_that_waits_prunes_nothing(bench: Bench) -> None:
    """Waiting never removes."""
    await bench.one(bench.wanted("old"))
    plan = planned(unwanted=(bench.unwanted("old"),), waits=(Wait("entry", "something"),))
    assert await bench.run(plan) == []
    assert key("old") in bench.server.objects


async def test_an_object_that_changed_since_it_was_judged_is_not_deleted(bench: Bench) -> None:
    """Its claim may have gone; the precondition holds it."""
    await bench.one(bench.wanted("old"))
    unwanted = bench.unwanted("old")
    bench.server.edit(key("old"), set_data("2"))
    outcomes = await bench.run(planned(unwanted=(unwanted,)))
    assert isinstance(outcomes[0], Held)
    assert outcomes[0].reason is Reason.STALE
    assert key("old") in bench.server.objects


async def test_what_is_gone_already_counts_as_deleted(bench: Bench) -> None:
    """A 404 that names the object is what was wanted."""
    await bench.one(bench.wanted("old"))
    unwanted = bench.unwanted("old")
    del bench.server.objects[key("old")]
    assert await bench.run(planned(unwanted=(unwanted,))) == [Deleted()]


async def test_a_delete_is_sent_once_while_its_event_is_under_way(bench: Bench) -> None:
    """The cache still has the object; asking again would be noise."""
    await bench.one(bench.wanted("old"))
    plan = planned(unwanted=(bench.unwanted("old"),))
    assert await bench.run(plan) == [Deleted()]
    sent = len(bench.server.sent)
    outcome = (await bench.run(plan))[0]
    assert isinstance(outcome, Held)
    assert len(bench.server.sent) == sent


async def test_a_removal_that_fails_keeps_those_after_it(bench: Bench) -> None:
    """They may be what it depends on."""
    await bench.run(planned(bench.wanted("a"), bench.wanted("b")))
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    plan = planned(unwanted=(bench.unwanted("a"), bench.unwanted("b")))
    outcomes = await bench.run(plan)
    assert len(outcomes) == 1
    assert isinstance(outcomes[0], Failed)
    assert key("b") in bench.server.objects


async def test_the_garbage_collector_goes_first_where_it_is_expected(bench: Bench) -> None:
    """Held until its time is over, then deleted."""
    await bench.one(bench.wanted("old"))
    unwanted = bench.unwanted("old", wait_until=bench.clock.now() + timedelta(seconds=10))
    outcome = (await bench.run(planned(unwanted=(unwanted,))))[0]
    assert isinstance(outcome, Held)
    assert outcome.retry_after == 10.0
    bench.clock.advance(10)
    assert await bench.run(planned(unwanted=(unwanted,))) == [Deleted()]


@pytest.mark.parametrize(("there", "kind"), [(None, Deleted), ("other-uid", Deleted), ("uid-w", Held)])
async def test_an_orphan_goes_only_when_its_source_is_confirmed_gone(
    bench: Bench, there: str | None, kind: type
) -> None:
    """A live read says absent or another uid; else the orphan stays."""
    await bench.one(bench.wanted("old"))
    if there is not None:
        bench.server.put(WIDGET, "w", metadata={"uid": there})
    source = SourceRef(WIDGET, "default", "w", "uid-w")
    outcomes = await bench.run(planned(unwanted=(bench.unwanted("old", confirm_gone=source),)))
    assert isinstance(outcomes[0], kind)


async def test_an_orphan_stays_while_its_source_cannot_be_asked_about(bench: Bench) -> None:
    """Forbidden is not gone; and one question answers for all orphans of a source."""
    await bench.run(planned(bench.wanted("a"), bench.wanted("b")))
    source = SourceRef(WIDGET, "default", "w", "uid-w")
    both = tuple(bench.unwanted(name, confirm_gone=source) for name in ("a", "b"))
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    outcomes = await bench.run(planned(unwanted=both))
    assert [outcome.reason for outcome in outcomes] == [Reason.FORBIDDEN]
    assert await bench.run(planned(unwanted=both)) == [Deleted(), Deleted()]
    assert [sent[0] for sent in bench.server.sent[-3:]] == ["get", "delete", "delete"]
    bench.resources.unserved.add(WIDGET)
    await bench.one(bench.wanted("c"))
    outcomes = await bench.run(planned(unwanted=(bench.unwanted("c", confirm_gone=source),)))
    assert [outcome.reason for outcome in outcomes] == [Reason.UNKNOWN_KIND]


async def test_a_refused_removal_is_not_sent_again_at_once(bench: Bench) -> None:
    """Remembered like any refusal."""
    await bench.one(bench.wanted("old"))
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    for _ in range(3):
        assert isinstance((await bench.run(planned(unwanted=(bench.unwanted("old"),))))[0], Failed)
    assert len(bench.server.sent) == 2


async def test_what_is_made_and_deleted_in_turns_comes_to_rest(bench: Bench) -> None:
    """Thirty writes of any kind in a minute are a loop, deletes among them."""
    outcomes = []
    for _ in range(20):
        outcomes.append(await bench.one(bench.wanted()))
        if key() in bench.server.objects:
            outcomes += await bench.run(planned(unwanted=(bench.unwanted(),)))
    assert [type(outcome) for outcome in outcomes[:30]] == [Created, Deleted] * 15
    assert {outcome.reason for outcome in outcomes[30:]} == {Reason.LOOPING}


async def test_a_terminating_object_is_seen_as_such_at_once(bench: Bench) -> None:
    """Where finalizers hold it, the answer to the delete goes into the cache."""
    await bench.one(bench.wanted("old"))
    bench.server.objects[key("old")]["metadata"]["finalizers"] = ["x.y/z"]
    assert await bench.run(planned(unwanted=(bench.unwanted("old"),))) == [Deleted()]
    assert "deletionTimestamp" in bench.cache.seen[-1]["metadata"]
    assert bench.cache.dropped == []


# --- releasing ---


async def test_an_adopted_object_gets_its_fields_back(bench: Bench) -> None:
    """What only we owned goes, what others set stays, and so does the object."""
    bench.server.put(CONFIG_MAP, "x", data={"b": "theirs"})
    wanted = bench.foreign(Adopt.IF_UNOWNED, data={"a": "1"})
    wanted.adoption["metadata"]["annotations"][ANNOTATION] = '{"adopted": true}'
    await bench.one(wanted)
    assert await bench.run(planned(unwanted=(bench.unwanted(release=True),))) == [Released()]
    left = bench.server.objects[key()]
    assert left["data"] == {"b": "theirs"}
    assert ANNOTATION not in left["metadata"].get("annotations", {})


async def test_an_orphaned_object_keeps_its_values_and_loses_our_marks(bench: Bench) -> None:
    """Nothing of its content changes; nobody's garbage collector takes it later."""
    claim = '{"source": ["", "W", "n", "w", "uid-w"]}'
    wanted = bench.wanted(data={"a": "1"})
    wanted.desired["metadata"]["annotations"] = {ANNOTATION: claim, "kept": "yes"}
    wanted.desired["metadata"]["ownerReferences"] = [{"uid": "uid-w", "kind": "W", "name": "w"}]
    await bench.one(wanted)
    assert await bench.run(planned(unwanted=(bench.unwanted(release=True),))) == [Released(as_is=True)]
    left = bench.server.objects[key()]
    assert left["data"] == {"a": "1"}
    assert left["metadata"]["annotations"] == {"kept": "yes"}
    assert not left["metadata"].get("ownerReferences")
    assert not left["metadata"].get("managedFields")


async def test_a_release_the_server_refuses_leaves_the_values(bench: Bench) -> None:
    """Required fields cannot be given up: our entry is dropped instead."""
    wanted = bench.wanted(data={"a": "1"})
    wanted.desired["metadata"]["annotations"][ANNOTATION] = '{"adopted": true}'
    await bench.one(wanted)
    bench.server.refuse = [Invalid(422, "Invalid", "", {"causes": []})]
    assert await bench.run(planned(unwanted=(bench.unwanted(release=True),))) == [Released(as_is=True)]
    assert bench.server.objects[key()]["data"] == {"a": "1"}


async def test_a_release_waits_for_rights_and_for_a_fresh_look(bench: Bench) -> None:
    """Forbidden does not mean that the values are to be left; another object is not touched."""
    wanted = bench.wanted(data={"a": "1"})
    wanted.desired["metadata"]["annotations"][ANNOTATION] = '{"adopted": true}'
    await bench.one(wanted)
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    unwanted = bench.unwanted(release=True)
    outcomes = await bench.run(planned(unwanted=(unwanted,)))
    assert [outcome.reason for outcome in outcomes] == [Reason.FORBIDDEN]
    bench.clock.advance(3600)
    del bench.server.objects[key()]
    bench.server.put(CONFIG_MAP, "x", data={"mine": "now"})
    outcomes = await bench.run(planned(unwanted=(unwanted,)))
    assert [outcome.reason for outcome in outcomes] == [Reason.STALE]
    assert bench.server.objects[key()]["data"] == {"mine": "now"}


async def test_a_copied_claim_goes_with_the_release(bench: Bench) -> None:
    """Somebody co-owns our annotation: given up it would stay, and the object would look ours for ever."""
    wanted = bench.wanted(data={"a": "1"})
    wanted.desired["metadata"]["annotations"][ANNOTATION] = '{"adopted": true}'
    await bench.one(wanted)
    resource = bench.resources.known(CONFIG_MAP)
    await bench.server.apply(resource, "default", "x", wanted.desired, field_manager="copier")
    assert await bench.run(planned(unwanted=(bench.unwanted(release=True),))) == [Released(as_is=True)]
    left = bench.server.objects[key()]
    assert ANNOTATION not in left["metadata"].get("annotations", {})
    assert left["data"] == {"a": "1"}


async def test_an_orphan_that_is_another_by_now_is_left_alone(bench: Bench) -> None:
    """The marks to be taken off are not on it."""
    await bench.one(bench.wanted("old"))
    unwanted = bench.unwanted("old", release=True)
    del bench.server.objects[key("old")]
    bench.server.put(CONFIG_MAP, "old", data={"mine": "now"})
    outcomes = await bench.run(planned(unwanted=(unwanted,)))
    assert [outcome.reason for outcome in outcomes] == [Reason.STALE]
    assert [sent[0] for sent in bench.server.sent] == ["apply", "get"]


# --- the source's status ---


async def test_status_is_applied_once_and_a_restart_sends_nothing(bench: Bench) -> None:
    """To /status, never forced, and known to be there afterwards."""
    bench.server.put(WIDGET, "w", spec={"size": 1})
    result = await bench.executor.execute(planned(status=bench.status(value={"ready": True})))
    assert [(done.entry, done.outcome) for done in result.done] == [(source_status.ENTRY, Updated())]
    assert bench.server.sent == [("apply", "Widget", "w", "status")]
    bench.restarted()
    again = await bench.run(planned(status=bench.status(value={"ready": True})))
    assert again == [Unchanged("structural")]
    assert await bench.run(planned(status=bench.status(value={"ready": True}))) == [Unchanged("verdict")]


async def test_a_status_that_is_no_longer_wanted_is_released_once(bench: Bench) -> None:
    """Our fields go; afterwards there is nothing to give up."""
    bench.server.put(WIDGET, "w", spec={"size": 1})
    await bench.run(planned(status=bench.status(value={"ready": True})))
    assert await bench.run(planned(status=bench.status())) == [Released()]
    assert "ready" not in bench.server.objects[key("w", WIDGET)].get("status", {})
    assert isinstance((await bench.run(planned(status=bench.status())))[0], Unchanged)


async def test_conditions_without_keys_are_merged_by_type(bench: Bench) -> None:
    """Applying ours would replace everybody's; they are sent with the resourceVersion they came from."""
    status = bench.schemas.schemas[WIDGET].properties["status"]
    plain = type(status)(type="object", properties={"ready": status.properties["ready"]})
    whole = bench.schemas.schemas[WIDGET]
    bench.schemas.schemas[WIDGET] = type(whole)(
        type="object", properties={**whole.properties, "status": plain}
    )
    theirs = {"type": "Theirs", "status": "True"}
    bench.server.put(WIDGET, "w", status={"conditions": [{"type": "Mine", "status": "False"}, theirs]})
    wanted = bench.status(value={"conditions": [{"type": "Mine", "status": "True"}]})
    assert await bench.run(planned(status=wanted)) == [Updated()]
    assert bench.server.sent == [("patch", "Widget", "w", "status")]
    found = bench.server.objects[key("w", WIDGET)]["status"]["conditions"]
    assert found == [{"type": "Mine", "status": "True"}, theirs]
    again = bench.status(value={"conditions": [{"type": "Mine", "status": "True"}]})
    assert await bench.run(planned(status=again)) == [Unchanged("structural")]


async def test_a_contested_status_is_given_up_and_named(bench: Bench) -> None:
    """Five refusals within ten minutes; never forced."""
    bench.server.put(WIDGET, "w", spec={"size": 1})
    outcomes = []
    for index in range(7):
        bench.clock.advance(60)
        bench.server.edit(key("w", WIDGET), lambda body, i=index: body["spec"].update(size=i + 10))
        bench.server.refuse = [conflict(('"kubelet"', ".status.ready"))] if index < 5 else []
        outcomes += await bench.run(planned(status=bench.status(value={"ready": True})))
    assert [outcome.reason for outcome in outcomes[:5]] == [Reason.CONFLICT] * 5
    assert [outcome.reason for outcome in outcomes[5:]] == [Reason.STATUS_CONTESTED] * 2
    assert outcomes[-1].manager == "kubelet"
    assert not [sent for sent in bench.server.sent if "force" in sent]


async def test_a_status_the_server_rewrites_is_known_by_its_echo(bench: Bench) -> None:
    """As for children: only what is ours has to be as the server left it."""

    def rewrite(body: dict) -> None:
        if "status" in body:
            body["status"]["ready"] = False

    bench.server.put(WIDGET, "w", spec={"size": 1})
    bench.server.rewrite = rewrite
    await bench.run(planned(status=bench.status(value={"ready": True})))
    bench.server.edit(key("w", WIDGET), lambda body: body["spec"].update(size=2))
    again = await bench.run(planned(status=bench.status(value={"ready": True})))
    assert again == [Unchanged("structural")]
    assert len(bench.server.sent) == 1
    bench.restarted()
    assert await bench.run(planned(status=bench.status(value={"ready": True}))) == [Unchanged("idle")]


async def test_a_refused_status_is_not_sent_again_at_once(bench: Bench) -> None:
    """Remembered like any refusal."""
    bench.server.put(WIDGET, "w")
    bench.server.refuse = [Forbidden(403, "Forbidden", "no")]
    for _ in range(3):
        assert isinstance((await bench.run(planned(status=bench.status(value={"ready": True}))))[0], Failed)
    assert len(bench.server.sent) == 1


async def test_a_source_whose_kind_is_gone_waits(bench: Bench) -> None:
    """Its status has no address."""
    bench.server.put(WIDGET, "w")
    bench.resources.unserved.add(WIDGET)
    outcome = (await bench.run(planned(status=bench.status(value={"ready": True}))))[0]
    assert isinstance(outcome, Held)


async def test_a_kind_without_status_is_told(bench: Bench) -> None:
    """Nothing is sent to an address that is not there."""
    bench.server.put(WIDGET, "w")
    known = bench.resources.known(WIDGET)
    assert known is not None
    bench.resources.known = lambda gvk: type(known)(gvk, "widgets", namespaced=True)
    outcome = (await bench.run(planned(status=bench.status(value={"ready": True}))))[0]
    assert isinstance(outcome, Failed)
    assert not bench.server.sent


async def test_a_failing_status_does_not_keep_children_from_going(bench: Bench) -> None:
    """Status comes last and stands for itself."""
    bench.server.put(WIDGET, "w")
    await bench.one(bench.wanted("old"))
    plan = planned(unwanted=(bench.unwanted("old"),), status=bench.status(value={"ready": True}))
    bench.server.before = [lambda: None, lambda: bench.server.refuse.append(APIError(403, "Forbidden"))]
    outcomes = await bench.run(plan)
    assert outcomes[0] == Deleted()
    assert isinstance(outcomes[1], Failed)


def test_the_manager_of_the_tests_is_that_of_a_rule() -> None:
    """So that conflicts with another rule's are told apart as in life."""
    assert RULE.manager == "rulesengine:ClusterRule//r"
