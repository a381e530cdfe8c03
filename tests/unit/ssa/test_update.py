"""managedFields of creates, replaces and patches."""

from __future__ import annotations

from typing import Any

import pytest

from rulesengine import ssa
from rulesengine.core.kinds import GroupKind
from rulesengine.ssa.managers import ManagerId, encoded
from tests.unit.ssa.shapes import CONFIG_MAP, DEPLOYMENT, LATER, NOW, T0, T1, THING, config_map, thing


def update(before: Any, after: Any, manager: str = "me", **more: Any) -> Any:
    schema = more.pop("schema", CONFIG_MAP if after["kind"] == "ConfigMap" else THING)
    return ssa.update(schema, before, after, manager=manager, now=more.pop("now", NOW), **more)


def entries(obj: Any) -> list[Any]:
    return obj["metadata"].get("managedFields", [])


def changed(live: Any, **fields: Any) -> Any:
    return {**live, **fields}


def test_a_create_owns_all_it_says_with_the_maps_around() -> None:
    """Maps that were not there are members; an object has metadata and a built-in spec always."""
    live = update(None, config_map({"a": "1"}, labels={"l": "1"}))
    assert entries(live) == [
        {
            "manager": "me",
            "operation": "Update",
            "apiVersion": "v1",
            "time": T0,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:data": {".": {}, "f:a": {}},
                "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
            },
        }
    ]


def test_a_changed_value_changes_hands() -> None:
    """The rest stays where it was, and so do the others' times."""
    live = update(None, config_map({"a": "1", "b": "1"}), "first")
    live = update(live, changed(live, data={"a": "2", "b": "1"}), "second", now=LATER)
    first, second = entries(live)
    assert first["fieldsV1"] == {"f:data": {".": {}, "f:b": {}}}
    assert (first["time"], second["time"]) == (T0, T1)
    assert second["fieldsV1"] == {"f:data": {"f:a": {}}}


def test_a_removed_field_belongs_to_nobody_and_moves_no_time() -> None:
    """Taking away is not writing."""
    live = update(None, config_map({"a": "1", "b": "1"}))
    live = update(live, changed(live, data={"b": "1"}), now=LATER)
    assert entries(live)[0]["fieldsV1"] == {"f:data": {".": {}, "f:b": {}}}
    assert entries(live)[0]["time"] == T0


def test_an_update_that_changes_nothing_returns_what_was_there() -> None:
    """Down to the entries."""
    live = update(None, config_map({"a": "1"}))
    assert update(live, live, "other", now=LATER) == live


def test_an_update_and_an_apply_of_one_name_are_two_managers() -> None:
    """And updates in two versions are too."""
    live = ssa.apply(CONFIG_MAP, None, config_map({"a": "1"}), manager="me", force=False, now=NOW)
    assert isinstance(live, ssa.Applied)
    after = update(live.object, changed(live.object, data={"a": "1", "b": "1"}))
    assert [each["operation"] for each in entries(after)] == ["Apply", "Update"]


@pytest.mark.parametrize("given", [[], [{}]])
def test_a_reset_leaves_no_owners_until_somebody_applies(given: Any) -> None:
    """Updates do not start owning again."""
    live = update(None, config_map({"a": "1"}))
    live = update(live, config_map({"a": "1"}, managedFields=given))
    assert entries(live) == []
    live = update(live, changed(live, data={"a": "2"}))
    assert entries(live) == []
    applied = ssa.apply(CONFIG_MAP, live, config_map({"b": "1"}), manager="you", force=False, now=NOW)
    assert isinstance(applied, ssa.Applied)
    assert [each["manager"] for each in entries(applied.object)] == ["you", "before-first-apply"]


def test_a_custom_resource_is_reset_only_by_an_empty_entry() -> None:
    """The server does not see an empty list there."""
    live = update(None, thing({"text": "a"}))
    assert entries(update(live, thing({"text": "a"}, managedFields=[]))) == entries(live)
    assert entries(update(live, thing({"text": "a"}, managedFields=[{}]))) == []


def test_entries_may_be_given_but_not_through_a_subresource() -> None:
    """As the server allows editing them."""
    live = update(None, config_map({"a": "1"}), "first")
    given = [{**entries(live)[0], "manager": "renamed"}]
    after = config_map({"a": "1"}, managedFields=given)
    assert [each["manager"] for each in entries(update(live, after))] == ["renamed"]
    assert [each["manager"] for each in entries(update(live, after, subresource="status"))] == ["first"]


def test_malformed_entries_are_as_if_not_given() -> None:
    """What the object had stays."""
    live = update(None, config_map({"a": "1"}), "first")
    after = config_map({"a": "1"}, managedFields=[{"manager": "x", "operation": "Nonsense"}])
    assert entries(update(live, after)) == entries(live)


