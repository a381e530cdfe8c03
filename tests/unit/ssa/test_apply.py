"""Server-side apply, as a real API server was seen to do it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulesengine import ssa
from rulesengine.core.json import encode
from rulesengine.core.kinds import GroupKind
from rulesengine.schema import Schema
from tests.unit.ssa.shapes import (
    CONFIG_MAP,
    DEPLOYMENT,
    LATER,
    NOW,
    T0,
    T1,
    THING,
    config_map,
    structural,
    thing,
    things,
)


def apply(config: Any, live: Any = None, manager: str = "me", *, force: bool = False, **more: Any) -> Any:
    schema = more.pop("schema", CONFIG_MAP if config["kind"] == "ConfigMap" else THING)
    return ssa.apply(schema, live, config, manager=manager, force=force, now=more.pop("now", NOW), **more)


def done(*arguments: Any, **more: Any) -> Any:
    outcome = apply(*arguments, **more)
    assert isinstance(outcome, ssa.Applied), outcome
    return outcome.object


def fields(obj: Any, manager: str = "me", operation: str = "Apply") -> Any:
    """What a manager's entry says it owns."""
    for each in obj["metadata"].get("managedFields", []):
        if (each["manager"], each["operation"]) == (manager, operation):
            return each["fieldsV1"]
    return None


# --- what is owned ---


def test_a_create_owns_what_the_configuration_sets() -> None:
    """Leaves and list items, not the structs on the way, and not the object's identity."""
    live = done(
        thing(
            {
                "text": "a",
                "keyed": [{"id": "p"}],
                "map": {},
                "free": {"x": {"y": 1}},
                "set": [],
                "struct": {"deep": {}},
            },
            labels={"l": "1"},
        )
    )
    assert live["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "example.com/v1",
            "time": T0,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:l": {}}},
                "f:spec": {
                    "f:text": {},
                    "f:keyed": {'k:{"id":"p"}': {".": {}, "f:id": {}}},
                    "f:map": {},
                    "f:free": {"f:x": {".": {}, "f:y": {}}},
                    "f:struct": {"f:deep": {}},
                },
            },
        }
    ]


def test_an_apply_that_wants_nothing_is_not_listed() -> None:
    """Identity alone belongs to nobody."""
    assert "managedFields" not in done(config_map())["metadata"]


def test_the_same_apply_again_changes_nothing() -> None:
    """Not even the time."""
    live = done(config_map({"a": "1"}))
    outcome = apply(config_map({"a": "1"}), live, now=LATER)
    assert outcome == ssa.Applied(live, changed=False)
    assert outcome.object is not live


def test_a_second_owner_of_an_equal_value_has_no_time() -> None:
    """The server only stamps an apply that changed a value."""
    live = done(config_map({"a": "1"}), done(config_map({"a": "1"})), "you", now=LATER)
    assert [(each["manager"], each.get("time")) for each in live["metadata"]["managedFields"]] == [
        ("you", None),
        ("me", T0),
    ]


def test_a_changed_value_moves_the_time() -> None:
    """Of the one who changed it."""
    live = done(config_map({"a": "2"}), done(config_map({"a": "1"})), now=LATER)
    assert live["metadata"]["managedFields"][0]["time"] == T1


# --- giving up ---


def test_what_is_no_longer_set_goes() -> None:
    """With the struct around it, when nothing is left in that."""
    live = done(thing({"text": "a", "struct": {"deep": {"id": "x"}}}))
    after = done(thing({"text": "a"}), live)
    assert after["spec"] == {"text": "a"}


def test_what_somebody_else_owns_too_stays() -> None:
    """Co-owners by apply and by update alike."""
    live = done(config_map({"a": "1", "b": "1"}))
    live = done(config_map({"a": "1"}), live, "you")
    after = done(config_map({"c": "1"}), live)
    assert after["data"] == {"a": "1", "c": "1"}


def test_an_item_nobody_else_owns_goes_with_others_fields_in_it() -> None:
    """Owning a field inside is not owning the item."""
    live = done(thing({"keyed": [{"id": "p", "n": 1}, {"id": "q"}]}))
    added = {**live, "spec": {"keyed": [{"id": "p", "n": 1, "m": {"x": "1"}}, {"id": "q"}]}}
    live = ssa.update(THING, live, added, manager="other", now=NOW)
    after = done(thing({"keyed": [{"id": "q"}]}), live)
    assert after["spec"] == {"keyed": [{"id": "q"}]}
    assert fields(after, "other", "Update") is None


