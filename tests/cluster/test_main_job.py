"""The main job on a real API server: what users break, and what the engine then does."""

from __future__ import annotations

import base64
import http.server
import json
import signal
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.engine import OWN_NAMESPACE, Engine, eventually
from tests.cluster.plane import Plane

Object = dict[str, Any]
NOTHING = {"created": 0, "updated": 0, "deleted": 0}

WIDGETS: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.test.example.com"},
    "spec": {
        "group": "test.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer"}, "text": {"type": "string"}},
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def config_map(entry: str, name: str, **data: str) -> Object:
    return {
        "name": entry,
        "template": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": data,
        },
    }


def rule(*resources: Object, **spec: Any) -> Object:
    source = {"apiVersion": "test.example.com/v1", "kind": "Widget", **spec.pop("source", {})}
    return {
        "apiVersion": "rulesengine.dev/v1alpha1",
        "kind": "ClusterRule",
        "metadata": {"name": spec.pop("name", "main")},
        "spec": {"for": source, "resources": list(resources), **spec},
    }


class User:
    """What a person does with kubectl in one namespace of their own."""

    def __init__(self, plane: Plane, space: str) -> None:
        self.plane = plane
        self.space = space

    def apply(self, *bodies: Object) -> None:
        self.plane.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(b) for b in bodies))

    def widget(self, name: str, labels: dict[str, str] | None = None, **spec: Any) -> None:
        meta = {"name": name, "namespace": self.space, "labels": labels or {}}
        self.apply({"apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": meta, "spec": spec})

    def data(self, name: str) -> dict[str, str]:
        return self.get("configmap", name)["data"]

    def get(self, kind: str, name: str) -> Object:
        return json.loads(self.plane.kubectl("-n", self.space, "get", kind, name, "-o", "json"))

    def names(self, kind: str = "configmap") -> set[str]:
        text = self.plane.kubectl("-n", self.space, "get", kind, "-o", "name")
        return {line.partition("/")[2] for line in text.split()} - {"kube-root-ca.crt"}

    def status(self, name: str = "main") -> Object:
        text = self.plane.kubectl("get", "clusterrule", name, "-o", "json")
        return json.loads(text).get("status", {})

    def condition(self, kind: str, name: str = "main") -> Object:
        return next(c for c in self.status(name)["conditions"] if c["type"] == kind)


@pytest.fixture
def user(plane: Plane, crds: None, request: pytest.FixtureRequest) -> Any:
    space = request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60].strip("-")
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(WIDGETS))
    plane.kubectl("wait", "--for=condition=Established", f"crd/{WIDGETS['metadata']['name']}")
    plane.kubectl("create", "ns", space)
    yield User(plane, space)
    plane.kubectl("delete", "ns", space, "--timeout=60s", "--ignore-not-found")


