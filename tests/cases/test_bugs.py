"""Faults that a case file cannot show: they need another process or engine, many objects, or a count."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rulesengine import runtime
from rulesengine.core.keys import Request, RuleKey
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.testing import embedded_stage, read_case
from rulesengine.testing.running import IN_PROCESS, Running
from rulesengine.testing.wire import Wire

Object = dict[str, Any]
HERE = Path(__file__).parent
HEAD = """\
rules:
- apiVersion: rulesengine.dev/v1alpha1
  kind: ClusterRule
  metadata: {name: twins}
  spec:
    for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {twin: "yes"}}}
    resources:
    - name: twin
      template: {apiVersion: v1, kind: Secret, metadata: {name: "${object.metadata.name}"}, stringData: {k: "${object.data.k}"}}
state:
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
steps: []
"""
SECRET = GroupVersionKind("", "v1", "Secret")


def source(name: str, **data: str) -> Object:
    meta = {"name": name, "namespace": "a", "labels": {"twin": "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


async def begin(stage: Any, text: str) -> None:
    """State and rules of a case in place, and an engine at work that has settled."""
    case = read_case(text, "case.yaml")
    for body in (*case.state, *(rule.value for rule in case.rules)):
        await stage.user.make(body)
    await stage.running.start()
    await stage.running.settle()


async def secrets(stage: Any) -> list[str]:
    found = await stage.user.all_of(SECRET)
    return [o["metadata"]["name"] for o in found if o["metadata"].get("namespace") == "a"]


def test_b10_five_hash_seeds_render_the_same_bytes(tmp_path: Path) -> None:
    """B10: env made of a map's keys, in five processes."""
    rule = tmp_path / "rule.yaml"
    rule.write_text(
        HEAD.split("state:", maxsplit=1)[0]
        .removeprefix("rules:\n- ")
        .replace("\n  ", "\n")
        .replace(
            'stringData: {k: "${object.data.k}"}', 'stringData: "${object.data.transformMap(k, v, k + v)}"'
        )
        .replace(
            'name: "${object.metadata.name}"',
            "name: x, annotations: {all: \"${object.data.map(k, k).join(',')}\"}",
        )
    )
    (tmp_path / "object.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s, labels: {twin: 'yes'}}\n"
        "data: {zeta: '1', alpha: '2', middle: '3', b2: '4', b10: '5'}\n"
    )
    outputs = set()
    for seed in range(5):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "rulesengine.cli.main",
                "render",
                str(rule),
                "--object",
                str(tmp_path / "object.yaml"),
            ],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        )
        outputs.add(done.stdout)
    (output,) = outputs
    assert b"zeta" in output


async def test_b50_children_go_in_reverse_order() -> None:
    """B50: what reads another goes before it, when the rule goes."""
    text = HEAD.replace(
        "state:",
        """\
    - name: reader
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${resources.twin.metadata.name}-reader"}}
    - name: last
      template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${resources.reader.metadata.name}"}}
state:""",
    )
    case = read_case(text, "case.yaml")
    async with embedded_stage(case) as stage:
        await begin(stage, text)
        await stage.user.make(source("s", k="v"))
        await stage.running.settle()
        assert [str(write) for write in stage.wire.writes] == [
            "create Secret a/s",
            "create ConfigMap a/s-reader",
            "create ServiceAccount a/s-reader",
        ]
        stage.wire.mark()
        await stage.user.remove(case.rules[0].value)
        await stage.running.settle()
        assert [str(write) for write in stage.wire.writes] == [
            "delete ServiceAccount a/s-reader",
            "delete ConfigMap a/s-reader",
            "delete Secret a/s",
        ]
        await stage.running.stop()


async def test_b50_an_object_made_anew_is_not_deleted_by_name() -> None:
    """B50: between the decision and the delete somebody makes it anew; it is another object."""
    case = read_case(HEAD, "case.yaml")
    async with embedded_stage(case) as stage:
        await begin(stage, HEAD)
        await stage.user.make(source("s", k="v"))
        await stage.running.settle()
        twin = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}}
        inner = stage.wire._inner
        seen: list[bytes] = []

        class Between:
            server = inner.server
            stream = inner.stream
            close = inner.close

            async def request(
                self, method: str, path: str, headers: Any, body: bytes | None, seconds: float
            ) -> Any:
                if method == "DELETE" and path.endswith("/secrets/s") and not seen:
                    seen.append(body or b"")
                    await stage.user.remove(twin)
                    await stage.user.make(twin | {"data": {"theirs": "eA=="}})
                return await inner.request(method, path, headers, body, seconds)

        stage.wire._inner = Between()
        unlabelled = {"name": "s", "namespace": "a", "labels": {"twin": "no"}}
        await stage.user.make(source("s") | {"metadata": unlabelled})  # no twin is wanted any more
        await stage.running.settle()
        found = await stage.user.get(twin)
        assert found is not None
        assert found["data"] == {"theirs": "eA=="}
        assert b'"uid"' in seen[0]
        await stage.running.stop()