def test_an_item_another_applier_has_stays_with_its_fields() -> None:
    """Only what was ours alone goes from it."""
    live = done(thing({"keyed": [{"id": "p", "n": 1}], "text": "a"}))
    live = done(thing({"keyed": [{"id": "p", "m": {"x": "1"}}]}), live, "you")
    after = done(thing({"text": "a"}), live)
    assert after["spec"] == {"keyed": [{"id": "p", "m": {"x": "1"}}], "text": "a"}


def test_fields_nobody_owns_go_only_with_a_struct_of_ours() -> None:
    """A default inside a struct that we set goes with it; one beside it stays."""
    live = done(thing({"text": "a", "struct": {"deep": {"id": "x"}}}))
    live["spec"]["struct"]["deep"]["n"] = 7
    live["spec"]["number"] = 1
    after = done(thing({"text": "a"}), live)
    assert after["spec"] == {"text": "a", "number": 1}


def test_giving_up_what_the_server_dropped_is_no_conflict_over_what_is_around_it() -> None:
    """Empty limits of a container are owned and not kept; the empty resources stay whose they are."""
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}

    def containers(*resources: Any) -> Any:
        item = {"name": "c", "image": "i", **({"resources": resources[0]} if resources else {})}
        return {"template": {"spec": {"containers": [item]}}}

    live = done({**body, "spec": containers({"limits": {}})}, schema=DEPLOYMENT)
    live["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    live = done({**body, "spec": containers({})}, live, "you", schema=DEPLOYMENT)
    outcome = apply({**body, "spec": containers()}, live, schema=DEPLOYMENT)
    assert isinstance(outcome, ssa.Applied)
    assert outcome.object["spec"]["template"]["spec"]["containers"][0]["resources"] == {}


def test_an_apply_of_nothing_gives_everything_up() -> None:
    """And the manager is gone."""
    live = done(config_map({"a": "1"}, labels={"l": "1"}))
    after = done(config_map(), live)
    assert after == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}


# --- conflicts ---


def test_another_value_is_a_conflict_in_the_servers_words() -> None:
    """One conflict in one line; the cause names who and where."""
    live = done(config_map({"a": "1"}))
    outcome = apply(config_map({"a": "2"}), live, "you")
    assert outcome == ssa.Conflicted(
        (('"me"', ".data.a"),), 'Apply failed with 1 conflict: conflict with "me": .data.a'
    )
    assert outcome.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "me"', "field": ".data.a"}
    ]


def test_several_conflicts_are_listed_by_manager() -> None:
    """In the order of the server's own keys for them; updaters with their version."""
    live = done(thing({"text": "a", "set": ["x"]}))
    live = ssa.update(THING, live, {**live, "spec": {**live["spec"], "number": 1}}, manager="me", now=NOW)
    live = done({**thing(), "status": {"id": "s"}}, live, subresource="status")
    config = {**thing({"text": "b", "number": 1.5}), "status": {"id": "t"}}
    outcome = apply(config, live, "you")
    assert isinstance(outcome, ssa.Conflicted)
    assert outcome.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "me" with subresource "status":\n- .status.id\n'
        'conflicts with "me":\n- .spec.text\n'
        'conflicts with "me" using example.com/v1:\n- .spec.number'
    )


def test_force_takes_the_contested_field_and_only_that() -> None:
    """The other manager keeps the rest."""
    live = done(config_map({"a": "1", "b": "1"}))
    after = done(config_map({"a": "2"}), live, "you", force=True)
    assert after["data"] == {"a": "2", "b": "1"}
    assert fields(after) == {"f:data": {"f:b": {}}}
    assert fields(after, "you") == {"f:data": {"f:a": {}}}


def test_an_equal_number_is_no_conflict() -> None:
    """1 and 1.0 are one value to the server; true is another."""
    live = done(thing({"free": {"x": 1}}))
    assert isinstance(apply(thing({"free": {"x": 1.0}}), live, "you"), ssa.Applied)
    assert isinstance(apply(thing({"free": {"x": True}}), live, "you"), ssa.Conflicted)


def test_atomic_lists_are_shared_only_when_equal() -> None:
    """With their order."""
    live = done(thing({"atomic": [{"id": "a"}, {"id": "b"}]}))
    assert isinstance(apply(thing({"atomic": [{"id": "a"}, {"id": "b"}]}), live, "you"), ssa.Applied)
    assert isinstance(apply(thing({"atomic": [{"id": "b"}, {"id": "a"}]}), live, "you"), ssa.Conflicted)


