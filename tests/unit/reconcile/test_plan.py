"""One pass over one work item: what is wanted, what goes, and when nothing is certain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rulesengine import cel
from rulesengine.compiler.rule import Adopt, Deletion, LabelSelector, OnRuleDeletion, Owner, Source
from rulesengine.compiler.schedule import Every
from rulesengine.core.errors import EvaluationError
from rulesengine.core.keys import Request
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.core.reasons import Reason
from rulesengine.reconcile import ANNOTATION, LABEL, Context, cleanup
from tests.unit.reconcile.fakes import (
    CONFIG_MAP,
    NAMESPACE,
    NOW,
    Bench,
    Code,
    config_map,
    entry,
    field_of,
    make_rule,
    one,
    policy,
)

SECRET = GroupVersionKind("", "v1", "Secret")


def failing(_names: object) -> bool:
    raise EvaluationError("no such key", reason="no_such_field", path=("object", "spec"))


def test_a_matching_source_wants_its_children_stamped_and_owned(bench: Bench) -> None:
    """What is wanted carries claim, label and a reference to the source in the same namespace."""
    source = bench.widget()
    item = one(bench.plan(make_rule(entry("child", config_map()))))
    meta = item.desired["metadata"]
    assert (meta["name"], meta["namespace"]) == ("w-child", "a")
    assert meta["labels"] == {LABEL: "r"}
    assert ANNOTATION in meta["annotations"]
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": source.uid}
    assert meta["ownerReferences"] == [owner]


def test_a_settled_work_item_wants_the_very_same_bytes(bench: Bench) -> None:
    """The time of the first stamp stays, so that nothing is written again later."""
    bench.widget()
    rule = make_rule(entry("child", config_map()))
    bench.settle(rule)
    before = one(bench.plan(rule)).desired
    bench.now += timedelta(days=3)
    assert (
        one(bench.plan(rule)).desired
        == before
        == bench.child().body
        | {"metadata": {k: v for k, v in bench.child().body["metadata"].items() if k != "uid"}}
    )


def test_no_reference_is_written_where_kubernetes_forbids_it(bench: Bench) -> None:
    """A namespaced source cannot own an object of another namespace."""
    bench.widget()

    def elsewhere(names: object) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "b"}}

    assert (
        "ownerReferences" not in one(bench.plan(make_rule(entry("x", Code(elsewhere))))).desired["metadata"]
    )


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"owner": Owner.NONE}, None),
        ({"deletion": Deletion.ORPHAN}, None),
        ({"owner": Owner.CONTROLLER}, True),
    ],
)
def test_the_policy_decides_about_the_reference(
    bench: Bench, more: dict[str, object], expected: object
) -> None:
    """None and Orphan write no reference, Controller a controlling one."""
    bench.widget()
    item = one(bench.plan(make_rule(entry("child", config_map(), policy=policy(**more)))))
    owners = item.desired["metadata"].get("ownerReferences")
    assert (owners[0]["controller"] if owners else None) is expected


def test_a_source_that_stops_matching_loses_what_was_made(bench: Bench) -> None:
    """A condition that evaluates to false removes."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map())))
    outcome = bench.plan(make_rule(entry("child", config_map()), conditions=[Code(lambda _: False)]))
    assert [item.live.key.name for item in outcome.unwanted] == ["w-child"]
    assert outcome.matched is False
    assert outcome.may_prune


def test_a_condition_that_fails_freezes_the_work_item(bench: Bench) -> None:
    """Unknown is not false: nothing is wanted, nothing goes."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map())))
    outcome = bench.plan(make_rule(entry("child", config_map()), conditions=[Code(failing)]))
    assert not outcome.wanted
    assert not outcome.unwanted
    assert not outcome.may_prune
    assert outcome.unknowns[0].reason is Reason.EVALUATION_FAILED


def test_a_false_condition_decides_beside_a_failing_one(bench: Bench) -> None:
    """All conditions must hold, so one false is an answer whatever the others do."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map())))
    conditions = [Code(failing), Code(lambda _: False)]
    assert bench.plan(make_rule(entry("child", config_map()), conditions=conditions)).unwanted


def test_an_entry_that_fails_leaves_the_others_alone_and_stops_pruning(bench: Bench) -> None:
    """Errors stay within their entry; pruning waits until everything is certain."""
    bench.widget()
    bench.settle(make_rule(entry("old", config_map("{name}-old")), entry("b", config_map("{name}-b"))))
    outcome = bench.plan(make_rule(entry("a", Code(failing)), entry("b", config_map("{name}-b"))))
    assert [item.entry for item in outcome.wanted] == ["b"]
    assert [item.live.key.name for item in outcome.unwanted] == ["w-old"]
    assert not outcome.may_prune


