"""One model of a difference, shown in several ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from rulesengine.core.json import encode, same
from rulesengine.ssa import Mask, diff
from rulesengine.ssa.diff import Change
from tests.unit.ssa.shapes import config_map, thing, things


def dump(obj: Any) -> str:
    return json.dumps(obj, indent=1, sort_keys=True) + "\n"


def test_changes_name_the_field_and_both_values() -> None:
    """Odd keys are quoted, items told apart by their name."""
    before = thing(
        {"a": 1, "gone": True, "list": [{"name": "p", "n": 1}, {"name": "q"}]}, labels={"x/y": "1"}
    )
    after = thing({"a": 2, "new": None, "list": [{"name": "p", "n": 2}, {"name": "r"}]}, labels={"x/y": "2"})
    assert diff.compare(before, after) == (
        Change('metadata.labels["x/y"]', "replace", "1", "2"),
        Change("spec.a", "replace", 1, 2),
        Change("spec.gone", "remove", True, None),
        Change('spec.list[name="p"].n', "replace", 1, 2),
        Change('spec.list[name="q"]', "remove", {"name": "q"}, None),
        Change('spec.list[name="r"]', "add", None, {"name": "r"}),
        Change("spec.new", "add", None, None),
    )


def test_lists_without_names_are_compared_by_position() -> None:
    """And a list of named items in another order is one change."""
    assert diff.compare({"l": [1, 2, 3]}, {"l": [1, 5]}) == (
        Change("l[1]", "replace", 2, 5),
        Change("l[2]", "remove", 3, None),
    )
    one, two = {"name": "a"}, {"name": "b"}
    assert [change.path for change in diff.compare({"l": [one, two]}, {"l": [two, one]})] == ["l"]
    assert [change.path for change in diff.compare({"l": [one, one]}, {"l": [one, two]})] == ["l[1].name"]


def test_true_is_not_one() -> None:
    """Nor is 1 the same as 1.0."""
    assert len(diff.compare({"a": True, "b": 1}, {"a": 1, "b": 1.0})) == 2


def test_objects_that_come_and_go_are_one_change() -> None:
    """Of the object itself."""
    assert diff.compare(None, {"a": 1}) == (Change("", "add", None, {"a": 1}),)
    assert diff.compare({"a": 1}, None) == (Change("", "remove", {"a": 1}, None),)
    assert diff.compare(None, None) == ()


def test_unified_text_reads_like_kubectl_diff() -> None:
    """Nothing when nothing differs."""
    text = diff.unified(config_map({"a": "1"}), config_map({"a": "2"}), dump=dump, name="v1.ConfigMap.n.x")
    assert text.startswith("--- LIVE/v1.ConfigMap.n.x\n+++ MERGED/v1.ConfigMap.n.x\n@@ ")
    assert '-  "a": "1"\n+  "a": "2"\n' in text
    assert diff.unified(config_map(), config_map(), dump=dump) == ""
    assert all(line[0] in "+@-" for line in diff.unified(None, config_map(), dump=dump).splitlines())


def test_a_summary_has_no_values_and_stays_short() -> None:
    """It stands in status and events."""
    changes = diff.compare({"a": "secret", "b": 1, "c": 1}, {"a": "other", "c": 1, "d": 1})
    assert diff.summary(changes) == "~a -b +d"
    assert diff.summary(changes, limit=1) == "~a, 2 more"


@given(things, things)
def test_a_json_patch_makes_one_of_the_other(before: Any, after: Any) -> None:
    """And changes neither."""
    original = encode(before)
    assert same(diff.apply_json_patch(before, diff.json_patch(before, after)), after)
    assert encode(before) == original


def test_a_json_patch_of_a_whole_object() -> None:
    """It comes or goes."""
    assert diff.json_patch(None, {"a": 1}) == [{"op": "add", "path": "", "value": {"a": 1}}]
    assert diff.json_patch({"a": 1}, None) == [{"op": "remove", "path": ""}]
    assert diff.json_patch(None, None) == []


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "remove", "path": "/nope"}],
        [{"op": "nonsense", "path": "/a"}],
        [{"op": "add"}],
        [{"op": "add", "path": "no slash", "value": 1}],
        [{"op": "add", "path": "/l/x", "value": 1}],
        ["text"],
        [[]],
        7,
        {"op": "add"},
    ],
)
def test_a_patch_that_does_not_fit_is_refused(patch: Any) -> None:
    """With one clear error."""
    with pytest.raises(diff.PatchError):
        diff.apply_json_patch({"a": 1, "l": []}, patch)


def test_a_failed_test_operation_is_told_apart() -> None:
    """The server answers it with another code."""
    with pytest.raises(diff.PatchError) as caught:
        diff.apply_json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": 2}])
    assert caught.value.test


# --- hiding values ---


def test_hidden_values_show_only_whether_they_are_equal() -> None:
    """Within one run; another run has another key."""
    mask, other = Mask(), Mask()
    assert mask.hide("s") == mask.hide("s") != mask.hide("t")
    assert mask.hide("s") != other.hide("s")
    assert "s3cr3t" not in mask.hide("s3cr3t")


def test_everything_but_metadata_is_hidden_of_a_tainted_object() -> None:
    """Its shape stays visible, and kubectl's copy in the annotation is hidden as well."""
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    secret = {
        **config_map({"a": "s3cr3t", "l": [1, {"b": None}]}, annotations={annotation: "s3cr3t", "x": "1"})
    }
    shown = Mask(b"k").object(secret)
    assert shown is not None
    assert "s3cr3t" not in dump(shown)
    assert shown["metadata"]["name"] == "x"
    assert shown["metadata"]["annotations"]["x"] == "1"
    assert set(shown["data"]) == {"a", "l"}
    assert Mask().object(None) is None


def test_only_tainted_paths_are_hidden_when_they_are_known() -> None:
    """A star is any key or item; what is not there is nothing."""
    obj = {"spec": {"env": [{"name": "a", "value": "s"}], "open": "1"}, "data": {"k": "s"}}
    shown = Mask(b"k").object(obj, [("spec", "env", "*", "value"), ("data", "*"), ("nope",)])
    assert shown is not None
    assert shown["spec"]["open"] == "1"
    assert shown["spec"]["env"][0]["name"] == "a"
    assert shown["spec"]["env"][0]["value"] == shown["data"]["k"] != "s"
