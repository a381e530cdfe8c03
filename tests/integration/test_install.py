"""`install` and `uninstall`: one source for three forms, least rights, and nothing left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rulesengine import api, embedded, runtime
from rulesengine.cli.uninstall import StillThere, Wish, remove_all
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.testing import Cluster, in_process
from tests.integration.test_commands import run
from tests.integration.test_engine import CONFIG_MAP, RULE, data, entry, rule, space, until

ROOT = Path(__file__).parents[2]
BASELINE = str(ROOT / "examples" / "team-baseline" / "rule.yaml")
READS_SECRETS = """\
apiVersion: rulesengine.dev/v1alpha1
kind: Rule
metadata: {name: keys, namespace: shop}
spec:
  for: {apiVersion: v1, kind: Secret}
  resources:
  - name: c
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${object.metadata.name}-c"}
      data: {k: v}
"""


def installed(*arguments: str, stdin: str = "") -> list[dict[str, Any]]:
    done = run("install", *arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return api.load_objects(done.stdout, "stdout")


def roles(objects: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    return {
        (body["metadata"].get("namespace", ""), body["metadata"]["name"]): body.get("rules", [])
        for body in objects
        if body["kind"] in ("Role", "ClusterRole")
    }


def test_the_files_of_the_project_are_what_install_writes(tmp_path: Path) -> None:
    """`make deploy` writes them anew."""
    folders = ("--kustomize", str(tmp_path / "kustomize"), "--helm", str(tmp_path / "helm" / "rulesengine"))
    done = run("install", *folders)
    assert done.returncode == 0, done.stderr
    made = {p.relative_to(tmp_path): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    kept = {
        p.relative_to(ROOT / "deploy"): p.read_text()
        for name in ("kustomize", "helm")
        for p in (ROOT / "deploy" / name).rglob("*")
        if p.is_file()
    }
    assert made == kept


def test_chart_and_base_say_what_install_prints(tmp_path: Path) -> None:
    """With the chart's own values filled in, and the release's namespace."""
    arguments = (BASELINE, "--namespace", "elsewhere", "--image", "registry/engine:1", "--replicas", "3")
    printed = installed(*arguments)
    run("install", *arguments, "--kustomize", str(tmp_path / "k"), "--helm", str(tmp_path / "h"))
    (base,) = api.load_objects((tmp_path / "k" / "kustomization.yaml").read_text(), "k")
    assert [load(tmp_path / "k" / name) for name in base["resources"]] == printed
    (values,) = api.load_objects((tmp_path / "h" / "values.yaml").read_text(), "v", any_shape=True)
    filled = []
    for path in (tmp_path / "h").glob("[ct]*/*.yaml"):
        text = path.read_text()
        for name, value in values.items():
            text = text.replace("{{ .Values.NAME }}".replace("NAME", name), str(value))
        text = text.replace("{{ .Release.Namespace }}", "elsewhere")
        assert "{{" not in text or path.parent.name == "crds"
        filled += api.load_objects(text, path.name)
    without = [body for body in printed if body["kind"] != "Namespace"]
    assert sorted(filled, key=str) == sorted(without, key=str)


def load(path: Path) -> dict[str, Any]:
    (body,) = api.load_objects(path.read_text(), path.name)
    return body


def test_rights_are_what_the_rules_need_and_no_more() -> None:
    """No Secrets but the engine's own, unless a rule reads them; those of a Rule in its namespace."""
    none = roles(installed())
    assert not any(reads(rules, "secrets") for (space, _), rules in none.items() if not space)
    assert not any(name.startswith("rulesengine-rule-") for _, name in none)
    found = roles(installed(BASELINE))["", "rulesengine-rule-team-baseline"]
    everything = {"create", "delete", "get", "list", "patch", "watch"}
    wanted = {
        ("", "namespaces"): {"get", "list", "watch"},
        ("", "namespaces/finalizers"): {"update"},
        ("", "resourcequotas"): everything,
        ("networking.k8s.io", "networkpolicies"): everything,
    }
    given = {(g, r): set(e["verbs"]) for e in found for g in e["apiGroups"] for r in e["resources"]}
    assert given == wanted
    secretive = roles(installed("-", stdin=READS_SECRETS))
    assert reads(secretive["shop", "rulesengine-rule-shop-keys"], "secrets") == {"get", "list", "watch"}
    assert not any(reads(rules, "secrets") for (space, _), rules in secretive.items() if not space)