def diff(plane: Plane, *rules: Object) -> tuple[int, Object]:
    """Exit code and JSON of `rulesengine diff` for these rules."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "rulesengine.cli.main", "diff", "-", "-o", "json"),
            *("--kubeconfig", str(plane.folder / "engine.kubeconfig")),
        ],
        input="\n---\n".join(json.dumps(r) for r in rules),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


def summary(plane: Plane, *rules: Object) -> dict[str, int]:
    """What diff says will be created, updated and deleted."""
    _, shown = diff(plane, *rules)
    return {k: shown["summary"][k] for k in NOTHING}


def children(user: User, *names: str) -> None:
    eventually(lambda: user.names() == set(names))


def test_children_follow_their_source(user: User, engine: Engine) -> None:
    """Created, repaired, changed and removed with the source; a settled state sends nothing."""
    main = rule(config_map("c", "${object.metadata.name}-c", text="${object.spec.text}"))
    user.widget("w", text="one")
    assert summary(user.plane, main) == {**NOTHING, "created": 1}
    user.apply(main)
    eventually(lambda: user.data("w-c") == {"text": "one"})
    engine.mark()
    assert diff(user.plane, main)[0] == 0
    user.widget("w", text="two")
    eventually(lambda: user.data("w-c") == {"text": "two"})
    user.plane.kubectl("-n", user.space, "delete", "configmap", "w-c")
    eventually(lambda: user.data("w-c") == {"text": "two"})
    user.plane.kubectl("-n", user.space, "delete", "widget", "w")
    children(user)
    engine.quiet()
    assert engine.changes()["created"] == 1
    assert engine.changes()["updated"] == 1


def test_an_edit_by_hand_is_repaired_and_foreign_fields_stay(user: User, engine: Engine) -> None:
    """Only the fields that the rule states are its own."""
    user.widget("w", text="one")
    user.apply(rule(config_map("c", "c", text="${object.spec.text}")))
    eventually(lambda: user.data("c"))
    patch = json.dumps({"data": {"text": "by hand", "theirs": "kept"}})
    user.plane.kubectl("-n", user.space, "patch", "configmap", "c", "--type=merge", "-p", patch)
    eventually(lambda: user.data("c") == {"text": "one", "theirs": "kept"})


def test_a_foreign_copy_of_our_stamps_is_never_deleted(user: User, engine: Engine) -> None:
    """All labels, annotations and owner references copied prove nothing."""
    user.widget("w", text="one")
    user.apply(rule(config_map("c", "c", text="x")))
    eventually(lambda: user.data("c"))
    copy = user.get("configmap", "c")
    meta = {k: copy["metadata"][k] for k in ("labels", "annotations", "namespace")}
    copy["metadata"] = meta | {"name": "stolen"}
    user.plane.kubectl("create", "-f", "-", stdin=json.dumps(copy))
    user.plane.kubectl("delete", "clusterrule", "main", "--timeout=30s")
    children(user, "stolen")


def test_children_follow_the_rule(user: User, engine: Engine) -> None:
    """Template field changed, entry removed, object renamed, selector changed; then the rule goes."""
    user.widget("w", {"on": "yes"}, text="one")
    user.widget("v", {"on": "no"}, text="one")
    a = config_map("a", "${object.metadata.name}-a", k="1")
    b = config_map("b", "${object.metadata.name}-b", k="1")
    steps: list[tuple[Object, set[str], dict[str, int]]] = [
        (rule(a, b), {"w-a", "w-b", "v-a", "v-b"}, {**NOTHING, "created": 4}),
        (
            rule(config_map("a", "${object.metadata.name}-a", k="2"), b),
            {"w-a", "w-b", "v-a", "v-b"},
            {**NOTHING, "updated": 2},
        ),
        (
            rule(config_map("a", "${object.metadata.name}-a", k="2")),
            {"w-a", "v-a"},
            {**NOTHING, "deleted": 2},
        ),
        (
            rule(config_map("a", "${object.metadata.name}-n", k="2")),
            {"w-n", "v-n"},
            {"created": 2, "updated": 0, "deleted": 2},
        ),
        (
            rule(
                config_map("a", "${object.metadata.name}-n", k="2"),
                source={"selector": {"matchLabels": {"on": "yes"}}},
            ),
            {"w-n"},
            {**NOTHING, "deleted": 1},
        ),
    ]
    for body, names, expected in steps:
        assert summary(user.plane, body) == expected
        engine.mark()
        user.apply(body)
        children(user, *names)
        engine.quiet()
        assert engine.changes() == expected
        assert diff(user.plane, body)[0] == 0
    user.plane.kubectl("delete", "clusterrule", "main", "--timeout=30s")
    children(user)


def test_killed_while_converging_and_started_again(user: User, engine: Engine) -> None:
    """The same end state, nothing twice, and nothing to do once there."""
    user.apply(
        rule(
            config_map("a", "${object.metadata.name}-a", k="1"),
            config_map("b", "${object.metadata.name}-b", k="1"),
        )
    )
    eventually(lambda: user.condition("Ready")["status"] == "True")
    engine.mark()
    widgets = [
        {
            "apiVersion": "test.example.com/v1",
            "kind": "Widget",
            "metadata": {"name": f"w{i}", "namespace": user.space},
            "spec": {"size": i},
        }
        for i in range(100)
    ]
    user.apply(*widgets)
    eventually(lambda: len(user.names()) > 10)
    engine.stop(signal.SIGKILL)
    engine.start()
    children(user, *(f"w{i}-{x}" for i in range(100) for x in "ab"))
    engine.quiet()
    changes = engine.changes()
    assert changes["created"] == 200
    assert changes["deleted"] == 0
    engine.mark()
    engine.stop()
    engine.start()
    eventually(lambda: any(r["verb"] == "watch" for r in engine.requests()))
    engine.quiet()
    assert engine.changes() == NOTHING
    assert [r["requestURI"] for r in engine.requests() if r["verb"] not in ("get", "list", "watch")] == []
    assert len(engine.requests()) <= 20


def test_a_kind_without_crd_heals_by_itself(user: User, engine: Engine) -> None:
    """Reported on the rule; other entries go on; once the kind is served, all is well."""
    user.widget("w", text="one")
    gadget = {
        "name": "g",
        "template": {
            "apiVersion": "late.example.com/v1",
            "kind": "Gadget",
            "metadata": {"name": "${object.metadata.name}"},
        },
    }
    user.apply(rule(gadget, config_map("c", "c", k="1")))
    eventually(lambda: user.data("c"))
    eventually(lambda: "Gadget" in json.dumps(user.status()))
    crd = json.loads(json.dumps(WIDGETS).replace("test.example.com", "late.example.com"))
    crd = json.loads(json.dumps(crd).replace("widget", "gadget").replace("Widget", "Gadget"))
    user.apply(crd)
    try:
        eventually(lambda: user.names("gadgets.late.example.com") == {"w"}, 30)
        eventually(lambda: user.condition("Ready")["status"] == "True")
    finally:
        user.plane.kubectl("delete", "clusterrule", "main", "--timeout=30s")
        user.plane.kubectl("delete", "crd", "gadgets.late.example.com", "--timeout=60s")


def test_a_refusing_policy_is_reported_and_heals(user: User, engine: Engine) -> None:
    """The refused entry fails with a reason, its sibling is made, and the next edit heals it."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-red"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {"expression": "object.?data.?colour.orValue('') != 'red'", "reason": "Forbidden"}
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no-red"},
        "spec": {"policyName": "no-red", "validationActions": ["Deny"]},
    }
    user.apply(policy, binding)
    try:
        user.widget("w", text="red")
        probe = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"colour": "red"}}
        probe["metadata"] = {"name": "probe", "namespace": user.space}
        eventually(
            lambda: (
                "denied"
                in user.plane.kubectl(
                    "create", "--dry-run=server", "-f", "-", stdin=json.dumps(probe), check=False
                )
            )
        )
        user.apply(rule(config_map("red", "red", colour="${object.spec.text}"), config_map("c", "c", k="1")))
        eventually(lambda: user.data("c"))
        eventually(lambda: user.status()["failures"][0]["resource"] == "red")
        assert user.status()["failed"] == 1
        assert user.condition("Ready")["status"] == "False"
        user.widget("w", text="blue")
        eventually(lambda: user.data("red") == {"colour": "blue"})
        eventually(lambda: user.condition("Ready")["status"] == "True")
    finally:
        user.plane.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "no-red")


