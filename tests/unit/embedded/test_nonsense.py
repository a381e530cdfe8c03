"""Whatever a client sends, the answer is a proper one: never an internal error."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rulesengine.core import json
from rulesengine.embedded.calls import Stream, call
from tests.unit.embedded.fakes import (
    APPLY,
    CONFIG_MAPS,
    CRDS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    WIDGETS,
    Api,
    crd,
)

KEYS = st.sampled_from(["name", "a", "spec", "labels", "$patch", "containers", "uid"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "v1", "x/y", "é"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
META = st.sampled_from(
    ["name", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "uid",
     "resourceVersion", "generateName", "deletionTimestamp", "creationTimestamp", "generation"]
)  # fmt: skip
FIELDS = st.sampled_from(
    ["spec", "data", "status", "roleRef", "subjects", "webhooks", "type", "stringData", "extra"]
)
RBAC, NETWORK = "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1"
PATHS = [
    (CONFIG_MAPS, "v1", "ConfigMap"),
    (WIDGETS, "example.com/v1", "Widget"),
    (CRDS, "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("/apis/apps/v1/namespaces/default/deployments", "apps/v1", "Deployment"),
    ("/apis/apps/v1/namespaces/default/statefulsets", "apps/v1", "StatefulSet"),
    ("/api/v1/namespaces/default/services", "v1", "Service"),
    ("/api/v1/namespaces/default/secrets", "v1", "Secret"),
    ("/api/v1/namespaces/default/pods", "v1", "Pod"),
    ("/api/v1/namespaces/default/limitranges", "v1", "LimitRange"),
    ("/api/v1/namespaces", "v1", "Namespace"),
    (f"/apis/{RBAC}/clusterrolebindings", RBAC, "ClusterRoleBinding"),
    ("/apis/batch/v1/namespaces/default/cronjobs", "batch/v1", "CronJob"),
    (f"/apis/{NETWORK}/namespaces/default/networkpolicies", NETWORK, "NetworkPolicy"),
]  # fmt: skip
KINDS = st.sampled_from(["application/json", MERGE, JSON_PATCH, STRATEGIC, APPLY])
POINTERS = st.sampled_from(["/spec", "/metadata/labels", "/a/b", ""])
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "test", "copy"]), "path": POINTERS},
        optional={"value": VALUES, "from": POINTERS},
    ),
    max_size=3,
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, Any]:
    path, version, kind = draw(st.sampled_from(PATHS))
    meta = {"name": "n", **draw(st.dictionaries(META, VALUES, max_size=2))}
    whole = {
        "apiVersion": version,
        "kind": kind,
        "metadata": meta,
        **draw(st.dictionaries(FIELDS, VALUES, max_size=3)),
    }
    return path, draw(st.just(whole) | VALUES | OPERATIONS)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(bodies(), KINDS, st.sampled_from(["POST", "PUT", "PATCH", "DELETE"])),
        min_size=1,
        max_size=4,
    )
)
def test_nonsense_never_breaks_the_server(requests: list[tuple[tuple[str, Any], str, str]]) -> None:
    """Any body, of any content type, on any verb: success or a 4xx with a Status."""
    api = Api()
    api.create(CRDS, crd())
    for (path, body), content_type, method in requests:
        where = path if method == "POST" else f"{path}/n"
        query = "?fieldManager=m&fieldValidation=Ignore" if method != "DELETE" else ""
        given_headers = {"content-type": content_type, "user-agent": "t"}
        made = api.server.handle(call(method, where + query, given_headers, json.encode(body)))
        assert not isinstance(made, Stream)
        if made.status >= 500:  # a real server says 500 to some of it, with words of its own
            assert json.decode(made.body).get("reason") != "InternalError"
