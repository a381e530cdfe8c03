"""Create, replace, patch, apply: what is kept, what is refused, and when nothing is written."""

from __future__ import annotations

import pytest

from tests.unit.embedded.fakes import CONFIG_MAPS, JSON_PATCH, STRATEGIC, Api, config_map

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def deployment(name: str = "web", **spec: object) -> dict[str, object]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def test_the_server_owns_identity(api: Api) -> None:
    """uid, creationTimestamp and resourceVersion are the server's, whatever a body says."""
    made = api.create(
        CONFIG_MAPS, config_map("a", metadata={"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"})
    )
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert int(made["metadata"]["resourceVersion"]) > 0


def test_generated_names_are_unique(api: Api) -> None:
    """generateName gives a name of its own each time."""
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "x-"}}
    names = {api.create(CONFIG_MAPS, body)["metadata"]["name"] for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


@pytest.mark.parametrize("kind", ["put", "merge", "json", "apply"])
def test_a_write_that_changes_nothing_keeps_the_version(api: Api, kind: str) -> None:
    """Same resourceVersion, and no event: the engine's peace depends on it."""
    api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"k": "v"}))
    before = api.get(f"{CONFIG_MAPS}/a").body
    api.clock.advance(100)
    match kind:
        case "put":
            said = api.send("PUT", f"{CONFIG_MAPS}/a", before)
        case "merge":
            said = api.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
        case "json":
            said = api.patch(
                f"{CONFIG_MAPS}/a", [{"op": "replace", "path": "/data/k", "value": "v"}], JSON_PATCH
            )
        case _:
            said = api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"k": "v"}))
    assert said.status == 200
    assert said.body == before


def test_a_stale_write_conflicts(api: Api) -> None:
    """409 Conflict when the body's resourceVersion is not the current one."""
    old = api.create(CONFIG_MAPS, config_map("a"))
    api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
    said = api.send("PUT", f"{CONFIG_MAPS}/a", old)
    assert (said.status, said.body["reason"]) == (409, "Conflict")


def test_create_only_apply(api: Api) -> None:
    """Apply with a resourceVersion creates what is absent and never touches what is there."""
    body = config_map("a", metadata={"resourceVersion": "1"}, data={"k": "v"})
    assert api.apply(f"{CONFIG_MAPS}/a", body).status == 201
    said = api.apply(f"{CONFIG_MAPS}/a", body)
    assert (said.status, said.body["reason"]) == (409, "Conflict")
    assert "causes" not in said.body["details"]


def test_apply_with_a_uid_is_for_that_object_only(api: Api) -> None:
    """Absent: 409. Another uid: 422 about metadata.uid."""
    body = config_map("a", metadata={"uid": "other"})
    assert api.apply(f"{CONFIG_MAPS}/a", body).status == 409
    api.create(CONFIG_MAPS, config_map("a"))
    said = api.apply(f"{CONFIG_MAPS}/a", body)
    assert said.status == 422
    assert said.body["details"]["causes"][0]["field"] == "metadata.uid"


def test_appliers_conflict_and_force_takes(api: Api) -> None:
    """Another manager's field is a conflict naming manager and path; force takes it over."""
    api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"k": "1"}), "one")
    said = api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"k": "2"}), "two")
    assert said.status == 409
    assert said.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}
    ]
    assert api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"k": "2"}), "two", force=True).status == 200


def test_a_dry_run_writes_nothing(api: Api) -> None:
    """dryRun=All answers as the write would, and stores nothing."""
    said = api.send("POST", f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
    assert (said.status, said.body["metadata"]["name"]) == (201, "a")
    assert api.get(f"{CONFIG_MAPS}/a").status == 404
    api.create(CONFIG_MAPS, config_map("a"))
    api.send("PATCH", f"{CONFIG_MAPS}/a?dryRun=All", {"data": {"x": "1"}}, "application/merge-patch+json")
    api.send("DELETE", f"{CONFIG_MAPS}/a?dryRun=All")
    assert "data" not in api.get(f"{CONFIG_MAPS}/a").body


def test_unknown_fields_by_validation(api: Api) -> None:
    """Strict refuses, Warn warns and drops, Ignore drops."""
    body = config_map("a", colour="red")
    said = api.send("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body)
    assert said.status == 400
    assert 'unknown field "colour"' in said.body["message"]
    said = api.send("POST", f"{CONFIG_MAPS}?fieldValidation=Warn&dryRun=All", body)
    assert said.headers["Warning"] == '299 - "unknown field \\"colour\\""'
    said = api.send("POST", f"{CONFIG_MAPS}?fieldValidation=Ignore", body)
    assert said.headers == {}
    assert "colour" not in said.body


def test_spec_and_status_are_written_apart(api: Api) -> None:
    """The main path ignores status, /status ignores the rest; generation follows spec only."""
    api.create(DEPLOYMENTS, deployment())
    said = api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}, "status": {"replicas": 9}})
    assert (said.body["spec"]["replicas"], said.body["status"], said.body["metadata"]["generation"]) == (
        3,
        {},
        2,
    )
    said = api.patch(f"{DEPLOYMENTS}/web/status", {"spec": {"replicas": 5}, "status": {"replicas": 3}})
    assert (said.body["spec"]["replicas"], said.body["status"]["replicas"]) == (3, 3)
    assert said.body["metadata"]["generation"] == 2
    owners = {m.get("subresource", ""): m["fieldsV1"] for m in said.body["metadata"]["managedFields"]}
    assert owners["status"] == {"f:status": {"f:replicas": {}}}