def test_a_namespace_being_deleted_is_waited_for(user: User, engine: Engine) -> None:
    """Children wanted in a terminating namespace wait; elsewhere work goes on; then they come."""
    other = f"{user.space}-x"[-60:].strip("-")
    user.plane.kubectl("create", "ns", other)
    held = {"name": "held", "namespace": other, "finalizers": ["test.example.com/hold"]}
    user.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": held})
    user.plane.kubectl("delete", "ns", other, "--wait=false")
    there = config_map("there", "${object.metadata.name}-there", k="1")
    there["template"]["metadata"]["namespace"] = other
    user.widget("w", text="x")
    user.apply(rule(there, config_map("here", "here", k="1")))
    eventually(lambda: user.data("here"))
    eventually(lambda: user.status()["waiting"] == 1)
    assert user.status()["failed"] == 0
    user.plane.kubectl(
        "-n",
        other,
        "patch",
        "configmap",
        "held",
        "--type=json",
        "-p",
        '[{"op":"remove","path":"/metadata/finalizers"}]',
    )
    eventually(lambda: not user.plane.kubectl("get", "ns", other, "--ignore-not-found"), 60)
    user.plane.kubectl("create", "ns", other)
    eventually(lambda: user.plane.kubectl("-n", other, "get", "configmap", "w-there", "-o", "name"), 30)
    user.plane.kubectl("delete", "clusterrule", "main", "--timeout=30s")
    user.plane.kubectl("delete", "ns", other, "--timeout=60s")


def test_dry_run_mode_counts_and_writes_nothing(user: User, engine: Engine) -> None:
    """Status shows what would be done, object by object the same as diff; Enforce then does it."""
    user.widget("w", text="one")
    body = rule(config_map("a", "a", k="1"), config_map("b", "b", k="1"), mode="DryRun")
    user.apply(body)
    eventually(lambda: user.status()["pendingCreates"] == 2)
    assert user.names() == set()
    pending = {(p["operation"], p["object"]) for p in user.status()["pending"]}
    _, shown = diff(user.plane, rule(*body["spec"]["resources"]))
    assert {(o["operation"], o["object"]) for o in shown["objects"]} == pending
    user.apply(rule(*body["spec"]["resources"]))
    children(user, "a", "b")


def test_source_status_is_written_once(user: User, engine: Engine) -> None:
    """Values and conditions stand in /status and cause no further writes."""
    user.widget("w", text="one")
    status = {
        "value": {"child": "${resources.c.metadata.name}"},
        "conditions": [
            {"type": "Made", "status": "${ready.c}", "reason": "Children", "message": "all there"}
        ],
    }
    user.apply(rule(config_map("c", "c", k="1"), sourceStatus=status))
    eventually(lambda: user.get("widget", "w")["status"]["child"] == "c")
    made = user.get("widget", "w")["status"]["conditions"][0]
    assert (made["type"], made["status"], made["reason"]) == ("Made", "True", "Children")
    engine.mark()
    user.plane.kubectl("-n", user.space, "annotate", "widget", "w", "rulesengine.dev/reconcile-at=now")
    engine.quiet()
    assert [r for r in engine.requests() if r["verb"] in ("patch", "update", "create")] == []


