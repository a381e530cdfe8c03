"""Deletion: preconditions, finalizers, dependents, namespaces."""

from __future__ import annotations

from tests.unit.embedded.fakes import CONFIG_MAPS, Api, config_map, owned_by


def make_family(api: Api, *, blocks: bool = False) -> dict[str, object]:
    parent: dict[str, object] = api.create(CONFIG_MAPS, config_map("parent"))
    child = api.create(CONFIG_MAPS, config_map("child", metadata=owned_by(parent, blocks=blocks)))
    api.create(CONFIG_MAPS, config_map("grandchild", metadata=owned_by(child)))
    return parent


def test_preconditions_guard(api: Api) -> None:
    """Another uid or resourceVersion: 409, and the object stays."""
    made = api.create(CONFIG_MAPS, config_map("a"))
    assert api.delete(f"{CONFIG_MAPS}/a", preconditions={"uid": "other"}).status == 409
    assert api.delete(f"{CONFIG_MAPS}/a", preconditions={"resourceVersion": "1"}).status == 409
    meta = made["metadata"]
    exact = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    said = api.delete(f"{CONFIG_MAPS}/a", preconditions=exact)
    assert (said.status, said.body["status"]) == (200, "Success")
    assert api.delete(f"{CONFIG_MAPS}/a").status == 404


def test_finalizers_hold(api: Api) -> None:
    """Marked only; no new finalizers; gone with the write that removes the last."""
    api.create(CONFIG_MAPS, config_map("a", metadata={"finalizers": ["x.io/hold"]}))
    assert api.delete(f"{CONFIG_MAPS}/a").body["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"
    said = api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["x.io/hold", "y.io/more"]}})
    assert (said.status, said.body["details"]["causes"][0]["reason"]) == (422, "FieldValueForbidden")
    assert api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}}).status == 200
    assert api.get(f"{CONFIG_MAPS}/a").status == 404


def test_background_takes_all_descendants(api: Api) -> None:
    """Children go with the owner, grandchildren with them."""
    make_family(api)
    api.delete(f"{CONFIG_MAPS}/parent", propagationPolicy="Background")
    assert api.names(CONFIG_MAPS) == []


def test_foreground_waits_for_blocking_dependents(api: Api) -> None:
    """The owner stays, marked, until a dependent that blocks is gone."""
    parent = api.create(CONFIG_MAPS, config_map("parent"))
    meta = {**owned_by(parent, blocks=True), "finalizers": ["x.io/hold"]}
    api.create(CONFIG_MAPS, config_map("child", metadata=meta))
    api.delete(f"{CONFIG_MAPS}/parent", propagationPolicy="Foreground")
    assert api.names(CONFIG_MAPS) == ["child", "parent"]
    assert api.get(f"{CONFIG_MAPS}/parent").body["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in api.get(f"{CONFIG_MAPS}/child").body["metadata"]
    api.patch(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}})
    assert api.names(CONFIG_MAPS) == []


def test_orphans_stay_without_owner(api: Api) -> None:
    """Orphan: the children lose their reference and stay."""
    make_family(api)
    api.delete(f"{CONFIG_MAPS}/parent", propagationPolicy="Orphan")
    assert api.names(CONFIG_MAPS) == ["child", "grandchild"]
    assert "ownerReferences" not in api.get(f"{CONFIG_MAPS}/child").body["metadata"]


def test_one_of_two_owners_is_enough(api: Api) -> None:
    """A dependent with another living owner stays and loses the dead one."""
    one, two = (api.create(CONFIG_MAPS, config_map(name)) for name in ("one", "two"))
    both = {"ownerReferences": owned_by(one)["ownerReferences"] + owned_by(two)["ownerReferences"]}
    api.create(CONFIG_MAPS, config_map("child", metadata=both))
    api.delete(f"{CONFIG_MAPS}/one")
    assert [o["name"] for o in api.get(f"{CONFIG_MAPS}/child").body["metadata"]["ownerReferences"]] == ["two"]
    api.delete(f"{CONFIG_MAPS}/two")
    assert api.get(f"{CONFIG_MAPS}/child").status == 404


def test_an_owner_of_another_uid_is_no_owner(api: Api) -> None:
    """A dependent of something that is gone is collected, even when the name is taken again."""
    parent = api.create(CONFIG_MAPS, config_map("parent"))
    api.delete(f"{CONFIG_MAPS}/parent")
    api.create(CONFIG_MAPS, config_map("parent"))
    api.create(CONFIG_MAPS, config_map("late", metadata=owned_by(parent)))
    assert api.names(CONFIG_MAPS) == ["parent"]


def test_an_owner_of_an_unknown_kind_keeps_its_dependents(api: Api) -> None:
    """What cannot be looked up is not taken as gone."""
    owner = {"apiVersion": "no.example.com/v1", "kind": "Nothing", "metadata": {"name": "n", "uid": "u"}}
    api.create(CONFIG_MAPS, config_map("kept", metadata=owned_by(owner)))
    assert api.names(CONFIG_MAPS) == ["kept"]


def make_namespace(api: Api) -> None:
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})


def test_a_namespace_takes_its_content(api: Api) -> None:
    """Everything in it goes, then the namespace."""
    make_namespace(api)
    api.create("/api/v1/namespaces/lab/configmaps", config_map("a"))
    said = api.delete("/api/v1/namespaces/lab")
    assert said.body["status"]["phase"] == "Terminating"
    assert api.get("/api/v1/namespaces/lab").status == 404
    assert api.names("/api/v1/configmaps") == []


def test_a_namespace_waits_for_finalizers_and_takes_nothing_new(api: Api) -> None:
    """Terminating until what is held is released; creating there is Forbidden with its cause."""
    make_namespace(api)
    path = "/api/v1/namespaces/lab/configmaps"
    api.create(path, config_map("held", metadata={"finalizers": ["x.io/hold"]}))
    api.delete("/api/v1/namespaces/lab")
    conditions = api.get("/api/v1/namespaces/lab").body["status"]["conditions"]
    assert {c["type"]: c["status"] for c in conditions}["NamespaceContentRemaining"] == "True"
    said = api.send("POST", path, config_map("new"))
    assert (said.status, said.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    api.patch(f"{path}/held", {"metadata": {"finalizers": None}})
    assert api.get("/api/v1/namespaces/lab").status == 404


def test_nothing_is_made_where_there_is_no_namespace(api: Api) -> None:
    """404 about the namespace, not about the object."""
    said = api.send("POST", "/api/v1/namespaces/nope/configmaps", config_map("a"))
    assert (said.status, said.body["details"]) == (404, {"name": "nope", "kind": "namespaces"})


def test_the_default_namespace_cannot_go(api: Api) -> None:
    """403, as on a real server."""
    assert api.delete("/api/v1/namespaces/default").status == 403


def test_a_collection_is_deleted_by_selector(api: Api) -> None:
    """Only what the selector names."""
    api.create(CONFIG_MAPS, config_map("a", metadata={"labels": {"x": "1"}}))
    api.create(CONFIG_MAPS, config_map("b"))
    said = api.send("DELETE", f"{CONFIG_MAPS}?labelSelector=x=1")
    assert said.status == 200
    assert api.names(CONFIG_MAPS) == ["b"]
