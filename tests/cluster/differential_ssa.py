"""Server-side apply compared with a real API server, operation by operation.

    python -m tests.cluster.differential_ssa KUBECONFIG [OPERATIONS] [SEED]

Random applies (several managers, with and without force), merge patches and deletes over
ConfigMaps, Deployments, Services and custom resources with every kind of list. Before each
one the answer is computed from the object as the server last showed it; then body,
managedFields, conflict text and whether resourceVersion moved are compared. A verdict
"no-op" of the local check must never meet a moved resourceVersion. No controllers but the
garbage collector may run beside it.
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rulesengine import ssa
from rulesengine.core.json import same
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.ssa.compare import equal
from rulesengine.ssa.managers import without_managers
from tests.cluster.ssa_answers import (
    bare,
    contained,
    entries,
    lines,
    moved_at,
    patched,
    same_conflict,
    untimed,
    without_empty,
)
from tests.cluster.ssa_kinds import OWNERS, Target, over, part, status, targets, with_nulls
from tests.cluster.ssa_thing import crd

Value = Any
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
MANAGERS = ("alice", "bob", "carol", "kubectl")


class Server:
    """Requests over one connection."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        self._host = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
        self._tls = ssl.create_default_context(
            cafile=config["clusters"][0]["cluster"]["certificate-authority"]
        )
        self._token = config["users"][0]["user"]["token"]
        self._connection: http.client.HTTPSConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def send(
        self, method: str, path: str, body: Value = None, kind: str = "application/json"
    ) -> tuple[int, Value]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(self._host, context=self._tls, timeout=30)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        self._connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self._connection.getresponse()
        raw = answer.read()
        return answer.status, json.loads(raw) if raw[:1] == b"{" else raw.decode()