def reads(rules: list[dict[str, Any]], resource: str) -> set[str]:
    return {verb for each in rules if resource in each["resources"] for verb in each["verbs"]}


def test_nothing_of_all_is_allowed() -> None:
    """No stars, no escalation, no impersonation, anywhere."""
    for rules in roles(installed(BASELINE)).values():
        for each in rules:
            assert "*" not in [*each["resources"], *each["verbs"], *each["apiGroups"]]
            assert not {"escalate", "bind", "impersonate"} & set(each["verbs"])


def test_a_kind_that_is_not_known_is_one_message() -> None:
    """Its plural name cannot be guessed."""
    text = (ROOT / "examples" / "web-app" / "rule.yaml").read_text()
    done = run("install", "-", stdin=text)
    assert done.returncode in (1, 2)
    assert "--schemas" in done.stderr or "RE" in done.stderr


@pytest.mark.parametrize("flags", [(), ("--keep", "--prune")])
def test_uninstall_wants_to_be_told_what_becomes_of_things(flags: tuple[str, ...]) -> None:
    """One of two."""
    done = run("uninstall", *flags)
    assert done.returncode == 2
    assert "exactly one of --keep and --prune" in done.stderr


def test_the_image_is_made_of_files_that_are_there() -> None:
    """Each COPY of the Containerfile, and the program it starts."""
    lines = (ROOT / "Containerfile").read_text().splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    sources = [name for names in copies for name in names]
    assert sources
    assert all((ROOT / name).exists() for name in sources)
    assert lines[-2] == 'ENTRYPOINT ["/opt/rulesengine/bin/rulesengine"]'
    assert any(line.startswith("USER 65532") for line in lines)


async def test_keep_leaves_what_rules_made_and_nothing_else(tmp_path: Path) -> None:
    """Released without a mark of ours; rules, CRDs, roles, webhook and namespace go."""
    config = tmp_path / "kubeconfig"
    async with embedded.serve(kubeconfig=config) as running, in_process(running.server) as cluster:
        for body in installed(BASELINE):
            await cluster.apply(body)
        await cluster.apply(space("a", on="yes"))
        await cluster.apply(rule(entry("x", "1")))
        engine = runtime.Engine(cluster.connection, runtime.Settings(status_delay=0.0))
        task = asyncio.create_task(engine.run())
        await until(data(cluster, "a", "x"))
        await remove_all(Wish(True, "rulesengine-system", 20.0, config, None))
        engine.stop()
        await asyncio.wait_for(task, 40)
        left = await cluster.get(CONFIG_MAP, "a", "x")
        assert left is not None
        assert left["data"] == {"k": "1"}
        assert not left["metadata"].get("annotations")
        assert not left["metadata"].get("labels")
        await nothing_left(cluster)


async def test_without_an_engine_nothing_is_removed(tmp_path: Path) -> None:
    """Rules that do not go stay with all that could clean up after them."""
    config = tmp_path / "kubeconfig"
    async with embedded.serve(kubeconfig=config) as running, in_process(running.server) as cluster:
        for body in installed():
            await cluster.apply(body)
        body = rule(entry("x", "1"))
        body["metadata"]["finalizers"] = ["rulesengine.dev/cleanup"]
        await cluster.apply(body)
        with pytest.raises(StillThere, match="r did not go within 1 s"):
            await remove_all(Wish(False, "rulesengine-system", 1.0, config, None))
        assert await cluster.get(RULE, "", "r")
        assert await cluster.get(
            GroupVersionKind("apps", "v1", "Deployment"), "rulesengine-system", "rulesengine"
        )


async def nothing_left(cluster: Cluster) -> None:
    rbac = "rbac.authorization.k8s.io"
    kinds = [
        GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        GroupVersionKind(rbac, "v1", "ClusterRole"),
        GroupVersionKind(rbac, "v1", "ClusterRoleBinding"),
        GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
        GroupVersionKind("", "v1", "Namespace"),
    ]

    async def gone() -> bool:
        return not [name for kind in kinds for name in await cluster.names(kind) if "rulesengine" in name]

    await until(gone)
