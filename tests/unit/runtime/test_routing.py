"""Which events lead to which work items, and which to none."""

from __future__ import annotations

from typing import Any

import pytest

from rulesengine.cache import Event, EventType, Interest, Record
from rulesengine.cache.store import Store
from rulesengine.compiler.rule import CompiledRule, LabelSelector, Source
from rulesengine.core import json
from rulesengine.core.keys import ObjectKey, Request
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.runtime.interests import (
    namespace_interest,
    reads_own,
    source_interest,
    target_interests,
)
from rulesengine.runtime.routing import (
    ASKED,
    RECONCILE_AT,
    NamespaceRoute,
    Router,
    SourceRoute,
    Waiters,
    claimant,
    source_paths,
)
from tests.unit.runtime.fakes import (
    CONFIG_MAP,
    KEY,
    NAMESPACE,
    SECRET,
    SELECTED,
    STATUS,
    WIDGET,
    Code,
    FakeClock,
    child,
    item,
    made,
    make_rule,
    widget,
)


def record(body: dict[str, Any], paths: frozenset[tuple[str, ...]] = frozenset({()})) -> Record:
    """An object as the cache would keep it for somebody who reads these paths."""
    from rulesengine.cache.projection import Projection

    store = Store(GroupVersionKind.parse(body["apiVersion"], body["kind"]), FakeClock(), lambda _: None)
    store.maker.sources = True
    store.maker.projection = Projection(paths)
    body["metadata"] = {"uid": "u", "resourceVersion": "1", **body["metadata"]}
    return store.maker.make(json.encode(body))


def event(old: dict[str, Any] | None, new: dict[str, Any] | None, rule: CompiledRule, **more: Any) -> Event:
    paths = source_paths(rule)
    before = record(old, paths) if old is not None else None
    after = record(new, paths) if new is not None else None
    # records of one store share its maker and projection
    if before is not None and after is not None:
        after._maker, after._projection = before._maker, before._projection
    kind = EventType.MODIFIED if old and new else EventType.ADDED if new else EventType.DELETED
    return Event(kind, WIDGET, before, after, **more)


@pytest.mark.parametrize(
    ("old", "new", "matters"),
    [
        (None, widget(), True),
        (widget(), None, True),
        (widget(spec={"size": 1}), widget(spec={"size": 2}), True),
        (widget(spec={"size": 1}), widget(spec={"size": 1}, status={"seen": True}), False),
        (widget(), widget(metadata={"labels": {"a": "b"}}), False),
        (widget(), widget(metadata={"annotations": {"other": "1"}}), False),
        (widget(), widget(metadata={"annotations": {RECONCILE_AT: "now"}}), True),
        (widget(), widget(metadata={"deletionTimestamp": "2026-01-05T08:00:00Z"}), True),
        (widget(), widget(metadata={"uid": "another"}), True),
        (widget(), widget(metadata={"annotations": {"rulesengine.dev/owner": "{}"}}), True),
    ],
)
def test_only_what_a_rule_reads_of_its_source_matters(old: Any, new: Any, matters: bool) -> None:
    """A rule that reads spec alone is not bothered with the rest, but for asking, going and claims."""
    rule = make_rule()
    assert SourceRoute.of(rule).matters(event(old, new, rule)) is matters


@pytest.mark.parametrize(
    ("before", "after", "matters"),
    [
        ("yes", "no", True),
        ("no", "yes", True),
        ("no", "never", False),
        ("no", None, False),
        (None, "yes", True),
    ],
)
def test_moving_into_and_out_of_a_selection_matters(
    before: str | None, after: str | None, matters: bool
) -> None:
    """And nothing outside of it."""
    rule = make_rule(source=Source(WIDGET, selector=SELECTED))
    bodies = [
        None if on is None else widget(metadata={"labels": {"on": on}}, spec={"size": on})
        for on in (before, after)
    ]
    assert SourceRoute.of(rule).matters(event(*bodies, rule)) is matters


def test_what_source_status_owns_is_watched() -> None:
    """So that an edit of it by somebody else is repaired."""
    rule = make_rule(source_status=STATUS)
    route = SourceRoute.of(rule)
    mine = event(widget(status={"ready": True}), widget(status={"ready": False}), rule)
    theirs = event(widget(status={"other": True}), widget(status={"other": False}), rule)
    assert (route.matters(mine), route.matters(theirs)) == (True, False)


def namespace(labels: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}, **more}


def test_namespaces_matter_to_rules_that_select_by_them_or_read_them() -> None:
    """To a selector only where its answer changes; to a reader in anything."""
    moved = Event(EventType.MODIFIED, NAMESPACE, record(namespace({"on": "yes"})), record(namespace({})))
    other = Event(
        EventType.MODIFIED, NAMESPACE, record(namespace({})), record(namespace({}, spec={"finalizers": []}))
    )
    selecting = NamespaceRoute.of(make_rule(source=Source(WIDGET, namespace_selector=SELECTED)))
    reading = NamespaceRoute.of(make_rule(reads_namespace=True))
    assert selecting is not None
    assert reading is not None
    assert (selecting.matters(moved), selecting.matters(other)) == (True, False)
    assert (reading.matters(moved), reading.matters(other)) == (True, True)
    assert NamespaceRoute.of(make_rule()) is None