def test_an_excluded_entry_is_removed(bench: Bench) -> None:
    """includeWhen false: what the entry made goes."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map())))
    outcome = bench.plan(make_rule(entry("child", config_map(), include_when=(Code(lambda _: False),))))
    assert [item.entry for item in outcome.unwanted] == ["child"]


def test_a_renamed_entry_keeps_its_object(bench: Bench) -> None:
    """Objects are identified by kind and name: a renamed entry stamps anew and deletes nothing."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map())))
    outcome = bench.plan(make_rule(entry("renamed", config_map())))
    assert not outcome.unwanted
    assert one(outcome).ours


def test_a_renamed_object_replaces_the_old_one(bench: Bench) -> None:
    """Another name is another object: the new one is wanted, the old one goes."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map())))
    outcome = bench.plan(make_rule(entry("child", config_map("{name}-new"))))
    assert [item.key.name for item in outcome.wanted] == ["w-new"]
    assert [item.live.key.name for item in outcome.unwanted] == ["w-child"]


def test_an_entry_that_makes_another_kind_now_loses_what_it_made(bench: Bench) -> None:
    """The old object goes as what it is: it is not looked for among the new kind."""
    bench.widget()
    bench.settle(make_rule(entry("e", config_map())))

    def secret(names: Mapping[str, Any]) -> dict[str, Any]:
        return config_map().run(names) | {"kind": "Secret"}

    rule = make_rule(entry("e", Code(secret), gvk=SECRET, policy=policy(deletion=Deletion.ORPHAN)))
    (gone,) = bench.plan(rule).unwanted
    assert (gone.gvk, gone.live.key.name, gone.release) == (CONFIG_MAP, "w-child", False)


def test_a_foreign_copy_of_our_stamps_is_never_unwanted(bench: Bench) -> None:
    """Labels and annotations copied to another object prove nothing."""
    bench.widget()
    rule = make_rule(entry("child", config_map()))
    bench.settle(rule)
    copy = {
        **bench.child().body,
        "metadata": {**bench.child().body["metadata"], "name": "stolen", "uid": "u9"},
    }
    bench.cluster.put(copy)
    gone = make_rule(entry("child", config_map()), conditions=[Code(lambda _: False)])
    assert [item.live.key.name for item in bench.plan(gone).unwanted] == ["w-child"]


def test_a_foreign_object_of_the_wanted_name_is_not_taken(bench: Bench) -> None:
    """It is reported as not ours; adoption is offered only where the policy says so."""
    bench.widget()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w-child", "namespace": "a"}}
    bench.cluster.put(body)
    item = one(bench.plan(make_rule(entry("child", config_map()))))
    assert not item.ours
    assert item.adoption is None
    adopting = entry("child", config_map(), policy=policy(adopt=Adopt.ALWAYS))
    item = one(bench.plan(make_rule(adopting)))
    assert item.adoption is not None
    assert "ownerReferences" not in item.adoption["metadata"]


def test_another_rules_object_is_named(bench: Bench) -> None:
    """Two rules never fight: the second learns who holds the object."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map()), name="first"))
    item = one(bench.plan(make_rule(entry("child", config_map()), name="second")))
    assert not item.ours
    assert item.holder == "ClusterRule first"


def test_two_sources_of_one_rule_do_not_share_an_object(bench: Bench) -> None:
    """The holder keeps it, the other is told whose it is, and takes over when the holder is gone."""
    bench.widget("w")
    bench.widget("v")
    rule = make_rule(entry("child", config_map("shared")))
    bench.settle(rule, "w")
    outcome = bench.plan(rule, "v")
    assert outcome.unknowns[0].reason is Reason.CLAIMED
    assert "a/w" in outcome.unknowns[0].message
    del bench.cluster.objects[next(k for k in bench.cluster.objects if k.name == "w")]
    assert one(bench.plan(rule, "v")).ours


def test_two_entries_for_one_object_are_an_error_naming_both(bench: Bench) -> None:
    """Neither is written."""
    bench.widget()
    outcome = bench.plan(make_rule(entry("a", config_map()), entry("b", config_map())))
    assert not outcome.wanted
    assert all("a and b" in unknown.message for unknown in outcome.unknowns)


def test_a_restored_copy_is_counted_and_left(bench: Bench) -> None:
    """An object much younger than its stamp came back by other hands."""
    bench.widget()
    bench.settle(make_rule(entry("child", config_map())))
    bench.child().body["metadata"]["creationTimestamp"] = "2026-01-05T08:02:00Z"
    outcome = bench.plan(make_rule(entry("child", config_map()), conditions=[Code(lambda _: False)]))
    assert not outcome.unwanted
    assert outcome.orphans == 1


