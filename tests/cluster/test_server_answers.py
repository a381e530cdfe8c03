"""What the real API server says to writes is what the table of answers takes it for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rulesengine.apply.answers import answer, conflicting, heard, names_object
from rulesengine.apply.writes import NO_SUCH_VERSION
from rulesengine.client import APIError, Client, connect
from rulesengine.core import json
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.reasons import Reason
from tests.cluster.plane import Plane

MANAGER = "rulesengine:ClusterRule//answers"
SECRET = "hunter2"  # stands for a value that no outcome may quote
SPACE = "answers"


def kind(group: str, version: str, name: str, plural: str, *, namespaced: bool = True) -> ResourceType:
    return ResourceType(GroupVersionKind(group, version, name), plural, namespaced=namespaced)


CONFIG_MAPS = kind("", "v1", "ConfigMap", "configmaps")
SERVICES = kind("", "v1", "Service", "services")
NAMESPACES = kind("", "v1", "Namespace", "namespaces", namespaced=False)
QUOTAS = kind("", "v1", "ResourceQuota", "resourcequotas")
PODS = kind("", "v1", "Pod", "pods")
DEPLOYMENTS = kind("apps", "v1", "Deployment", "deployments")
LEASES = kind("coordination.k8s.io", "v1", "Lease", "leases")
BINDINGS = kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
CRDS = kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
POLICIES = kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
POLICY_BINDINGS = kind(
    *("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"),
    "validatingadmissionpolicybindings",
    namespaced=False,
)
WEBHOOKS = kind(
    *("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    "validatingwebhookconfigurations",
    namespaced=False,
)
NOWHERE = kind("nowhere.example.com", "v1", "Nothing", "nothings")


def body(resource: ResourceType, name: str, namespace: str = SPACE, **more: Any) -> dict[str, Any]:
    meta = {
        "name": name,
        **({"namespace": namespace} if resource.namespaced else {}),
        **more.pop("metadata", {}),
    }
    gvk = resource.gvk
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": meta, **more}


def config_map(name: str = "x", namespace: str = SPACE, value: Any = SECRET, **more: Any) -> dict[str, Any]:
    return body(CONFIG_MAPS, name, namespace, **{"data": {"a": value}, **more})


def deployment(label: str = "a") -> dict[str, Any]:
    labels = {"app": label}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return body(DEPLOYMENTS, "d", spec={"selector": {"matchLabels": labels}, "template": pod})


@pytest.fixture
async def client(plane: Plane) -> AsyncIterator[Client]:
    async with await connect(plane.kubeconfig) as connected:
        await put(connected, NAMESPACES, body(NAMESPACES, SPACE))
        yield connected


async def put(client: Client, resource: ResourceType, wanted: dict[str, Any], **how: Any) -> dict[str, Any]:
    meta = wanted["metadata"]
    how = {"field_manager": MANAGER, **how}
    raw = await client.apply(resource, meta.get("namespace", ""), meta["name"], wanted, **how)
    return json.decode_object(raw)


async def refusal(client: Client, resource: ResourceType, wanted: dict[str, Any], **how: Any) -> Any:
    """What the engine makes of the server's refusal to take `wanted`."""
    meta, gvk = wanted["metadata"], resource.gvk
    key = ObjectKey(gvk.group, gvk.kind, meta.get("namespace", ""), meta["name"])
    with pytest.raises(APIError) as caught:
        await put(client, resource, wanted, **how)
    said = heard(caught.value, key)
    outcome = answer(said).outcome
    assert SECRET not in repr(outcome), said
    assert SECRET not in str(caught.value)
    return said, outcome


async def until_refused(client: Client, resource: ResourceType, wanted: dict[str, Any]) -> None:
    """Admission configuration takes the server a moment to notice."""
    for _ in range(100):
        try:
            await put(client, resource, wanted, dry_run=True)
        except APIError:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("never refused")