def test_what_an_endpoint_ignores_changes_no_owner() -> None:
    """A status written to the main resource."""
    reset = ssa.resets(GroupKind("example.com", "Thing"), has_status=True)
    live = update(None, {**thing({"text": "a"}), "status": {"id": "s"}}, reset=reset)
    assert entries(live)[0]["fieldsV1"] == {"f:spec": {".": {}, "f:text": {}}}


def test_each_kind_ignores_in_its_status_what_the_server_was_seen_to_ignore() -> None:
    """Custom resources everything else, built-in kinds the spec, some a little more."""

    def ignored(group: str, kind: str) -> Any:
        return ssa.resets(GroupKind(group, kind), "status", has_status=True).tree

    assert ignored("example.com", "Thing") == {"f:spec": {}, "f:metadata": {}}
    assert ignored("", "Service") == {"f:spec": {}}
    assert ignored("apps", "Deployment") == {"f:spec": {}, "f:metadata": {"f:labels": {}}}
    assert not ssa.resets(GroupKind("", "ConfigMap"), has_status=False)
    assert not ssa.resets(GroupKind("apps", "Deployment"), "scale", has_status=True)


def test_a_list_with_duplicates_is_owned_item_by_item() -> None:
    """Duplicates are one value together; getting rid of them writes the one that is left."""
    single = thing({"keyed": [{"id": "a", "n": 1}]})
    double = thing({"keyed": [{"id": "a", "n": 1}, {"id": "a", "n": 2}]})
    live = update(None, single, "first")
    live = update(live, {**double, "metadata": live["metadata"]}, "second")
    assert [each["fieldsV1"] for each in entries(live)] == [
        {"f:spec": {".": {}, "f:keyed": {}}},
        {"f:spec": {"f:keyed": {'k:{"id":"a"}': {}}}},
    ]
    live = update(live, {**single, "metadata": live["metadata"]}, "third")
    assert entries(live)[-1]["fieldsV1"] == {
        "f:spec": {"f:keyed": {'k:{"id":"a"}': {".": {}, "f:id": {}, "f:n": {}}}}
    }


def test_updaters_stay_few() -> None:
    """Beyond ten, the oldest are folded into one entry of ancient changes."""
    live = update(None, config_map({"start": "1"}), "m00")
    for number in range(1, 13):
        data = {**live["data"], f"k{number}": "1"}
        live = update(live, changed(live, data=data), f"m{number:02}")
    names = [each["manager"] for each in entries(live)]
    assert len(names) == 10
    assert names[0] == "ancient-changes"
    ancient = entries(live)[0]["fieldsV1"]["f:data"]
    assert sorted(ancient) == [".", "f:k1", "f:k2", "f:k3", "f:start"]


def test_entries_come_in_the_servers_order() -> None:
    """Applies first, then by time, then by name; a missing time is the earliest."""
    live = ssa.apply(CONFIG_MAP, None, config_map({"a": "1"}), manager="z", force=False, now=LATER)
    assert isinstance(live, ssa.Applied)
    second = ssa.apply(CONFIG_MAP, live.object, config_map({"a": "1"}), manager="y", force=False, now=NOW)
    assert isinstance(second, ssa.Applied)
    after = update(second.object, changed(second.object, data={"a": "1", "u": "1"}), "a", now=NOW)
    assert [each["manager"] for each in entries(after)] == ["y", "z", "a"]
    assert encoded(ssa.managers_of(after)) == entries(after)


def test_a_manager_without_a_name_is_unknown() -> None:
    """As the server calls it."""
    assert entries(update(None, config_map({"a": "1"}), ""))[0]["manager"] == "unknown"
    assert str(ManagerId("a", "Update", "status", "v1")) == '"a" with subresource "status" using v1'


def test_a_new_deployment_owns_what_was_given_and_not_the_structs_around() -> None:
    """A built-in object has its structs from the start; required lists are there as null."""
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}},
    }
    live = update(None, body, schema=DEPLOYMENT)
    assert entries(live)[0]["fieldsV1"] == {
        "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}}}}}
    }


def test_a_write_that_ends_where_it_began_is_none() -> None:
    """After defaulting, whoever wrote, the times of before stand again."""
    live = update(None, config_map({"a": "1"}))
    touched = {**live, "metadata": {**live["metadata"], "managedFields": [{**entries(live)[0], "time": T1}]}}
    assert ssa.keep_times(live, touched) == live
    other = changed(touched, data={"a": "2"})
    assert ssa.keep_times(live, other) is other