def test_a_restored_copy_that_is_wanted_is_stamped_anew(bench: Bench) -> None:
    """Then it is ours again."""
    bench.widget()
    rule = make_rule(entry("child", config_map()))
    bench.settle(rule)
    bench.child().body["metadata"]["creationTimestamp"] = "2026-01-05T09:00:00Z"
    bench.now += timedelta(hours=1)
    bench.settle(rule)
    gone = make_rule(entry("child", config_map()), conditions=[Code(lambda _: False)])
    assert len(bench.plan(gone).unwanted) == 1


class TestSourceGone:
    """A source that is gone takes its children along, the collector first."""

    def gone(self, bench: Bench, *, seen: bool) -> tuple[object, object]:
        source = bench.widget()
        rule = make_rule(entry("child", config_map()))
        bench.settle(rule)
        del bench.cluster.objects[source.key]
        if seen:
            bench.cluster.gone[source.key] = bench.now
        (item,) = bench.plan(rule).unwanted
        return item.wait_until, item.confirm_gone

    def test_seen_to_go(self, bench: Bench) -> None:
        """The server's collector gets ten seconds for what references the source."""
        until, confirm = self.gone(bench, seen=True)
        assert until == bench.now + timedelta(seconds=10)
        assert confirm is None

    def test_never_seen(self, bench: Bench) -> None:
        """After a restart: five minutes, and a live read must agree."""
        until, confirm = self.gone(bench, seen=False)
        assert until == bench.started + timedelta(minutes=5)
        assert confirm.name == "w"


def test_a_source_that_is_being_deleted_freezes_its_work_item(bench: Bench) -> None:
    """It counts as gone once it is gone."""
    source = bench.widget()
    rule = make_rule(entry("child", config_map()))
    bench.settle(rule)
    source.body["metadata"]["deletionTimestamp"] = "2026-01-05T08:00:00Z"
    outcome = bench.plan(rule)
    assert not outcome.wanted
    assert not outcome.unwanted
    assert outcome.waits


def test_an_unreadable_kind_freezes_only_its_entry(bench: Bench) -> None:
    """Forbidden is not absent."""
    bench.widget()
    secret = GroupVersionKind("", "v1", "Secret")

    def render(names: object) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}

    bench.cluster.unreadable["Secret"] = "secrets: forbidden"
    outcome = bench.plan(make_rule(entry("s", Code(render), gvk=secret), entry("child", config_map())))
    assert [item.entry for item in outcome.wanted] == ["child"]
    assert outcome.unknowns[0].reason is Reason.UNREADABLE


def test_an_unserved_kind_is_said(bench: Bench) -> None:
    """And freezes only its entry."""
    bench.widget()
    bench.cluster.unserved.add("ConfigMap")
    assert bench.plan(make_rule(entry("child", config_map()))).unknowns[0].reason is Reason.UNKNOWN_KIND


def test_a_target_being_deleted_is_waited_for(bench: Bench) -> None:
    """It is not written."""
    bench.widget()
    rule = make_rule(entry("child", config_map()))
    bench.settle(rule)
    bench.child().body["metadata"]["deletionTimestamp"] = "2026-01-05T08:00:00Z"
    outcome = bench.plan(rule)
    assert not outcome.wanted
    assert outcome.waits[0].reason is Reason.TERMINATING


class TestReferences:
    """`resources.X.f` waits for X, `resources.?X` only looks."""

    def test_a_reader_waits_for_the_object_and_then_for_the_field(self, bench: Bench) -> None:
        """Siblings go on meanwhile."""
        bench.widget()
        rule = make_rule(
            entry("db", config_map("db")),
            entry("app", config_map("app", field_of("resources", "db", "status", "host"))),
        )
        outcome = bench.plan(rule)
        assert [item.entry for item in outcome.wanted] == ["db"]
        assert outcome.waits[0].on == "resource db"
        bench.cluster.accept(outcome)
        outcome = bench.plan(rule)
        assert outcome.waits[0].on == "field status of resource db"
        bench.child("db").body["status"] = {"host": "h"}
        outcome = bench.plan(rule)
        assert not outcome.waits
        assert outcome.wanted[1].desired["data"] == {"k": "h"}

    def test_a_reader_of_an_excluded_entry_is_excluded_too(self, bench: Bench) -> None:
        """Reading it plainly cannot succeed, so the reader is not wanted either."""
        bench.widget()
        no = (Code(lambda _: False),)
        rule = make_rule(
            entry("db", config_map("db"), include_when=no),
            entry("app", config_map("app", field_of("resources", "db", "data"))),
        )
        outcome = bench.plan(rule)
        assert not outcome.wanted
        assert outcome.may_prune

    def test_observation_neither_orders_nor_waits(self, bench: Bench) -> None:
        """An entry may look at itself."""
        bench.widget()
        rule = make_rule(entry("x", config_map("x", lambda names: str("x" in names["resources"]))))
        assert one(bench.plan(rule)).desired["data"] == {"k": "False"}
        bench.settle(rule)
        assert one(bench.plan(rule)).desired["data"] == {"k": "True"}


