"""One object as the cache keeps it: identity open, fields ready, the whole compressed."""

from __future__ import annotations

import json
import threading
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulesengine.cache import Record, changed
from rulesengine.cache.packing import Packer
from rulesengine.cache.projection import Projection
from rulesengine.cache.records import BadObject, Maker
from rulesengine.core.keys import ObjectKey
from rulesengine.core.ports import Live
from tests.unit.cache.fakes import CONFIG_MAP, claimed, config_map

MANAGED = [
    {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:data": {}}},
    {"manager": "rulesengine:ClusterRule//r", "operation": "Apply", "fieldsV1": {"f:data": {"f:k": {}}}},
    {"manager": "not-rulesengine:x", "operation": "Apply", "fieldsV1": {}},
]


def maker(*paths: tuple[str, ...], sources: bool = True) -> Maker:
    made = Maker(CONFIG_MAP)
    made.sources = sources
    made.projection = Projection(paths)
    return made


def make(body: Any, *paths: tuple[str, ...], sources: bool = True, of: Maker | None = None) -> Record:
    return (of or maker(*paths, sources=sources)).make(json.dumps(body).encode())


def test_identity_is_in_the_open() -> None:
    """Everything core.ports.Live promises, without decoding."""
    body = config_map("a", 7, metadata={"labels": {"x": "y"}, "ownerReferences": [{"uid": "o", "kind": "K"}]})
    record: Live = make(body)
    assert record.key == ObjectKey("", "ConfigMap", "ns", "a")
    assert (record.uid, record.version, record.created) == ("uid-a", 7, "2026-01-05T08:00:00Z")
    assert (record.deleting, record.foreign, record.claim) == (False, False, "")
    assert record.labels == {"x": "y"}
    assert record.owners == ("o",)
    assert make(config_map("a", 7)).labels == {}
    assert make(config_map("a", 7, metadata={"deletionTimestamp": "2026-01-05T08:00:00Z"})).deleting


def test_the_whole_comes_back_exactly() -> None:
    """Small or compressed, with every value; of managedFields only our managers' entries."""
    for size in (1, 5000):
        body = config_map("a", 7, data={"k": "v" * size, "ü": "\u2028"}, big=9007199254740993, f=1.0, n=None)
        assert make(body).object() == body
        body["metadata"]["managedFields"] = MANAGED
        found = make(body).object()
        assert found["metadata"].pop("managedFields") == [MANAGED[1]]
        del body["metadata"]["managedFields"]
        assert found == body


def test_managed_fields_that_are_all_others_go_entirely() -> None:
    """Nothing empty is left behind."""
    body = config_map("a", 7, metadata={"managedFields": MANAGED[:1]})
    assert "managedFields" not in make(body).object()["metadata"]


def test_a_copy_of_managed_fields_elsewhere_stays() -> None:
    """Only metadata's own list is cut."""
    body = config_map("a", 7, metadata={"managedFields": MANAGED[:1]}, spec={"managedFields": MANAGED[:1]})
    assert make(body).object()["spec"] == {"managedFields": MANAGED[:1]}


def test_fields_are_what_was_asked_for_and_who_it_is() -> None:
    """Identity is always there, the rest only as read."""
    body = config_map("a", 7, data={"k": "v", "other": "x"}, metadata={"labels": {"x": "y"}})
    assert make(body, ("data", "k"), ("metadata", "labels")).fields() == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a", "namespace": "ns", "uid": "uid-a", "resourceVersion": "7", "labels": {"x": "y"},
        },
        "data": {"k": "v"},
    }  # fmt: skip
    assert make(body, ()).fields() == body
    assert "data" not in make(body).fields()


def test_a_list_item_without_kind_gets_it() -> None:
    """Items of lists of built-in kinds come without."""
    body = config_map("a", 7)
    del body["apiVersion"], body["kind"]
    assert make(body).object()["kind"] == "ConfigMap"
    assert make(body).fields()["apiVersion"] == "v1"


def test_records_follow_when_rules_read_more() -> None:
    """An older record finds the new fields too, without a request."""
    kept = maker(("data", "k"))
    record = make(config_map("a", 7, data={"k": "v", "l": "w"}), of=kept)
    kept.projection = Projection([("data", "k"), ("data", "l")])
    assert record.fields()["data"] == {"k": "v", "l": "w"}
    kept.projection = Projection([()])
    assert record.fields() == record.object()
    kept.projection = Projection([("data", "l")])
    assert record.fields()["data"]["l"] == "w"