@dataclass
class Report:
    """Counts, and every difference with what led to it."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[dict[str, Value]] = field(default_factory=list)

    def __str__(self) -> str:
        counted = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"{counted}; {len(self.differences)} differences"


class Run:
    """One object of one kind, changed again and again."""

    def __init__(self, server: Server, target: Target, name: str, rng: random.Random, report: Report) -> None:
        self.server, self.target, self.name, self.rng, self.report = server, target, name, rng, report
        self.live: Value = None
        self.configs: dict[tuple[str, str], Value] = {}

    def step(self) -> None:
        dice = self.rng.random()
        if self.live is None or dice < 0.62:
            self.apply()
        elif dice < 0.82:
            self.merge()
        elif dice < 0.90:
            self.apply(subresource="status") if self.target.has_status else self.merge()
        elif dice < 0.93:
            self.reset()
        elif dice < 0.98:
            self.merge(subresource="status") if self.target.has_status else self.apply()
        else:
            self.delete()

    # --- operations ---

    def apply(self, subresource: str = "") -> None:
        manager, force = self.rng.choice(MANAGERS), self.rng.random() < 0.5
        version = self.rng.choice(list(self.target.versions))
        known = self.configs.get((manager, subresource))
        if known is not None and self.rng.random() < 0.35:
            body = known  # again: nothing should happen, unless others were here
        elif subresource:
            body = {"status": status(self.rng, self.target)}
        elif self.live is None or self.target.name == "Thing" or self.rng.random() < 0.3:
            body = self.target.make(self.rng)
            body = over(self.target.identity, body) if self.live is None else body
        else:
            body = part(self.rng, self.target.make(self.rng), 0.8)
        self.configs[manager, subresource] = body
        meta = {**body.get("metadata", {}), "name": self.name}
        config = {"apiVersion": version, "kind": self.target.name, **body, "metadata": meta}
        now = datetime.now(UTC)
        query = {"fieldManager": manager, "force": str(force).lower()}
        before = self._as(version)
        code, answer = self.server.send(
            "PATCH", self.target.url(version, self.name, subresource, **query), config, APPLY
        )
        expected = self._expected(before, config, manager, force, now, subresource, answer)
        self._no_op(before, config, manager, subresource, code, answer)
        what = {
            "verb": "apply",
            "manager": manager,
            "force": force,
            "config": config,
            "subresource": subresource,
        }
        self._judge(what, before, code, answer, expected)

    def merge(self, subresource: str = "") -> None:
        manager, version = self.rng.choice(MANAGERS), self.rng.choice(list(self.target.versions))
        body = (
            {"status": status(self.rng, self.target)}
            if subresource
            else part(self.rng, self.target.make(self.rng), 0.6)
        )
        patch = with_nulls(self.rng, body)
        before = self._as(version)
        self._patch(before, patch, manager, version, subresource)

    def reset(self) -> None:
        """Nobody owns anything any more; the next apply finds an object from before."""
        version = self.rng.choice(list(self.target.versions))
        self._patch(
            self._as(version),
            {"metadata": {"managedFields": self.rng.choice([[], [{}]])}},
            "bob",
            version,
            "",
        )

    def _patch(self, before: Value, patch: Value, manager: str, version: str, subresource: str) -> None:
        now = datetime.now(UTC)
        url = self.target.url(version, self.name, subresource, fieldManager=manager)
        code, answer = self.server.send("PATCH", url, patch, MERGE)
        expected: Value = None
        if code == 200:
            given = patch.get("metadata", {}).get("managedFields")
            listed = before["metadata"].get("managedFields") if given is None else given
            after = without_managers(answer)
            if not subresource and "status" in patch:  # restored later, and compared before that
                kept = {key: each for key, each in before.items() if key == "status"}
                rest = {key: each for key, each in after.items() if key != "status"}
                after = rest | patched(kept, {"status": patch["status"]})
            if listed is not None:
                after = after | {"metadata": {**after["metadata"], "managedFields": listed}}
            expected = ssa.update(
                *(self.target.versions[version], before, after),
                manager=manager,
                now=moved_at(before, answer, now),
                subresource=subresource,
                reset=self._reset(subresource),
                versions=self.target.versions,
            )
        self._judge(
            {"verb": "merge", "manager": manager, "patch": patch, "subresource": subresource},
            before,
            code,
            answer,
            expected,
        )

    def delete(self) -> None:
        version = next(iter(self.target.versions))
        self.server.send(
            "PATCH", self.target.url(version, self.name), {"metadata": {"finalizers": None}}, MERGE
        )
        self.server.send("DELETE", self.target.url(version, self.name))
        code, _ = self.server.send("GET", self.target.url(version, self.name))
        assert code == 404, "the object did not go"
        self.live = None
        self.configs.clear()
        self.report.counts["delete"] += 1

    # --- what is expected and what came ---

    def _as(self, version: str) -> Value:
        return None if self.live is None else {**self.live, "apiVersion": version}

    def _reset(self, subresource: str) -> ssa.FieldSet:
        kind = GroupVersionKind.parse(next(iter(self.target.versions)), self.target.name).group_kind
        return ssa.resets(kind, subresource, has_status=self.target.has_status)

    def _expected(
        self,
        before: Value,
        config: Value,
        manager: str,
        force: bool,
        now: datetime,
        subresource: str,
        answer: Value,
    ) -> Value:
        try:
            return ssa.apply(
                *(self.target.versions[config["apiVersion"]], before, config),
                manager=manager,
                force=force,
                now=moved_at(before, answer, now),
                subresource=subresource,
                reset=self._reset(subresource),
                versions=self.target.versions,
            )
        except ssa.InvalidConfig as error:
            return error

    def _no_op(
        self, before: Value, config: Value, manager: str, subresource: str, code: int, answer: Value
    ) -> None:
        if before is None or code != 200:
            moved = code != 409
            if before is None or not moved:
                verdict = before is not None and self._verdict(before, config, manager, subresource)
                assert not verdict, "no-op, but the server sees conflicts"
            return
        moved = answer["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
        verdict = self._verdict(before, config, manager, subresource)
        if verdict and moved:
            self._differ(
                "no-op verdict, but it moved", before=before, config=config, manager=manager, answer=answer
            )
        if not moved:
            why = self._why(before, config, manager, subresource)
            self.report.counts["no-op seen" if verdict else "no-op missed"] += 1
            self.report.counts["no-op missed: " + why] += 0 if verdict else 1

    def _verdict(self, before: Value, config: Value, manager: str, subresource: str) -> bool:
        schema = self.target.versions[config["apiVersion"]]
        prepared = ssa.prepare(schema, config, reset=self._reset(subresource))
        return ssa.unchanged(prepared, schema, before, manager, subresource)

    def _why(self, before: Value, config: Value, manager: str, subresource: str) -> str:
        """Why a no-op cannot be seen without asking."""
        mine = ssa.entry(before, manager, subresource)
        schema = self.target.versions[config["apiVersion"]]
        prepared = ssa.prepare(schema, config, reset=self._reset(subresource))
        if mine is None:
            return "nothing owned"
        if any(each["manager"] == "before-first-apply" for each in entries(before)):
            return "before-first-apply"
        if prepared.plan is None:
            return "inconclusive"
        return "rewritten by the server" if mine["fieldsV1"] == prepared.fields.tree else "other fields"

    def _judge(self, what: Value, before: Value, code: int, answer: Value, expected: Value) -> None:
        self.report.counts[f"{what['verb']} {code}"] += 1
        said: str | None = None
        if isinstance(expected, ssa.InvalidConfig):
            if code != expected.status or lines(answer["message"]) != lines(str(expected)):
                said = "another refusal"
        elif isinstance(expected, ssa.Conflicted):
            if code != 409 or not same_conflict(answer, expected):
                said = "other conflicts"
        elif code in (200, 201):
            after = expected.object if isinstance(expected, ssa.Applied) else expected
            said = self._differs(before, answer, after, what["subresource"])
        elif code == 409 and what["verb"] == "apply":
            said = "a conflict that was not expected"
        if code in (200, 201):
            self.live = answer
        if said:
            self._differ(said, **what, before=before, code=code, answer=answer, expected=expected)

    def _differs(self, before: Value, answer: Value, after: Value, subresource: str) -> str | None:
        moved = (
            before is None or answer["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
        )
        if self.target.has_status and not subresource:
            after = {key: each for key, each in after.items() if key != "status"}
            after |= {key: each for key, each in answer.items() if key == "status"}
        if not moved:  # whatever was computed, it must come to the same once defaults are in
            thing = self.target.name == "Thing"
            after = ssa.keep_times(before, after) if thing else untimed(before, after)
        mine, theirs = (entries(each) for each in (after, answer))
        if not same(mine, theirs):
            return "other managedFields"
        left, right = (without_empty(bare(each)) for each in (after, answer))
        if self.target.has_status:  # what this endpoint ignores is as it was
            ignored = [key for key in right if (key == "status") == (not subresource)]
            left = {
                key: each
                for key, each in left.items()
                if key not in ignored and (key == "status") == bool(subresource)
            }
            right = {key: each for key, each in right.items() if key not in ignored}
        if self.target.exact:
            return None if equal(left, right) else "another body"
        return None if contained(left, right) else "another body"

    def _differ(self, said: str, **context: Value) -> None:
        context["schema"] = self.target.name
        self.report.differences.append({"said": said, **context})


def run(kubeconfig: Path, operations: int = 2000, seed: int = 1) -> Report:
    """Plays `operations` operations and tells what differed."""
    server, report = Server(kubeconfig), Report()
    made = crd()
    server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made)
    for _ in range(5000):  # until it is served
        code, _answer = server.send("GET", "/apis/diff.example.com/v2/namespaces/default/things")
        if code == 200:
            break
    for name in ("default", "kube-system", "kube-public"):
        OWNERS[name] = server.send("GET", f"/api/v1/namespaces/{name}")[1]["metadata"]["uid"]
    rng = random.Random(seed)
    runs = [
        Run(server, target, f"d{seed}-{number}", random.Random(rng.random()), report)
        for target in targets()
        for number in range(2)
    ]
    for each in runs:
        version = next(iter(each.target.versions))
        server.send("PATCH", each.target.url(version, each.name), {"metadata": {"finalizers": None}}, MERGE)
        server.send("DELETE", each.target.url(version, each.name))
    for _ in range(operations):
        rng.choice(runs).step()
    server.close()
    return report


def main(arguments: list[str]) -> int:
    operations = int(arguments[1]) if len(arguments) > 1 else 2000
    seed = int(arguments[2]) if len(arguments) > 2 else 1
    report = run(Path(arguments[0]), operations, seed)
    for each in report.differences[:20]:
        print(
            json.dumps(each, indent=1, default=lambda value: getattr(value, "__dict__", None) or repr(value))
        )
    print(report)
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