def test_what_the_server_rewrites(api: Api) -> None:
    """Quantities become canonical and empty values that a struct cannot hold disappear."""
    container = {
        "name": "c",
        "image": "x",
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
        "args": [],
    }
    body = deployment(template={"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}})
    made = api.create(DEPLOYMENTS, body)["spec"]["template"]["spec"]["containers"][0]
    assert made["resources"] == {"requests": {"cpu": "1", "memory": "1Gi"}}
    assert "args" not in made


def test_secrets_turn_text_into_data(api: Api) -> None:
    """stringData is written into data, encoded, and is gone."""
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
    made = api.create("/api/v1/namespaces/default/secrets", body)
    assert (made["data"], made["type"]) == ({"a": "Yg=="}, "Opaque")
    assert "stringData" not in made


def test_services_get_addresses_and_keep_them(api: Api) -> None:
    """Each its own clusterIP, which survives a replace that leaves it out."""
    path = "/api/v1/namespaces/default/services"
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}]},
    }
    first = api.create(path, body)["spec"]["clusterIP"]
    other = api.create(path, {**body, "metadata": {"name": "t"}})["spec"]["clusterIP"]
    assert first != other
    assert api.send("PUT", f"{path}/s", body).body["spec"]["clusterIP"] == first


def test_immutable_fields_stay(api: Api) -> None:
    """A selector, a role reference: 422 with the field."""
    api.create(DEPLOYMENTS, deployment())
    change = {
        "spec": {"selector": {"matchLabels": {"a": "z"}}, "template": {"metadata": {"labels": {"a": "z"}}}}
    }
    said = api.patch(f"{DEPLOYMENTS}/web", change)
    assert said.status == 422
    assert [c["field"] for c in said.body["details"]["causes"]] == ["spec.selector"]


def test_strategic_merge_goes_by_keys(api: Api) -> None:
    """List items merge by their key; new ones come as the patch has them; $patch deletes."""
    api.create(DEPLOYMENTS, deployment())

    def containers(*patch: dict[str, object]) -> list[dict[str, object]]:
        body = {"spec": {"template": {"spec": {"containers": list(patch)}}}}
        said = api.patch(f"{DEPLOYMENTS}/web", body, STRATEGIC)
        assert said.status == 200, said.body
        found: list[dict[str, object]] = said.body["spec"]["template"]["spec"]["containers"]
        return found

    assert [(c["name"], c["image"]) for c in containers({"name": "c", "image": "x:2"})] == [("c", "x:2")]
    assert [c["name"] for c in containers({"name": "side", "image": "y"})] == ["side", "c"]
    assert [c["name"] for c in containers({"name": "side", "$patch": "delete"})] == ["c"]


def test_names_are_checked(api: Api) -> None:
    """422 Invalid with the rule of names; a missing name is Required."""
    for name in ("A", "a_b", "-a", "a" * 254):
        said = api.send("POST", CONFIG_MAPS, config_map(name))
        assert (said.status, said.body["details"]["causes"][0]["field"]) == (422, "metadata.name"), name
    assert api.send("POST", CONFIG_MAPS, {"kind": "ConfigMap", "apiVersion": "v1"}).status == 422


def test_wrong_types_of_built_in_kinds_are_bad_requests(api: Api) -> None:
    """A Go struct cannot hold them: 400, before any validation."""
    said = api.send("POST", CONFIG_MAPS, config_map("a", data={"x": 1}))
    assert (said.status, said.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b"1", b'{"kind":"Secret","apiVersion":"v1"}']
)
def test_nonsense_is_refused_with_a_status(api: Api, body: bytes) -> None:
    """Whatever the body: 400 and a Status object."""
    said = api.send("POST", CONFIG_MAPS, body)
    assert (said.status, said.body["kind"]) == (400, "Status")


def test_what_is_not_there_says_so(api: Api) -> None:
    """404 for objects, kinds and paths; 501 names a feature that is missing here."""
    assert api.get(f"{CONFIG_MAPS}/a").body["message"] == 'configmaps "a" not found'
    assert api.get("/api/v1/nothings").status == 404
    assert api.get("/apis/nothing.example.com/v1").status == 404
    assert api.send("DELETE", "/version").status == 405
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    api.create("/api/v1/namespaces/default/pods", pod)
    said = api.get("/api/v1/namespaces/default/pods/p/log")
    assert (said.status, said.body["reason"]) == (501, "NotImplemented")
    assert "pods/log" in said.body["message"]


def test_scale_is_a_view_of_replicas(api: Api) -> None:
    """/scale reads and writes spec.replicas, owned under the subresource."""
    api.create(DEPLOYMENTS, deployment(replicas=2))
    assert api.get(f"{DEPLOYMENTS}/web/scale").body["spec"] == {"replicas": 2}
    said = api.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 4}})
    assert (said.body["kind"], said.body["spec"]["replicas"]) == ("Scale", 4)
    assert api.get(f"{DEPLOYMENTS}/web").body["spec"]["replicas"] == 4