def test_adding_to_a_shared_list_is_no_conflict() -> None:
    """Each owns its items."""
    live = done(thing({"set": ["a"], "keyed": [{"id": "p"}]}))
    after = done(thing({"set": ["b"], "keyed": [{"id": "q"}]}), live, "you")
    assert after["spec"] == {"set": ["a", "b"], "keyed": [{"id": "p"}, {"id": "q"}]}


# --- objects from before, versions, subresources ---


def test_an_object_without_managers_belonged_to_somebody_before() -> None:
    """Its fields are known as before-first-apply's; structs that are always there are not owned."""
    container = {"name": "c", "image": "i", "resources": {}}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    live = {
        **body,
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": template},
        "status": {},
    }
    after = done({**body, "metadata": {"name": "x", "labels": {"l": "1"}}}, live, schema=DEPLOYMENT)
    assert fields(after, "before-first-apply", "Update") == {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}, "f:resources": {}}
                    }
                },
            },
        }
    }


def test_a_custom_resource_from_before_owns_its_structs_too() -> None:
    """Its empty object has nothing in it."""
    after = done(thing(labels={"l": "1"}), thing({"struct": {"deep": {"id": "a"}}}))
    spec = fields(after, "before-first-apply", "Update")["f:spec"]
    assert spec == {".": {}, "f:struct": {".": {}, "f:deep": {".": {}, "f:id": {}}}}


def test_what_an_endpoint_ignores_is_owned_by_nobody() -> None:
    """`status` of a kind with /status, when the main resource is written."""
    reset = ssa.resets(GroupKind("example.com", "Thing"), has_status=True)
    after = done({**thing({"text": "a"}), "status": {"id": "s"}}, reset=reset)
    assert fields(after) == {"f:spec": {"f:text": {}}}


def test_a_subresource_is_a_manager_of_its_own() -> None:
    """It neither prunes nor owns what the main resource does."""
    live = done(thing({"text": "a"}))
    after = done({**thing(), "status": {"id": "s"}}, live, subresource="status")
    assert [each.get("subresource") for each in after["metadata"]["managedFields"]] == [None, "status"]
    assert after["spec"] == {"text": "a"}


def test_an_apply_in_another_version_is_the_same_manager() -> None:
    """Its entry carries the version it used last."""
    versions = {"example.com/v1": THING, "example.com/v2": THING}
    live = done(thing({"text": "a", "number": 1}))
    config = {**thing({"text": "a"}), "apiVersion": "example.com/v2"}
    after = done(config, {**live, "apiVersion": "example.com/v2"}, versions=versions)
    assert after["spec"] == {"text": "a"}
    assert [each["apiVersion"] for each in after["metadata"]["managedFields"]] == ["example.com/v2"]


def test_a_part_that_is_atomic_in_one_version_is_compared_in_each() -> None:
    """Who owns the whole in the other version loses it when a key changes."""
    v2 = structural.version_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "map": {
                            "type": "object",
                            "additionalProperties": {"type": "string"},
                            "x-kubernetes-map-type": "atomic",
                        }
                    },
                }
            },
        }
    )
    versions = {"example.com/v1": THING, "example.com/v2": v2}
    live = done({**thing({"map": {"a": "1"}}), "apiVersion": "example.com/v2"}, schema=v2, versions=versions)
    live["apiVersion"] = "example.com/v1"
    outcome = apply(thing({"map": {"b": "1"}}), live, "you", versions=versions)
    assert isinstance(outcome, ssa.Conflicted)
    assert outcome.conflicts == (('"me"', ".spec.map"),)
    after = done(thing({"map": {"a": "1"}}), live, versions=versions)
    assert after["spec"] == {"map": {"a": "1"}}


def test_entries_of_versions_no_longer_served_are_dropped() -> None:
    """Nobody can compare in them."""
    live = done({**thing({"text": "a"}), "apiVersion": "example.com/v0"}, manager="old")
    after = done(
        thing({"number": 1}), {**live, "apiVersion": "example.com/v1"}, versions={"example.com/v1": THING}
    )
    assert [each["manager"] for each in after["metadata"]["managedFields"]] == ["me"]