async def test_b52_a_clean_up_that_was_cut_off_goes_on() -> None:
    """B52: killed after 40 of 100 removals; another engine removes the rest and lets the rule go."""
    case = read_case(HEAD, "case.yaml")
    async with embedded_stage(case) as stage:
        await begin(stage, HEAD)
        for number in range(100):
            await stage.user.make(source(f"s{number:02}", k="v"))
        await stage.running.settle()
        assert len(await secrets(stage)) == 100
        stage.wire.mark()
        await stage.user.remove(case.rules[0].value)
        for _ in range(100_000):
            if stage.wire.counts()["deleted"] >= 40:
                break
            await asyncio.sleep(0)
        engine, task = stage.running.engine, stage.running.task
        engine.stop()
        engine.stop()  # at once: what is under way is cut off
        await task
        left = len(await secrets(stage))
        assert 0 < left <= 60
        stage.wire.forget_watches()
        await stage.running.start()
        await stage.running.settle()
        assert await secrets(stage) == []
        assert await stage.user.get(case.rules[0].value) is None
        await stage.running.stop()


async def test_b58_nothing_is_tried_while_a_namespace_is_missing() -> None:
    """B58: at most three attempts, and none while time passes."""
    text = HEAD.replace('metadata: {name: "${object.metadata.name}"}', "metadata: {name: x, namespace: late}")
    case = read_case(text, "case.yaml")
    async with embedded_stage(case) as stage:
        await begin(stage, text)
        await stage.user.make(source("s", k="v"))
        await stage.running.settle()
        stage.running.advance(300)
        await stage.running.settle()
        assert 1 <= len(stage.wire.writes) <= 3
        await stage.running.stop()


def test_b59_a_hundred_thousand_events_on_ten_objects_are_ten_work_items() -> None:
    """B59: the queue holds each once."""
    queue = runtime.Queue(runtime_clock())
    rule = RuleKey("ClusterRule", "", "r")
    for number in range(100_000):
        queue.add(Request(rule, "a", f"s{number % 10}"))
    assert queue.ready == 10


def runtime_clock() -> Any:
    from rulesengine.core.clock import SystemClock

    return SystemClock()


async def test_b59_what_no_rule_reads_wakes_nobody() -> None:
    """B59: a hot Lease and a hot ConfigMap that is no source cost no pass and no request."""
    case = read_case(HEAD, "case.yaml")
    async with embedded_stage(case) as stage:
        await begin(stage, HEAD)
        await stage.user.make(source("s", k="v"))
        await stage.running.settle()
        stage.wire.mark()
        passes = 0
        engine = stage.running.engine
        run = engine.workers._run

        async def counted(request: Request) -> Any:
            nonlocal passes
            passes += 1
            return await run(request)

        engine.workers._run = counted
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "hot", "namespace": "a"},
        }
        other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hot", "namespace": "a"}}
        for number in range(200):
            await stage.user.make(lease | {"spec": {"leaseTransitions": number}})
            await stage.user.make(other | {"data": {"n": str(number)}})
        await stage.running.settle()
        assert passes == 0
        assert stage.wire.writes == []
        await stage.running.stop()


async def test_b61_large_secrets() -> None:
    """B61: 300 KiB are copied, and stand in no annotation."""
    import base64

    text = HEAD.replace("kind: ConfigMap, selector", "kind: Secret, selector").replace(
        'metadata: {name: "${object.metadata.name}"}, stringData: {k: "${object.data.k}"}',
        'metadata: {name: "${object.metadata.name}-copy"}, data: "${object.data}"',
    )
    case = read_case(text, "case.yaml")
    large = base64.b64encode(bytes(range(256)) * 1200).decode()
    async with embedded_stage(case) as stage:
        await begin(stage, text)
        body = source("s", k=large) | {"kind": "Secret"}
        await stage.user.make(body)
        await stage.running.settle()
        found = await stage.user.get({**body, "metadata": {"name": "s-copy", "namespace": "a"}})
        assert found is not None
        assert found["data"] == {"k": large}
        assert all(len(value) < 2000 for value in found["metadata"]["annotations"].values())
        await stage.running.restart()
        stage.wire.mark()
        await stage.running.settle()
        assert stage.wire.writes == []
        await stage.running.stop()


async def test_b64_two_engines_do_not_fight() -> None:
    """B64: with no lease between them they make the same objects once, and stay still; one may go."""
    case = read_case(HEAD, "case.yaml")
    async with embedded_stage(case) as stage:
        await begin(stage, HEAD)
        wires: list[Wire] = []

        def wrap(inner: Any) -> Wire:
            wires.append(Wire(inner, "rulesengine-system"))
            return wires[0]

        connection = stage.connection.through(wrap)
        second = Running(connection, wires[0], stage.running.clock, IN_PROCESS)
        await second.start()
        for number in range(20):
            await stage.user.make(source(f"s{number}", k="v"))
        for _ in range(3):
            await stage.running.settle()
            await second.settle()
        assert len(await secrets(stage)) == 20
        for wire in (stage.wire, wires[0]):
            wire.mark()
        stage.running.advance(30)
        await stage.running.settle()
        await second.settle()
        assert [
            w for wire in (stage.wire, wires[0]) for w in wire.writes if w.what not in ("", "status")
        ] == []
        await stage.running.stop()
        await stage.user.make(source("after", k="v"))
        await second.settle()
        assert len(await secrets(stage)) == 21
        await second.stop()
