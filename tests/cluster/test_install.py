"""What `install` prints, applied to a real server; the engine with a token of that ServiceAccount."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rulesengine import api
from tests.cluster.engine import Engine, eventually
from tests.cluster.plane import SERVICE_ACCOUNT, Plane

SPACE = "rulesengine-system"
BASELINE = Path(__file__).parents[2] / "examples" / "team-baseline" / "rule.yaml"
COPIES = """\
apiVersion: rulesengine.dev/v1alpha1
kind: ClusterRule
metadata: {name: notes}
spec:
  for:
    apiVersion: v1
    kind: Namespace
    selector: {matchLabels: {team: "true"}}
  resources:
  - name: note
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: note, namespace: "${object.metadata.name}"}
      data: {k: v}
"""


def command(*arguments: str) -> str:
    line = [sys.executable, "-m", "rulesengine.cli.main", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def rules(tmp_path: Path) -> list[str]:
    (tmp_path / "notes.yaml").write_text(COPIES)
    return [str(BASELINE), str(tmp_path / "notes.yaml")]


def by_token(plane: Plane) -> Engine:
    """An engine that is who the Deployment's pods would be."""
    config = json.loads((plane.folder / "engine.kubeconfig").read_text())
    token = plane.kubectl("create", "token", "rulesengine", "-n", SPACE).strip()
    config["users"][0]["user"] = {"token": token}
    file = plane.folder / "pod.kubeconfig"
    file.write_text(json.dumps(config))
    return Engine(plane, "pod", ("--webhook-address=127.0.0.1:0",), config=file)


def forbidden(plane: Plane) -> list[str]:
    return [
        f"{record['verb']} {record['requestURI']}"
        for record in plane.requests()[0]
        if record["user"]["username"] == SERVICE_ACCOUNT and record["responseStatus"]["code"] == 403
    ]


def condition(plane: Plane, name: str, kind: str = "Ready") -> dict[str, Any]:
    body = json.loads(plane.kubectl("get", "clusterrule", name, "-o", "json"))
    return next(c for c in body["status"]["conditions"] if c["type"] == kind)


def may(plane: Plane, verb: str, resource: str) -> bool:
    answer = plane.kubectl(
        "auth", "can-i", verb, resource, "-n", "default", f"--as={SERVICE_ACCOUNT}", check=False
    )
    return answer.startswith("yes")


def made(plane: Plane, space: str) -> list[str]:
    kinds = "resourcequotas,networkpolicies,configmaps"
    names = plane.kubectl("get", kinds, "-n", space, "-o", "name").splitlines()
    return sorted(name.partition("/")[2] for name in names if "kube-root-ca" not in name)


def space(plane: Plane, name: str) -> None:
    plane.kubectl("create", "namespace", name)
    plane.kubectl("label", "namespace", name, "team=true")


def test_least_rights_are_enough_and_one_less_is_told_of(plane: Plane, rules: list[str]) -> None:
    """Nothing forbidden; a right taken away stops that rule alone; uninstall leaves nothing."""
    text = command("install", *rules)
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    for crd in ("clusterrules", "rules"):
        plane.kubectl("wait", "--for=condition=Established", f"crd/{crd}.rulesengine.dev", "--timeout=30s")
    assert not may(plane, "get", "secrets")
    assert not may(plane, "create", "clusterroles")
    eventually(lambda: may(plane, "create", "resourcequotas"))
    engine = by_token(plane)
    engine.start()
    try:
        work(plane, rules)
        assert forbidden(plane) == []
        one_less(plane, text)
        plane.kubectl("create", "configmap", "foreign", "-n", "blue")
        command("uninstall", "--prune", "--kubeconfig", str(plane.kubeconfig))
    finally:
        engine.stop()
    kinds = "crd,clusterrole,clusterrolebinding,validatingwebhookconfiguration,role,rolebinding,deployment"
    left = plane.kubectl("get", kinds, "-A", "-o", "name").splitlines()
    assert [name for name in left if "rulesengine" in name] == []
    eventually(lambda: "NotFound" in plane.kubectl("get", "namespace", SPACE, check=False))
    assert made(plane, "blue") == ["foreign"]
    assert made(plane, "green") == []


def work(plane: Plane, rules: list[str]) -> None:
    """Made, repaired, and said to be ready."""
    for file in rules:
        plane.kubectl("apply", "-f", file)
    space(plane, "blue")
    eventually(lambda: made(plane, "blue") == ["base", "default-deny", "note"])
    plane.kubectl("patch", "configmap", "note", "-n", "blue", "--type=merge", "-p", '{"data":{"k":"x"}}')
    read = ("get", "configmap", "note", "-n", "blue", "-o", "jsonpath={.data.k}")
    eventually(lambda: plane.kubectl(*read) == "v")
    for name in ("team-baseline", "notes"):
        eventually(lambda name=name: condition(plane, name)["status"] == "True")


def one_less(plane: Plane, text: str) -> None:
    """The rights of one rule are taken away, and given back."""
    name = "rulesengine-rule-notes"
    (role,) = [b for b in api.load_objects(text, "install") if b["metadata"]["name"] == name]
    plane.kubectl("delete", "clusterrole", name)
    eventually(lambda: not may(plane, "patch", "configmaps"))
    space(plane, "green")
    eventually(lambda: made(plane, "green") == ["base", "default-deny"])
    eventually(lambda: condition(plane, "notes")["status"] == "False")
    status = json.loads(plane.kubectl("get", "clusterrule", "notes", "-o", "json"))["status"]
    reasons = [condition(plane, "notes")["reason"], *(f["reason"] for f in status.get("failures", ()))]
    assert "Forbidden" in reasons
    assert condition(plane, "team-baseline")["status"] == "True"
    assert all("configmaps" in request for request in forbidden(plane))
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(role))
    eventually(lambda: made(plane, "green") == ["base", "default-deny", "note"], 60)


def test_the_kustomize_base_applies(plane: Plane) -> None:
    """As kubectl builds it; the server takes every object."""
    base = Path(__file__).parents[2] / "deploy" / "kustomize"
    said = plane.kubectl("apply", "--server-side", "-k", str(base))
    assert "deployment.apps/rulesengine serverside-applied" in said
