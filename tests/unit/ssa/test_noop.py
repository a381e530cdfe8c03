"""Whether an apply would change nothing: never wrongly, and as often as can be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulesengine import ssa
from rulesengine.core.json import decode, encode
from rulesengine.ssa.fieldset import FieldSet
from rulesengine.ssa.ownership import owned, stripped
from tests.unit.ssa.shapes import DEPLOYMENT, LATER, NOW, SERVICE, THING, thing, things

Change = Callable[[Any], None]


def applied(config: Any, live: Any = None, manager: str = "me", schema: Any = THING) -> Any:
    outcome = ssa.apply(schema, live, config, manager=manager, force=True, now=NOW)
    assert isinstance(outcome, ssa.Applied)
    return outcome.object


def verdict(config: Any, live: Any, manager: str = "me", schema: Any = THING) -> bool:
    return ssa.unchanged(ssa.prepare(schema, config), schema, live, manager)


CONFIG = thing(
    {
        "text": "a",
        "number": 1,
        "set": ["a", "b"],
        "atomic": [{"id": "x", "n": 1}],
        "keyed": [{"id": "p", "n": 1, "m": {"k": "v"}}, {"id": "q"}],
        "ports": [{"port": 1, "to": "x"}],
        "map": {"a": "1"},
        "whole": {"w": "1"},
        "free": {"deep": {"one": True}},
    },
    labels={"l": "1"},
)


def test_what_was_applied_is_seen_to_be_there() -> None:
    """Also when others added fields and items of their own."""
    live = applied(CONFIG)
    assert verdict(CONFIG, live)
    live = applied(
        thing(
            {
                "keyed": [{"id": "z", "n": 3}, {"id": "p", "m": {"other": "x"}}],
                "set": ["z"],
                "map": {"b": "2"},
            }
        ),
        live,
        "other",
    )
    assert verdict(CONFIG, live)


@pytest.mark.parametrize(
    "change",
    [
        lambda live: live["spec"].update(text="b"),
        lambda live: live["spec"].pop("text"),
        lambda live: live["spec"].update(number=2),
        lambda live: live["spec"]["set"].remove("a"),
        lambda live: live["spec"]["set"].reverse(),
        lambda live: live["spec"]["atomic"].append({"id": "y"}),
        lambda live: live["spec"]["atomic"][0].update(n=2),
        lambda live: live["spec"]["keyed"].reverse(),
        lambda live: live["spec"]["keyed"].append({"id": "p"}),
        lambda live: live["spec"]["keyed"][0]["m"].update(k="w"),
        lambda live: live["spec"]["ports"][0].update(proto="UDP"),
        lambda live: live["spec"]["whole"].update(x="1"),
        lambda live: live["spec"]["free"]["deep"].update(one=1),
        lambda live: live["metadata"]["labels"].update(l="2"),
        lambda live: live["metadata"].update(managedFields=[]),
        lambda live: live["metadata"]["managedFields"][0].update(apiVersion="example.com/v0"),
        lambda live: live["metadata"]["managedFields"][0].update(operation="Update"),
        lambda live: live["metadata"]["managedFields"][0].update(subresource="status"),
        lambda live: live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].pop("f:text"),
        lambda live: live["metadata"]["managedFields"].append({"manager": "before-first-apply"}),
        lambda live: live.update(spec=None),
    ],
)
def test_any_difference_that_matters_is_seen(change: Change) -> None:
    """Values, order of shared items, atomic parts, duplicates, true for 1, and whose fields they are."""
    live = applied(CONFIG)
    change(live)
    assert not verdict(CONFIG, live)


def test_a_field_no_longer_wanted_is_a_difference() -> None:
    """It has to be given up."""
    live = applied(CONFIG)
    less = decode(encode(CONFIG))
    del less["spec"]["text"]
    assert not verdict(less, live)


@pytest.mark.parametrize(
    "spec", [{"text": None}, {"keyed": [{"id": "a"}, {"id": "a"}]}, {"keyed": [{"n": 1}]}]
)
def test_what_cannot_be_compared_is_left_to_the_server(spec: Any) -> None:
    """Preparing it is no error: the server says what is wrong with it."""
    prepared = ssa.prepare(THING, thing(spec))
    assert prepared.plan is None
    assert not ssa.unchanged(prepared, THING, applied(thing({"text": "a"})), "me")


def test_an_owner_reference_is_compared_whole() -> None:
    """It is an atomic item of a keyed list."""
    reference = {"apiVersion": "v1", "kind": "Namespace", "name": "n", "uid": "u", "controller": True}
    config = thing({"text": "a"}, ownerReferences=[reference])
    live = applied(config)
    assert verdict(config, live)
    live["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = True
    assert not verdict(config, live)


def test_defaults_of_the_server_do_not_hide_a_no_op() -> None:
    """A port without protocol is that port with the default one."""
    config = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}},
    }
    live = applied(config, schema=SERVICE)
    live["spec"]["ports"][0].update(protocol="TCP", targetPort=80)
    live["spec"]["type"] = "ClusterIP"
    assert verdict(config, live, schema=SERVICE)


def test_a_quantity_that_the_server_rewrote_is_left_to_the_echo() -> None:
    """The structural check does not guess what the server makes of a value."""
    container = {"name": "c", "resources": {"limits": {"cpu": "1000m"}}}
    config = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    live = applied(config, schema=DEPLOYMENT)
    live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1"
    prepared = ssa.prepare(DEPLOYMENT, config)
    assert not ssa.unchanged(prepared, DEPLOYMENT, live, "me")
    echo = ssa.owned_digest(DEPLOYMENT, live, prepared.fields)
    live["spec"]["template"]["spec"]["containers"][0]["image"] = "somebody else's"
    assert ssa.owned_digest(DEPLOYMENT, live, prepared.fields) == echo
    live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "2"
    assert ssa.owned_digest(DEPLOYMENT, live, prepared.fields) != echo


def test_fields_that_an_endpoint_ignores_are_not_prepared() -> None:
    """And the verdict is left to the server then."""
    config = {**thing({"text": "a"}), "status": {"id": "x"}}
    prepared = ssa.prepare(THING, config, reset=FieldSet.of(("f:status",)))
    assert prepared.fields.tree == {"f:spec": {"f:text": {}}}
    assert prepared.plan is None


def test_equal_objects_have_equal_digests() -> None:
    """The order of keys aside."""
    one, two = thing({"text": "a", "number": 1}), thing({"number": 1, "text": "a"})
    assert ssa.prepare(THING, one).digest == ssa.prepare(THING, two).digest
    assert ssa.prepare(THING, one).digest != ssa.prepare(THING, thing({"text": "a", "number": 1.5})).digest


@given(things)
def test_prepared_fields_are_those_an_apply_owns(config: Any) -> None:
    """Two walks, one answer."""
    assert ssa.prepare(THING, config).fields.tree == stripped(owned(THING, config))


@given(things)
def test_an_applied_object_needs_no_second_apply(config: Any) -> None:
    """Unless it owns nothing at all, where there is no entry to look at."""
    live = applied(config)
    prepared = ssa.prepare(THING, config)
    assert ssa.unchanged(prepared, THING, live, "me") == bool(prepared.fields)


@settings(max_examples=300)
@given(st.lists(st.tuples(things, st.sampled_from(["me", "you"])), min_size=1, max_size=4), st.data())
def test_a_no_op_verdict_is_never_wrong(history: Any, data: st.DataObject) -> None:
    """Whatever happened before, an apply that is called a no-op changes nothing."""
    live = None
    for config, manager in history:
        live = applied(config, live, manager)
    config, manager = data.draw(st.sampled_from(history))
    if verdict(config, live, manager):
        outcome = ssa.apply(THING, live, config, manager=manager, force=False, now=LATER)
        assert isinstance(outcome, ssa.Applied)
        assert not outcome.changed