def test_a_foreign_object_of_a_target_kind_is_its_identity() -> None:
    """It is known to be there, and nothing more is kept; one with a claim is kept whole."""
    foreign = make(config_map("a", 7, data={"k": "v" * 999}), ("data",), sources=False)
    assert foreign.foreign
    assert foreign.size == 0
    assert foreign.object() == foreign.fields()
    assert foreign.object()["metadata"]["uid"] == "uid-a"
    assert "data" not in foreign.object()
    ours = make(config_map("a", 7, data={"k": "v"}, metadata=claimed()), sources=False)
    assert not ours.foreign
    assert ours.object()["data"] == {"k": "v"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"7",
        b"{}",
        b'{"metadata":{}}',
        b'{"metadata":{"name":7}}',
        b'{"metadata":{"name":"a"}',
        b"\xff",
        b"[" * 9999,
    ],
)
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    """With one typed error that quotes nothing."""
    with pytest.raises(BadObject, match="an object of v1 ConfigMap cannot be decoded"):
        maker(("data",)).make(raw)


def test_compression_is_safe_between_threads() -> None:
    """Evaluations run in worker threads while the loop reads other objects."""
    record = make(config_map("a", 7, data={"k": "v" * 100_000}))
    expected, wrong = record.object(), []

    def read() -> None:
        wrong.extend(1 for _ in range(50) if record.object() != expected)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_objects_of_a_kind_shrink_against_each_other() -> None:
    """What the first ones have in common costs the later ones next to nothing; all come back."""
    packer = Packer()
    random = Random(1)
    common = json.dumps({f"{random.random()}": random.random() for _ in range(40)})
    objects = [f'{{"n":{n},"common":{common}}}'.encode() for n in range(20)]
    packed = [packer.pack(each) for each in objects]
    assert len(packed[0]) > 600
    assert len(packed[-1]) < 100
    assert [packer.unpack(each) for each in packed] == objects
    assert packer.pack(b"{}") == b"{}"


@given(st.lists(st.binary(max_size=5000).map(lambda b: b"{" + b), max_size=12))
def test_whatever_is_packed_comes_back(objects: list[bytes]) -> None:
    """At any size, before and after the dictionary."""
    packer = Packer()
    packed = [packer.pack(each) for each in objects]
    assert [packer.unpack(each) for each in packed] == objects


def versions(*paths: tuple[str, ...], old: Any = None, new: Any = None, **more: Any) -> tuple[Record, Record]:
    kept = maker(*paths, **more)
    before = config_map("a", 7, **(old or {}))
    after = config_map("a", 8, **(new or {}))
    return make(before, of=kept), make(after, of=kept)


def test_an_update_that_nobody_reads_is_no_change() -> None:
    """Other rules' fields, metadata and status may move freely."""
    old, new = versions(
        ("data", "k"),
        ("data", "l"),
        old={"data": {"k": "v", "l": "1", "x": "1"}},
        new={"data": {"k": "v", "l": "2", "x": "2"}},
    )
    assert not changed(old, new, [("data", "k")])
    assert changed(old, new, [("data", "l")])
    assert changed(old, new, [("data", "x")])  # kept by nobody, read from the whole
    assert changed(old, new, [()])
    assert not changed(old, new, [])


def test_equal_bytes_need_no_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual case: a status update of an object whose spec is read."""
    old, new = versions(("data",), old={"data": {"k": "v"}, "s": 1}, new={"data": {"k": "v"}, "s": 2})
    monkeypatch.setattr(Record, "object", lambda _: pytest.fail("decoded"))
    monkeypatch.setattr(Record, "fields", lambda _: pytest.fail("decoded"))
    assert not changed(old, new, [("data", "k")])


def test_coming_going_deleting_and_another_uid_always_count() -> None:
    """Whatever is read of it."""
    old, new = versions()
    assert changed(None, new, [])
    assert changed(old, None, [])
    assert not changed(None, None, [])
    assert changed(*versions(new={"metadata": {"uid": "other"}}), [])
    assert changed(*versions(new={"metadata": {"deletionTimestamp": "2026-01-05T08:00:00Z"}}), [])


def test_a_whole_reader_sees_all_but_bookkeeping() -> None:
    """A write that moved only resourceVersion and managedFields is no change."""
    old, new = versions(
        (), old={"data": {"k": "v"}}, new={"data": {"k": "v"}, "metadata": {"managedFields": MANAGED}}
    )
    assert not changed(old, new, [()])
    assert changed(*versions((), new={"data": {}}), [()])


def test_records_of_different_projections_compare() -> None:
    """An old record from before a rule read more, a new one from after."""
    kept = maker(("data", "k"))
    old = make(config_map("a", 7, data={"k": "v", "l": "1"}), of=kept)
    kept.projection = Projection([("data", "k"), ("data", "l")])
    new = make(config_map("a", 8, data={"k": "v", "l": "2"}), of=kept)
    assert changed(old, new, [("data", "l")])
    assert not changed(old, new, [("data", "k")])