RIGHTS: list[Object] = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "limited-engine"},
        "rules": [
            {
                "apiGroups": ["", "events.k8s.io"],
                "resources": ["configmaps", "namespaces", "events"],
                "verbs": ["*"],
            },
            {"apiGroups": ["rulesengine.dev", "test.example.com"], "resources": ["*"], "verbs": ["*"]},
            {
                "apiGroups": ["apiextensions.k8s.io"],
                "resources": ["customresourcedefinitions"],
                "verbs": ["get", "list", "watch"],
            },
        ],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "limited-engine", "namespace": OWN_NAMESPACE},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}],
    },
]


def bound(role: Object) -> Object:
    """The binding of one of these roles to the limited engine's user."""
    kind = role["kind"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{kind}Binding",
        "metadata": role["metadata"],
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": kind, "name": role["metadata"]["name"], "apiGroup": "rbac.authorization.k8s.io"},
    }


def test_a_forbidden_kind_is_reported_and_heals(user: User) -> None:
    """What the engine may not touch is said on the rule, the rest is made, and a granted right heals."""
    user.plane.kubectl("create", "ns", OWN_NAMESPACE, check=False)
    user.apply(*RIGHTS, *map(bound, RIGHTS))
    engine = Engine(user.plane, who="alice")
    engine.start()
    try:
        secret = config_map("s", "s", text="x")
        secret["template"] |= {"kind": "Secret", "stringData": secret["template"].pop("data")}
        user.widget("w", text="x")
        user.apply(rule(secret, config_map("c", "c", k="1")))
        eventually(lambda: user.data("c"))
        eventually(lambda: user.condition("Ready")["status"] == "False")
        eventually(lambda: "forbidden" in json.dumps(user.status()).lower())
        wider = json.loads(json.dumps(RIGHTS[0]))
        wider["rules"][0]["resources"].append("secrets")
        user.apply(wider)
        eventually(lambda: user.names("secret") == {"s"}, 60)
        eventually(lambda: user.condition("Ready")["status"] == "True", 60)
        user.plane.kubectl("delete", "clusterrule", "main", "--timeout=30s")
        eventually(lambda: user.names("secret") == set())
    finally:
        engine.stop()
        user.plane.kubectl("delete", "clusterrole,clusterrolebinding", "limited-engine")
        user.plane.kubectl("-n", OWN_NAMESPACE, "delete", "role,rolebinding", "limited-engine")


class Hook:
    """A validating webhook on 127.0.0.1 that refuses ConfigMaps with colour red."""

    def __init__(self, folder: Path) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                review = json.loads(self.rfile.read(length))
                asked = review["request"]
                red = (asked["object"] or {}).get("data", {}).get("colour") == "red"
                response = {"uid": asked["uid"], "allowed": not red}
                if red:
                    response["status"] = {"code": 403, "message": "red is not to be had"}
                body = json.dumps({**review, "request": None, "response": response}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "hook.crt", folder / "hook.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.authority = base64.b64encode((folder / "hook.crt").read_bytes()).decode()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def configuration(self) -> Object:
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "no-red"},
            "webhooks": [
                {
                    "name": "no-red.test.example.com",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "clientConfig": {
                        "url": f"https://127.0.0.1:{self.server.server_port}/",
                        "caBundle": self.authority,
                    },
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE", "UPDATE"],
                            "resources": ["configmaps"],
                        }
                    ],
                }
            ],
        }


def test_a_refusing_webhook_is_reported_and_heals(user: User, engine: Engine) -> None:
    """As a policy: the entry fails with the webhook's name, its sibling is made, an edit heals it."""
    hook = Hook(user.plane.folder)
    user.apply(hook.configuration())
    try:
        user.widget("w", text="red")
        user.apply(rule(config_map("red", "red", colour="${object.spec.text}"), config_map("c", "c", k="1")))
        eventually(lambda: user.data("c"))
        eventually(lambda: user.status()["failures"][0]["resource"] == "red")
        failure = user.status()["failures"][0]
        assert failure["reason"] == "Refused"
        assert "no-red.test.example.com" in failure["message"]
        assert "to be had" not in json.dumps(user.status()), "messages of the server may quote values"
        user.widget("w", text="blue")
        eventually(lambda: user.data("red") == {"colour": "blue"})
        eventually(lambda: user.condition("Ready")["status"] == "True")
    finally:
        user.plane.kubectl("delete", "validatingwebhookconfiguration", "no-red")
        hook.server.shutdown()
        hook.server.server_close()