def test_system_namespaces_are_left_alone_unless_asked_for(bench: Bench) -> None:
    """Neither as sources nor as targets, and counted."""
    bench.cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}})
    bench.widget("w", "kube-system")
    rule = make_rule(entry("child", config_map()), source=Source(NAMESPACE))
    assert bench.plan(rule, "kube-system", "").matched is False
    assert bench.plan(make_rule(entry("child", config_map())), "w", "kube-system").matched is False
    asked = make_rule(entry("child", config_map()), source=Source(NAMESPACE, system_namespaces=True))
    assert bench.plan(asked, "kube-system", "").matched is True

    bench.widget()

    def into_system(names: object) -> dict[str, object]:
        meta = {"name": "x", "namespace": "kube-system"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}

    outcome = bench.plan(make_rule(entry("x", Code(into_system))))
    assert not outcome.wanted
    assert outcome.protected == 1


def test_labels_and_namespace_labels_select(bench: Bench) -> None:
    """Moved out of a selector is not wanted any more."""
    bench.cluster.put(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"t": "1"}}}
    )
    bench.widget(metadata={"labels": {"on": "yes"}})
    widget = GroupVersionKind("example.com", "v1", "Widget")
    on, team = LabelSelector((("on", "yes"),)), LabelSelector((("t", "1"),))
    for labels, spaces, matched in ((on, team, True), (team, team, False), (on, on, False)):
        rule = make_rule(
            entry("child", config_map()), source=Source(widget, selector=labels, namespace_selector=spaces)
        )
        assert bench.plan(rule).matched is matched


def test_what_a_rule_made_is_not_its_source(bench: Bench) -> None:
    """A rule over ConfigMaps that makes ConfigMaps does not feed itself."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w", "namespace": "a"}}
    bench.cluster.put(body)
    rule = make_rule(entry("child", config_map()), source=Source(CONFIG_MAP))
    bench.settle(rule)
    assert bench.child() is not None
    assert bench.plan(rule, "w-child").matched is False


def test_the_source_cannot_be_its_own_target(bench: Bench) -> None:
    """Said as such, nothing written."""
    bench.cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w", "namespace": "a"}})
    rule = make_rule(entry("child", config_map("{name}")), source=Source(CONFIG_MAP))
    assert bench.plan(rule).unknowns[0].reason is Reason.TARGET_IS_INPUT


@pytest.mark.parametrize(("mode", "release"), [(OnRuleDeletion.DELETE, False), (OnRuleDeletion.ORPHAN, True)])
def test_a_rule_that_goes_takes_or_leaves_what_it_made(
    bench: Bench, mode: OnRuleDeletion, release: bool
) -> None:
    """Per onRuleDeletion; only what is proven."""
    bench.widget()
    rule = make_rule(entry("child", config_map()), on_rule_deletion=mode)
    bench.settle(rule)
    context = Context(bench.now, bench.started, bench.ownership)
    (item,) = cleanup(rule, bench.cluster, Request(rule.key, "a", "w"), context).unwanted
    assert item.release is release


def test_a_plan_says_when_its_answers_turn(bench: Bench) -> None:
    """What a condition asks about `now` wakes the work item at that very moment, matched or not."""
    bench.widget()
    late = cel.compile("now >= timestamp('2026-01-05T09:00:00Z')", cel.Env({"now": cel.types.TIMESTAMP}))
    rule = make_rule(entry("child", config_map()), conditions=(late,))
    outcome = bench.plan(rule)
    assert (outcome.matched, outcome.wake_at) == (False, NOW + timedelta(hours=1))
    bench.now = NOW + timedelta(hours=1, seconds=1)
    outcome = bench.plan(rule)
    assert (outcome.matched, outcome.wake_at) == (True, None)


def test_a_resync_wakes_sources_and_nothing_that_is_gone(bench: Bench) -> None:
    """Each source once in every interval; a plan about nothing asks for nothing."""
    bench.widget()
    rule = replace(make_rule(entry("child", config_map())), resync=Every(3600.0))
    first = bench.plan(rule).wake_at
    assert first is not None
    assert NOW < first <= NOW + timedelta(hours=1)
    bench.now = first
    assert bench.plan(rule).wake_at == first + timedelta(hours=1)
    assert bench.plan(rule, name="unknown").wake_at is None