class Ears:
    """A router with what it woke."""

    def __init__(self) -> None:
        self.woken: list[Request] = []
        self.moved: list[str] = []
        self.waiters = Waiters()
        self.router = Router(self.waiters, self.woken.append, self.moved.append)

    def hear(self, old: Any, new: Any, *, own: bool = False) -> list[str]:
        self.woken.clear()
        kind = EventType.MODIFIED if old and new else EventType.ADDED if new else EventType.DELETED
        gvk = GroupVersionKind.parse((old or new)["apiVersion"], (old or new)["kind"])
        before, after = (record(body) if body else None for body in (old, new))
        self.router.hear(Event(kind, gvk, before, after, own=own))
        return sorted(request.name for request in self.woken)


def test_a_child_leads_to_its_owner() -> None:
    """When it comes, changes and goes, by the claim it carries or carried."""
    ears = Ears()
    assert ears.hear(None, made()) == ["w"]
    assert ears.hear(made(), made(data={"k": "v"})) == ["w"]
    assert ears.hear(made(), None) == ["w"]


def test_a_child_whose_claim_is_taken_off_leads_to_its_old_owner() -> None:
    """Else nobody would put it back."""
    bare = made()
    bare["metadata"]["annotations"] = {}
    assert Ears().hear(made(), bare) == ["w"]


def test_a_child_that_changes_owners_leads_to_both() -> None:
    """The old one may have to make another, the new one to correct it."""
    other = made(source="v", name="w-c")
    assert Ears().hear(made(), other) == ["v", "w"]


def test_own_writes_lead_to_nobody_but_others() -> None:
    """The pass that wrote knows what it wrote; who lost the object by it does not."""
    ears = Ears()
    assert ears.hear(None, made(), own=True) == []
    assert ears.hear(made(), None, own=True) == []
    assert ears.hear(made(), made(source="v", name="w-c"), own=True) == ["w"]
    key = ObjectKey("", "ConfigMap", "a", "w-c")
    ears.waiters.set(Request(KEY, "a", "waits"), {key})
    assert ears.hear(None, made(), own=True) == ["waits"]


def test_foreign_objects_lead_to_nobody() -> None:
    """Unless somebody waits for them."""
    ears = Ears()
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "a"}}
    assert ears.hear(foreign, None) == []
    ears.waiters.set(item("waits"), {ObjectKey("", "ConfigMap", "a", "x")})
    assert ears.hear(foreign, None) == ["waits"]


def test_a_namespace_that_comes_is_told_of() -> None:
    """Refusals in it are tried again."""
    ears = Ears()
    ears.hear(None, namespace({}))
    assert ears.moved == ["a"]


@pytest.mark.parametrize(
    "claim",
    ["", "x", "[]", "{}", '{"rule":[1,2,3,4],"source":[1,2,3,4,5]}', '{"rule":"abcd","source":[]}', "null"],
)
def test_a_claim_that_is_none_names_nobody(claim: str) -> None:
    """Anybody may write anything there."""
    assert claimant(claim) is None


def test_a_work_item_waits_for_what_its_last_pass_said() -> None:
    """Earlier waits are forgotten, and nothing is left of a rule that goes."""
    waiters = Waiters()
    a, b = ObjectKey("", "ConfigMap", "n", "a"), ObjectKey("", "ConfigMap", "n", "b")
    waiters.set(item("x"), {a, b})
    waiters.set(item("y"), {b})
    waiters.set(item("x"), {a})
    assert waiters.on(a) == {item("x")}
    assert waiters.on(b) == {item("y")}
    waiters.forget(item().rule)
    assert (len(waiters), waiters.on(a), waiters.on(b)) == (0, frozenset(), frozenset())


def test_interests_are_what_a_rule_reads_makes_and_made() -> None:
    """Labels are not pushed to the server: what is deselected must not look gone."""
    rule = make_rule(
        child(), child(SECRET), source=Source(WIDGET, selector=SELECTED, field_selector="metadata.name=x")
    )
    assert source_interest(rule) == Interest(
        WIDGET, "source", fields=frozenset({("spec",), ASKED}), field_selector="metadata.name=x"
    )
    assert namespace_interest(rule) is None
    gone = GroupVersionKind("example.com", "v1", "Gone")
    served = {CONFIG_MAP.group_kind: CONFIG_MAP, WIDGET.group_kind: WIDGET}
    found = target_interests(rule, {CONFIG_MAP.group_kind, WIDGET.group_kind, gone.group_kind}, served.get)
    assert [(i.gvk, i.role) for i in found] == [(gvk, "target") for gvk in (CONFIG_MAP, SECRET, WIDGET)]


def test_a_namespaced_rule_sees_its_own_namespace_only() -> None:
    """For sources and for targets."""
    rule = make_rule(key=KEY._replace(kind="Rule", namespace="mine"))
    source = source_interest(rule)
    assert source is not None
    assert source.namespaces == {"mine"}
    assert {i.namespaces for i in target_interests(rule, (), lambda _: None)} == {frozenset({"mine"})}


def test_rules_that_read_what_they_make_are_known() -> None:
    """Only those are planned again after they wrote."""
    reading = Code(lambda _: {}, frozenset({("resources", "c", "status")}))
    assert reads_own(make_rule(child(), child(SECRET, template=reading)))
    assert reads_own(make_rule(source_status=STATUS))
    assert not reads_own(make_rule(child(), source=Source(WIDGET, selector=LabelSelector())))