# --- configurations that do not fit ---


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"text": 1}, ".spec.text: expected string, got &value.valueUnstructured{Value:1}"),
        ({"number": "1"}, ".spec.number: expected numeric (int or float), got string"),
        ({"map": ["a"]}, ".spec.map: expected map, got &{[a]}"),
        ({"set": {"a": 1}}, ".spec.set: expected list, got &{map[a:1]}"),
        ({"set": ["a", "a"]}, '.spec.set: duplicate entries for key [="a"]'),
        (
            {"ports": [{"port": 1}, {"port": 1, "proto": "TCP"}]},
            '.spec.ports: duplicate entries for key [port=1,proto="TCP"]',
        ),
        (
            {"keyed": [{"n": 1}]},
            ".spec.keyed: element 0: associative list with keys has an element that omits all key fields",
        ),
        ({"atomic": [{"n": True}]}, ".spec.atomic[0].n: expected numeric (int or float), got bool"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused_in_the_servers_words(spec: Any, message: str) -> None:
    """Where it does not fit, what was found and what was expected."""
    with pytest.raises(ssa.InvalidConfig) as caught:
        apply(thing(spec, namespace="n"))
    text = str(caught.value)
    assert text.startswith(
        "failed to create typed patch object (n/x; example.com/v1, Kind=Thing): " + message
    )
    assert caught.value.status == 500


def test_all_that_does_not_fit_is_named_at_once() -> None:
    """One line each."""
    with pytest.raises(ssa.InvalidConfig, match=r"errors:\n  \.spec\.text: .*\n  \.spec\.nope: "):
        apply(thing({"text": True, "nope": 1}))


def test_managed_fields_cannot_be_applied() -> None:
    """They are the server's."""
    with pytest.raises(ssa.InvalidConfig, match="must be nil") as caught:
        apply(thing(managedFields=[]))
    assert caught.value.status == 400


# --- what always holds ---


@settings(max_examples=200)
@given(st.lists(st.tuples(things, st.sampled_from(["a", "b", "c"])), min_size=1, max_size=4))
def test_an_apply_reaches_what_it_wants_and_is_then_at_rest(history: Any) -> None:
    """The same again changes nothing. Empty containers apart: see the next test."""
    live = None
    for made, manager in history:
        config = _filled(made)
        live = done(config, live, manager, force=True)
        again = apply(config, live, manager, now=LATER)
        assert isinstance(again, ssa.Applied)
        assert not again.changed


def test_containers_that_become_empty_are_what_the_server_makes_of_them() -> None:
    """A map emptied by giving up its last key is null (which validation refuses), a list is gone."""
    live = done(thing({"map": {"a": "1"}, "set": ["a"]}))
    assert done(thing({"map": {}, "set": ["a"]}), live)["spec"] == {"map": None, "set": ["a"]}
    assert done(thing({"map": {"a": "1"}, "set": []}), live)["spec"] == {"map": {"a": "1"}}
    assert done(thing({}), done(thing({"text": "a"})))["spec"] is None
    assert "spec" not in done(thing({}), done(thing({"text": "a", "set": []})))


@given(st.lists(st.tuples(things, st.sampled_from(["a", "b"])), min_size=1, max_size=4))
def test_neither_side_is_changed_nor_shared(history: Any) -> None:
    """Who has the result may change it."""
    live = None
    for config, manager in history:
        before = encode(live), encode(config)
        live_before = live
        live = done(config, live, manager, force=True)
        _scribble(live)
        assert (encode(live_before), encode(config)) == before
        live = done(config, live_before, manager, force=True)


@settings(max_examples=200)
@given(st.lists(st.tuples(things, st.sampled_from(["a", "b", "c"])), min_size=2, max_size=5))
def test_pruning_within_one_version_is_pruning_across_versions(history: Any) -> None:
    """The short way and the server's way of several steps come to the same."""
    twin = Schema(**{name: getattr(THING, name) for name in THING.__slots__})
    versions = {"example.com/v1": THING, "example.com/v2": twin}
    short = long = None
    for number, (body, manager) in enumerate(history):
        version = f"example.com/v{number % 2 + 1}"
        config = {**body, "apiVersion": version}
        short = done(config, short, manager, force=True)
        long = done(config, long, manager, force=True, schema=versions[version], versions=versions)
        assert short == long


def _filled(value: Any) -> Any:
    """Without empty containers."""
    if isinstance(value, dict):
        inner = {key: _filled(each) for key, each in value.items()}
        return {key: each for key, each in inner.items() if each not in ({}, [])}
    if isinstance(value, list):
        return [each for each in map(_filled, value) if each not in ({}, [])]
    return value


def _scribble(value: Any) -> None:
    if isinstance(value, dict):
        for each in list(value.values()):
            _scribble(each)
        value["scribbled"] = True
    elif isinstance(value, list):
        for each in value:
            _scribble(each)
        value.append("scribbled")