async def test_an_apply_with_a_version_nothing_has_creates_and_never_merges(client: Client) -> None:
    """Decision 0020: atomic, for built-in and custom kinds, in a dry run and with force too."""
    new = {"resourceVersion": NO_SUCH_VERSION}
    for resource, more in (
        (CONFIG_MAPS, {"data": {"a": "1"}}),
        (LEASES, {}),
        (SERVICES, {"spec": {"ports": [{"port": 80}]}}),
    ):
        wanted = body(resource, "fresh", metadata=new, **more)
        await put(client, resource, wanted, dry_run=True)
        made = await put(client, resource, wanted)
        assert made["metadata"]["resourceVersion"] != NO_SUCH_VERSION
        assert {e["manager"] for e in made["metadata"].get("managedFields", [])} <= {MANAGER}
        for how in ({}, {"force": True}, {"dry_run": True}, {"field_manager": "another"}):
            _, outcome = await refusal(client, resource, wanted, **how)
            assert outcome.reason is Reason.STALE
        raw = await client.get(resource, SPACE, "fresh")
        assert json.decode_object(raw)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_an_apply_with_a_uid_hits_that_object_or_nothing(client: Client) -> None:
    """Neither a recreated object nor an absent one."""
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("gone", metadata={"uid": "u"}))
    assert outcome.reason is Reason.STALE
    made = await put(client, CONFIG_MAPS, config_map("there"))
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("there", metadata={"uid": "u"}))
    assert outcome.reason is Reason.STALE
    same = await put(client, CONFIG_MAPS, config_map("there", metadata={"uid": made["metadata"]["uid"]}))
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_conflicts_name_managers_and_fields(client: Client) -> None:
    """Of every kind of entry the server speaks of."""
    await put(client, CONFIG_MAPS, config_map("c"), field_manager='a "quoted" manager')
    patch = {"metadata": {"labels": {"l": "1"}}}
    await client.patch(CONFIG_MAPS, SPACE, "c", patch, field_manager="kubectl-edit")
    wanted = config_map("c", value="other", metadata={"labels": {"l": "2"}})
    said, outcome = await refusal(client, CONFIG_MAPS, wanted)
    assert outcome.reason is Reason.CONFLICT
    assert sorted(conflicting(said)) == ['a \\"quoted\\" manager', "kubectl-edit"]
    assert sorted(said.fields) == [".data.a", ".metadata.labels.l"]


async def test_missing_places_are_waited_for(client: Client) -> None:
    """A namespace or kind that is not there says 404 like an absent object, and is told apart."""
    said, outcome = await refusal(client, CONFIG_MAPS, config_map("x", "no-such-namespace"))
    assert outcome.reason is Reason.NAMESPACE_MISSING
    assert not names_object(said)
    said, outcome = await refusal(client, NOWHERE, body(NOWHERE, "x"))
    assert outcome.reason is Reason.UNKNOWN_KIND
    assert not names_object(said)
    with pytest.raises(APIError) as caught:
        await client.delete(CONFIG_MAPS, SPACE, "absent")
    assert names_object(heard(caught.value, ObjectKey("", "ConfigMap", SPACE, "absent")))


async def test_a_namespace_that_is_being_deleted_is_waited_for(client: Client) -> None:
    """Creations there are forbidden, and that is no matter of rights."""
    await put(client, NAMESPACES, body(NAMESPACES, "going"))
    await put(client, CONFIG_MAPS, config_map("held", "going", metadata={"finalizers": ["example.com/held"]}))
    await client.delete(NAMESPACES, "", "going")
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("x", "going"))
    assert outcome.reason is Reason.NAMESPACE_TERMINATING
    await client.patch(CONFIG_MAPS, "going", "held", {"metadata": {"finalizers": None}})


async def test_what_cannot_change_is_told_from_what_is_wrong(client: Client) -> None:
    """Immutable fields come as several reasons and words."""
    await put(client, CONFIG_MAPS, config_map("frozen", immutable=True))
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("frozen", value="new", immutable=True))
    assert (outcome.reason, outcome.field) == (Reason.IMMUTABLE_FIELD, "data")
    await put(client, DEPLOYMENTS, deployment())
    _, outcome = await refusal(client, DEPLOYMENTS, deployment("b"))
    assert (outcome.reason, outcome.field) == (Reason.IMMUTABLE_FIELD, "spec.selector")
    service = body(SERVICES, "s", spec={"ports": [{"port": 80}]})
    await put(client, SERVICES, service)
    service["spec"]["clusterIP"] = "10.0.0.77"
    _, outcome = await refusal(client, SERVICES, service, force=True)
    assert outcome.reason is Reason.IMMUTABLE_FIELD
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    await put(client, BINDINGS, body(BINDINGS, "b", roleRef=role))
    _, outcome = await refusal(client, BINDINGS, body(BINDINGS, "b", roleRef={**role, "name": "r2"}))
    assert (outcome.reason, outcome.field) == (Reason.IMMUTABLE_FIELD, "roleRef")
    empty = body(DEPLOYMENTS, "d", spec={})
    _, outcome = await refusal(client, DEPLOYMENTS, empty)
    assert outcome.reason is Reason.INVALID


async def test_invalid_objects_name_the_field(client: Client) -> None:
    """Wrong types and duplicates come as 500 without causes; the field is found all the same."""
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("t", value=1))
    assert (outcome.reason, outcome.field) == (Reason.INVALID, ".data.a")
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("t", unknownField=SECRET))
    assert (outcome.reason, outcome.field) == (Reason.INVALID, ".unknownField")
    port = {"port": 80, "protocol": "TCP"}
    _, outcome = await refusal(client, SERVICES, body(SERVICES, "dup", spec={"ports": [port, port]}))
    assert (outcome.reason, outcome.field) == (Reason.INVALID, ".spec.ports")
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("Upper_Case"))
    assert (outcome.reason, outcome.field) == (Reason.INVALID, "metadata.name")
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("big", value="x" * 1_100_000))
    assert outcome.reason is Reason.INVALID
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("huge", value="x" * 3_500_000))
    assert outcome.reason is Reason.INVALID


