"""What the client sends: addresses, queries, headers, preconditions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rulesengine.client import JSON_PATCH, BadPath, Client, Forbidden, dry_run
from rulesengine.core.kinds import ResourceType
from tests.unit.client.scripted import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, Scripted, ok, refused

BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def client(*answers: object) -> tuple[Client, Scripted]:
    transport = Scripted(list(answers) or [ok()])  # type: ignore[arg-type]
    return Client(transport), transport


async def test_objects_are_addressed_by_group_version_plural_and_encoded_names() -> None:
    """Core kinds live under /api, others under /apis; names are percent-encoded segments."""
    c, t = client()
    await c.get(DEPLOYMENTS, "ns", "a")
    await c.get(CONFIG_MAPS, "ns", "system:a?b=c#d e")
    await c.get(NAMESPACES, "", "x", subresource="status")
    assert [a.path for a in t.asked] == [
        "/apis/apps/v1/namespaces/ns/deployments/a",
        "/api/v1/namespaces/ns/configmaps/system%3Aa%3Fb%3Dc%23d%20e",
        "/api/v1/namespaces/x/status",
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a/status", "a%2Fstatus", "a\x00"])
@pytest.mark.parametrize("method", ["get", "apply", "delete", "replace", "patch"])
async def test_a_name_that_is_no_segment_is_never_sent(method: str, name: str) -> None:
    """An empty name would address the collection, a slash a subresource: refused before sending."""
    c, t = client()
    arguments = {"get": (), "delete": ()}.get(method, (BODY,))
    options = {"field_manager": "m"} if method == "apply" else {}
    with pytest.raises(BadPath) as caught:
        await getattr(c, method)(CONFIG_MAPS, "ns", name, *arguments, **options)
    assert t.asked == []
    assert (caught.value.status, caught.value.fields) == (400, ("metadata.name",))


@pytest.mark.parametrize("namespace", ["", "..", "a/b"])
async def test_a_namespaced_object_needs_a_namespace(namespace: str) -> None:
    """Without one the path would mean another object, so nothing is sent."""
    c, t = client()
    with pytest.raises(BadPath):
        await c.delete(CONFIG_MAPS, namespace, "a")
    with pytest.raises(BadPath):
        await c.create(CONFIG_MAPS, namespace, BODY)
    assert t.asked == []


async def test_a_cluster_scoped_object_has_no_namespace() -> None:
    """A namespace with it is a mistake of the caller."""
    c, t = client()
    with pytest.raises(BadPath):
        await c.get(NAMESPACES, "ns", "x")
    assert t.asked == []


async def test_every_write_is_strict_and_says_who_writes() -> None:
    """fieldValidation=Strict and the field manager are on create, apply, patch and replace."""
    c, t = client()
    await c.create(CONFIG_MAPS, "ns", BODY, field_manager="m:x/y")
    await c.apply(CONFIG_MAPS, "ns", "a", BODY, field_manager="m:x/y")
    await c.patch(CONFIG_MAPS, "ns", "a", {"data": {}}, field_manager="m:x/y")
    await c.replace(CONFIG_MAPS, "ns", "a", BODY, field_manager="m:x/y")
    queries = {a.path.partition("?")[2] for a in t.asked}
    assert queries == {"fieldValidation=Strict&fieldManager=m%3Ax%2Fy"}
    assert [a.method for a in t.asked] == ["POST", "PATCH", "PATCH", "PUT"]


async def test_apply_forces_only_when_told() -> None:
    """`force` is a query parameter that is absent by default."""
    c, t = client()
    await c.apply(CONFIG_MAPS, "ns", "a", BODY, field_manager="m")
    await c.apply(CONFIG_MAPS, "ns", "a", BODY, field_manager="m", force=True)
    assert "force" not in t.asked[0].path
    assert t.asked[1].path.endswith("&force=true")
    assert {a.headers["Content-Type"] for a in t.asked} == {"application/apply-patch+yaml"}


async def test_patches_say_their_kind() -> None:
    """A merge patch is the default; the kind is the content type."""
    c, t = client()
    await c.patch(CONFIG_MAPS, "ns", "a", {"data": None})
    await c.patch(CONFIG_MAPS, "ns", "a", [{"op": "remove", "path": "/data"}], content_type=JSON_PATCH)
    assert [a.headers["Content-Type"] for a in t.asked] == [
        "application/merge-patch+json",
        "application/json-patch+json",
    ]
    assert t.asked[0].body == {"data": None}


async def test_bytes_are_sent_as_they_are() -> None:
    """A body that is bytes already is not encoded again."""
    c, t = client()
    await c.apply(CONFIG_MAPS, "ns", "a", b'{"a":1}', field_manager="m")
    assert t.asked[0].body == {"a": 1}


async def test_a_delete_carries_its_preconditions_and_propagation() -> None:
    """uid and resourceVersion decide whether it still is the object that was meant."""
    c, t = client()
    await c.delete(CONFIG_MAPS, "ns", "a", uid="u", resource_version="7", propagation="Foreground")
    assert t.asked[0].body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
    }


async def test_a_dry_run_client_cannot_write() -> None:
    """Every kind of write through it is dryRun=All, deletes too; the first client still writes."""
    c, t = client()
    dry = dry_run(c)
    await dry.create(CONFIG_MAPS, "ns", BODY)
    await dry.apply(CONFIG_MAPS, "ns", "a", BODY, field_manager="m")
    await dry.patch(CONFIG_MAPS, "ns", "a", {})
    await dry.replace(CONFIG_MAPS, "ns", "a", BODY)
    assert all("dryRun=All" in a.path for a in t.asked)
    await dry.delete(CONFIG_MAPS, "ns", "a")
    assert t.asked[-1].body["dryRun"] == ["All"]
    await c.delete(CONFIG_MAPS, "ns", "a")
    await c.create(CONFIG_MAPS, "ns", BODY)
    assert "dryRun" not in t.asked[-2].body
    assert "dryRun" not in t.asked[-1].path


async def test_impersonation_stays_with_its_client_and_its_dry_run() -> None:
    """Requests of the derived client carry the user; those of the first do not."""
    c, t = client()
    other = c.impersonating("system:serviceaccount:ns:x")
    await other.get(CONFIG_MAPS, "ns", "a")
    await dry_run(other).create(CONFIG_MAPS, "ns", BODY)
    await c.get(CONFIG_MAPS, "ns", "a")
    users = [a.headers.get("Impersonate-User") for a in t.asked]
    assert users == ["system:serviceaccount:ns:x", "system:serviceaccount:ns:x", None]
    assert "dryRun=All" in t.asked[1].path


async def test_writes_are_announced_around_their_request() -> None:
    """Each write of one object, by its identity; reads and dry runs are not."""
    c, t = client()
    seen: list[tuple[str, str, str, int]] = []

    @contextmanager
    def announce(resource: ResourceType, namespace: str, name: str) -> Iterator[None]:
        seen.append((resource.plural, namespace, name, len(t.asked)))
        yield
        seen.append(("done", "", "", len(t.asked)))

    telling = c.announcing(announce)
    await telling.get(CONFIG_MAPS, "ns", "a")
    await dry_run(telling).apply(CONFIG_MAPS, "ns", "a", BODY, field_manager="m")
    assert seen == []
    await telling.apply(CONFIG_MAPS, "ns", "a", BODY, field_manager="m")
    assert seen == [("configmaps", "ns", "a", 2), ("done", "", "", 3)]
    await telling.impersonating("x").patch(CONFIG_MAPS, "ns", "a", {})
    await telling.replace(CONFIG_MAPS, "ns", "a", {})
    await telling.delete(CONFIG_MAPS, "ns", "a")
    assert len(seen) == 8


async def test_requests_say_which_program_asks() -> None:
    """User-Agent is rulesengine/<version>."""
    c, t = client()
    await c.get(CONFIG_MAPS, "ns", "a")
    assert t.asked[0].headers["User-Agent"].startswith("rulesengine/")


async def test_lists_pass_selectors_and_pages() -> None:
    """Only what is given is in the query."""
    c, t = client()
    await c.list(CONFIG_MAPS)
    await c.list(CONFIG_MAPS, "ns", label_selector="a in (b,c)", limit=5, continue_token="x=")
    assert t.asked[0].path == "/api/v1/configmaps"
    assert t.asked[1].path == (
        "/api/v1/namespaces/ns/configmaps?labelSelector=a+in+%28b%2Cc%29&limit=5&continue=x%3D"
    )


async def test_a_refused_watch_raises_before_the_first_line() -> None:
    """Its answer is an error like any other."""
    c, _ = client(refused(403, "Forbidden"))
    with pytest.raises(Forbidden):
        async with c.watch(CONFIG_MAPS, parameters={}):
            pytest.fail("opened")


async def test_closing_the_client_closes_the_transport() -> None:
    """Nothing is left open."""
    c, t = client()
    async with c:
        pass
    assert t.closed
