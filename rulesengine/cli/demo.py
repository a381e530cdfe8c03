"""`rulesengine demo`: the main job in one minute, on an API server in this process.

Everything is real but the cluster: the engine is the one that `run` starts, the diff is the
one that `diff` prints. Each step shows the kubectl command that does the same.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

from rulesengine import api, runtime
from rulesengine.cli.forecasts import as_text
from rulesengine.core.errors import UsageError
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.runtime import Settings
from rulesengine.testing import Cluster, in_process

PATIENCE = 20.0  # seconds for a step that takes milliseconds; beyond it the demo says what failed

RULE = """\
apiVersion: rulesengine.dev/v1alpha1
kind: ClusterRule
metadata: {name: team-baseline}
spec:
  for:
    apiVersion: v1
    kind: Namespace
    selector: {matchLabels: {team: "true"}}
  variables:
  - name: cpu
    expression: "object.metadata.?labels[?'size'].orValue('small') == 'large' ? '16' : '4'"
  resources:
  - name: quota
    template:
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: base, namespace: "${object.metadata.name}"}
      spec: {hard: {requests.cpu: "${variables.cpu}"}}
  - name: deny
    template:
      apiVersion: networking.k8s.io/v1
      kind: NetworkPolicy
      metadata: {name: default-deny, namespace: "${object.metadata.name}"}
      spec: {podSelector: {}, policyTypes: [Ingress]}
"""

NAMESPACE = GroupVersionKind("", "v1", "Namespace")
QUOTA = GroupVersionKind("", "v1", "ResourceQuota")
POLICY = GroupVersionKind("networking.k8s.io", "v1", "NetworkPolicy")
CLUSTER_RULE = GroupVersionKind("rulesengine.dev", "v1alpha1", "ClusterRule")


def run_demo() -> int:
    """Plays every step; 0 when all of them came true."""
    return asyncio.run(_play())


async def _play() -> int:
    async with in_process() as cluster:
        engine = runtime.Engine(cluster.connection)
        running = asyncio.create_task(engine.run())
        try:
            await _steps(cluster)
        finally:
            engine.stop()
            await running
    return 0


async def _steps(cluster: Cluster) -> None:
    (rule,) = api.load_objects(RULE, "team-baseline.yaml")
    _title("Three namespaces, two of them of a team")
    _command(
        "kubectl create namespace blue && kubectl label namespace blue team=true size=large   # green, other"
    )
    for name, labels in (
        ("blue", {"team": "true", "size": "large"}),
        ("green", {"team": "true"}),
        ("other", {}),
    ):
        await cluster.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )

    _title("A rule: every namespace of a team has a quota and denies ingress")
    sys.stdout.write("".join(f"    {line}\n" for line in RULE.splitlines()))

    _title("What would it change?")
    _command("rulesengine diff team-baseline.yaml")
    models, _ = api.rules_from(RULE, "team-baseline.yaml")
    preview = await runtime.forecast(cluster.connection, models, Settings())
    sys.stdout.write("".join(f"    {line}\n" for line in as_text(preview).splitlines()))

    _title("Apply it")
    _command("kubectl apply -f team-baseline.yaml")
    await cluster.apply(rule)

    async def made(space: str) -> bool:
        return bool(
            await cluster.get(QUOTA, space, "base") and await cluster.get(POLICY, space, "default-deny")
        )

    await _until("both teams have their children", lambda: _all(made("blue"), made("green")))

    _title("Somebody loosens a quota by hand")
    _command(
        'kubectl -n blue patch resourcequota base --type=merge -p \'{"spec":{"hard":{"requests.cpu":"99"}}}\''
    )
    await cluster.patch(QUOTA, "blue", "base", {"spec": {"hard": {"requests.cpu": "99"}}})
    await _until("the quota is 16 again", lambda: _cpu(cluster, "blue", "16"))

    _title("A child is deleted, a label changes, a namespace leaves the team")
    _command("kubectl -n green delete networkpolicy default-deny")
    await cluster.delete(POLICY, "green", "default-deny")
    await _until("the policy is back", lambda: made("green"))
    _command("kubectl label namespace green size=large")
    await cluster.patch(NAMESPACE, "", "green", {"metadata": {"labels": {"size": "large"}}})
    await _until("green's quota is 16", lambda: _cpu(cluster, "green", "16"))
    _command("kubectl label namespace green team-")
    await cluster.patch(NAMESPACE, "", "green", {"metadata": {"labels": {"team": None}}})

    async def bare(space: str) -> bool:
        quota, policy = (
            await cluster.get(QUOTA, space, "base"),
            await cluster.get(POLICY, space, "default-deny"),
        )
        return quota is None and policy is None

    await _until("green has no children any more", lambda: bare("green"))

    _title("The rule goes, and takes along what it made")
    _command("kubectl delete clusterrule team-baseline")
    await cluster.delete(CLUSTER_RULE, "", "team-baseline")

    async def gone() -> bool:
        return await cluster.get(CLUSTER_RULE, "", "team-baseline") is None

    await _until("blue has no children and the rule is gone", lambda: _all(bare("blue"), gone()))
    sys.stdout.write(
        "\nThat is all. On your own cluster: rulesengine crds | kubectl apply -f - && rulesengine run\n"
    )


async def _all(*answers: Awaitable[bool]) -> bool:
    return all([await answer for answer in answers])


async def _cpu(cluster: Cluster, space: str, cpu: str) -> bool:
    quota = await cluster.get(QUOTA, space, "base")
    return quota is not None and quota["spec"]["hard"]["requests.cpu"] == cpu


async def _until(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits until it is so and says how long that took."""
    start = time.monotonic()
    while not await holds():
        if time.monotonic() - start > PATIENCE:
            raise UsageError(f"the demo failed: not within {PATIENCE:.0f} s: {what}")
        await asyncio.sleep(0.005)
    sys.stdout.write(f"    ✓ {what} ({1000 * (time.monotonic() - start):.0f} ms)\n")


def _title(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")


def _command(text: str) -> None:
    sys.stdout.write(f"  $ {text}\n")