async def test_custom_resources_are_answered_like_built_in_ones(client: Client) -> None:
    """Types, validation rules, and a CRD that is dying while its objects remain."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "s": {"type": "string", "maxLength": 3}},
            }
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Answer", "plural": "answers"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    await put(client, CRDS, body(CRDS, "answers.example.com", spec=spec))
    things = kind("example.com", "v1", "Answer", "answers")
    for _ in range(100):
        try:
            await put(
                client,
                things,
                body(things, "a", spec={"n": 1}, metadata={"finalizers": ["example.com/held"]}),
            )
            break
        except APIError:
            await asyncio.sleep(0.1)
    _, outcome = await refusal(client, things, body(things, "a", spec={"n": SECRET}))
    assert (outcome.reason, outcome.field) == (Reason.INVALID, ".spec.n")
    _, outcome = await refusal(client, things, body(things, "b", spec={"s": SECRET}))
    assert (outcome.reason, outcome.field) == (Reason.INVALID, "spec.s")
    fresh = body(things, "new", metadata={"resourceVersion": NO_SUCH_VERSION})
    await put(client, things, fresh)
    _, outcome = await refusal(client, things, fresh)
    assert outcome.reason is Reason.STALE
    await client.delete(CRDS, "", "answers.example.com")
    await until_refused(client, things, body(things, "late"))
    _, outcome = await refusal(client, things, body(things, "late"))
    assert outcome.reason is Reason.UNKNOWN_KIND
    await client.patch(things, SPACE, "a", {"metadata": {"finalizers": None}})


async def test_rights_quotas_and_policies_are_told_apart(client: Client, plane: Plane) -> None:
    """All of them say 403 or 422 Forbidden."""
    async with await connect(plane.folder / "alice.kubeconfig") as alice:
        _, outcome = await refusal(alice, CONFIG_MAPS, config_map())
        assert outcome.reason is Reason.FORBIDDEN
    await put(
        client,
        NAMESPACES,
        body(NAMESPACES, "tight", metadata={"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}),
    )
    await put(client, QUOTAS, body(QUOTAS, "q", "tight", spec={"hard": {"count/configmaps": "0"}}))
    counted = {"hard": {"count/configmaps": "0"}, "used": {"count/configmaps": "0"}}  # as its controller does
    await client.patch(QUOTAS, "tight", "q", {"status": counted}, subresource="status")
    await until_refused(client, CONFIG_MAPS, config_map("x", "tight"))
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("x", "tight"))
    assert outcome.reason is Reason.REFUSED
    assert "quota q" in outcome.message
    pod = body(PODS, "p", "tight", spec={"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]})
    _, outcome = await refusal(client, PODS, pod)
    assert outcome.reason is Reason.REFUSED


async def test_policies_and_webhooks_that_refuse_or_are_down(client: Client) -> None:
    """A refusal is a failure that names who; a webhook that does not answer is waited for."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    validation = {"expression": "!object.metadata.name.startsWith('no-')", "message": f"no {SECRET}"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    await put(client, POLICIES, body(POLICIES, "no.example.com", spec=spec))
    binding = {"policyName": "no.example.com", "validationActions": ["Deny"]}
    await put(client, POLICY_BINDINGS, body(POLICY_BINDINGS, "no.example.com", spec=binding))
    await until_refused(client, CONFIG_MAPS, config_map("no-x"))
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("no-x"))
    await client.delete(POLICY_BINDINGS, "", "no.example.com")
    await client.delete(POLICIES, "", "no.example.com")
    assert outcome.reason is Reason.REFUSED
    assert "no.example.com" in outcome.message

    hook = {
        "name": "down.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SPACE}},
        "rules": [rule],
    }
    await put(client, WEBHOOKS, body(WEBHOOKS, "down", webhooks=[hook]))
    try:
        await until_refused(client, CONFIG_MAPS, config_map("hooked"))
        _, outcome = await refusal(client, CONFIG_MAPS, config_map("hooked"))
    finally:
        await client.delete(WEBHOOKS, "", "down")
    assert outcome.reason is Reason.UNAVAILABLE
    assert "down.example.com" in outcome.on


async def test_deletes_with_preconditions_spare_what_changed(client: Client) -> None:
    """Another uid or resourceVersion: looked at again."""
    made = await put(client, CONFIG_MAPS, config_map("precious"))
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    key = ObjectKey("", "ConfigMap", SPACE, "precious")
    for preconditions in (
        {"uid": "other", "resource_version": version},
        {"uid": uid, "resource_version": "3"},
    ):
        with pytest.raises(APIError) as caught:
            await client.delete(CONFIG_MAPS, SPACE, "precious", **preconditions)
        assert answer(heard(caught.value, key)).outcome.reason is Reason.STALE
    await client.delete(CONFIG_MAPS, SPACE, "precious", uid=uid, resource_version=version)


async def test_a_name_that_would_address_something_else_is_not_sent(client: Client) -> None:
    """The client refuses it; that is a mistake of the rule, not of the server."""
    _, outcome = await refusal(client, CONFIG_MAPS, config_map("a/status"))
    assert outcome.reason is Reason.INVALID
