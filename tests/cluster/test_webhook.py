"""The admission webhook on a real API server, through kubectl."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from rulesengine.runtime import webhook
from tests.cluster.engine import Engine, eventually
from tests.cluster.plane import Plane, free_port


def rule(namespace: str = "${object.metadata.name}", **spec: Any) -> str:
    template = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "made", "namespace": namespace},
        "data": {"k": "v"},
    }
    source = {"apiVersion": "v1", "kind": "Namespace", "selector": {"matchLabels": {"hook": "yes"}}}
    return json.dumps(
        {
            "apiVersion": "rulesengine.dev/v1alpha1",
            "kind": "ClusterRule",
            "metadata": {"name": "hooked"},
            "spec": {"for": source, "resources": [{"name": "made", "template": template}], **spec},
        }
    )


SECRETIVE = """\
apiVersion: rulesengine.dev/v1alpha1
kind: ClusterRule
metadata: {name: secretive}
spec:
  for: {apiVersion: v1, kind: Secret, namespaces: [default]}
  resources:
  - name: c
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: c, namespace: default, annotations: {first: "${object.data.k}"}}
"""


@pytest.fixture
def hooked(plane: Plane, crds: None) -> Any:
    port = free_port()
    address = f"127.0.0.1:{port}"
    engine = Engine(plane, arguments=("--no-leader-elect", f"--webhook-address={address}"))
    body = webhook.configuration({"url": f"https://{address}{webhook.PATH}"})
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    engine.start()

    def trusted() -> bool:
        found = json.loads(plane.kubectl("get", body["kind"], webhook.NAME, "-o", "json"))
        return bool(found["webhooks"][0]["clientConfig"].get("caBundle"))

    eventually(trusted)
    yield engine
    plane.kubectl("delete", body["kind"], webhook.NAME)
    if engine.process is not None:
        engine.stop()


def test_rules_are_refused_with_checks_words_and_nothing_else_waits(plane: Plane, hooked: Engine) -> None:
    """Line, caret and fix in kubectl's output; with the webhook down everything goes on."""

    def refused() -> str:
        said = plane.kubectl("apply", "-f", "-", stdin=rule("${objct.metadata.name}"), check=False)
        if "RE202" not in said:  # the server takes a moment to read whom it may trust
            plane.kubectl("delete", "clusterrule", "hooked", "--ignore-not-found", "--timeout=20s")
            return ""
        return said

    said = eventually(refused)
    assert "denied the request" in said
    lines = said.splitlines()
    caret = next(index for index, line in enumerate(lines) if line.strip().startswith("^"))
    assert lines[caret - 1][lines[caret].index("^") :].startswith("objct")
    assert lines[caret + 1].strip() == "= did you mean object?"
    assert not plane.kubectl("get", "clusterrules", "-o", "name")

    warned = plane.kubectl("apply", "-f", "-", stdin=SECRETIVE, check=False)
    assert "Warning: warning RE336" in warned
    plane.kubectl("delete", "clusterrule", "secretive", "--timeout=20s")

    def read(path: str) -> str:
        return plane.kubectl("get", "clusterrule", "hooked", "-o", f"jsonpath={path}")

    plane.kubectl("apply", "-f", "-", stdin=rule())
    edited = plane.kubectl("apply", "-f", "-", stdin=rule("${objct.metadata.name}"), check=False)
    assert "RE202" in edited
    eventually(
        lambda: (
            "rulesengine.dev"
            in plane.kubectl("get", "clusterrule", "hooked", "-o", "jsonpath={.metadata.finalizers}")
        )
    )

    hooked.stop()
    began = time.monotonic()
    patch = '[{"op": "remove", "path": "/metadata/finalizers"}]'
    status = json.dumps({"status": {"matched": 7}})
    plane.kubectl("patch", "clusterrule", "hooked", "--subresource=status", "--type=merge", "-p", status)
    plane.kubectl("annotate", "clusterrule", "hooked", "a=b")
    plane.kubectl("patch", "clusterrule", "hooked", "--type=json", "-p", patch)
    plane.kubectl("apply", "-f", "-", stdin=rule("${objct.metadata.name}"))  # not checked, let in
    plane.kubectl("delete", "clusterrule", "hooked", "--timeout=20s")
    assert time.monotonic() - began < 10
