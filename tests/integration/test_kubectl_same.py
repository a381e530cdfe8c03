"""Real kubectl against the embedded server says what it says against a real one.

The expectations were recorded from a real kube-apiserver by `kubectl_player.py`. What differs
on purpose stands in DIFFERENCES (and in docs/embedded.md), command by command.
"""

from __future__ import annotations

import asyncio
import difflib
from pathlib import Path

import pytest

from rulesengine import embedded
from tests.integration.kubectl_player import SCRIPTS, Player, commands, expected, find_kubectl

KINDS = "a kind or version that the embedded server does not serve"
CONTROLLERS = "made by controllers and admission plugins that do not run here"
PROSE = "the sentences of built-in schemas are left out"
WORDS = "the same refusal in other words"
WARNINGS = "deprecation warnings of built-in kinds are left out"

DIFFERENCES = {
    "api-versions": KINDS,
    "explain widget": PROSE,
    "get -n lab role,rolebinding,quota,cronjob,ingress,pdb,sa,priorityclass -l '!gone'": CONTROLLERS,
    'patch -n lab cm a -p {"data":{"x":1}}': WORDS,
    'patch -n lab deployment d --type=json -p [{"op":"replace","path":"/spec/replicas","value":"x"}]': WORDS,
    "get -n lab storageclass,ingressclass,pvc,pv,lease,limitrange,sts,ds,endpoints": WARNINGS,
    "get -n lab storageclass,pvc,lease,limitrange,sts,ds,networkpolicy -o yaml": CONTROLLERS,
    'patch -n lab pvc disk --type=merge -p {"metadata":{"finalizers":null}}': CONTROLLERS,
    "create -f - < bad.yaml": WORDS,
    "apply --server-side -f - < bad.yaml": WORDS,
}


@pytest.mark.parametrize("script", SCRIPTS)
async def test_kubectl_cannot_tell_it_from_a_real_server(script: str, tmp_path: Path) -> None:
    """Every command of the script has the same exit code and the same output."""
    kubectl = find_kubectl()
    if kubectl is None:
        pytest.skip("no kubectl of the recorded version; `make test-cluster` builds one")
    wanted, found = expected(script), []
    async with embedded.serve(kubeconfig=tmp_path / "kubeconfig") as serving:
        assert serving.kubeconfig is not None
        player = Player(kubectl, serving.kubeconfig, tmp_path)
        for number, line in enumerate(commands(script)):
            text = (await asyncio.to_thread(player.play, line)).text().rstrip("\n")
            if line not in DIFFERENCES and text != wanted[number].rstrip("\n"):
                delta = difflib.unified_diff(
                    wanted[number].splitlines(), text.splitlines(), "real", "embedded", lineterm="", n=1
                )
                found.append("\n".join(delta))
    assert not found, "\n\n".join(found)
