"""Plays a case file (rules, state, steps) against a real API server with kubectl."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rulesengine import api, cel
from tests.cluster.engine import Engine, eventually
from tests.cluster.plane import Plane

Object = dict[str, Any]


@dataclass
class Case:
    """One file; `play` raises AssertionError at the first step that does not hold."""

    plane: Plane
    engine: Engine
    content: Object
    kinds: set[str] = field(default_factory=set)

    @classmethod
    def load(cls, file: Path, plane: Plane, engine: Engine) -> Case:
        (content,) = api.load_objects(file.read_text(), str(file), any_shape=True)
        return cls(plane, engine, content)

    def play(self) -> None:
        self._collect({key: value for key, value in self.content.items() if key != "crds"})
        for crd in self.content.get("crds", ()):
            self._kubectl_with(crd, "apply", "-f", "-")
            self.plane.kubectl("wait", "--for=condition=Established", f"crd/{crd['metadata']['name']}")
        self.engine.mark()
        for body in self.content.get("state", ()):
            eventually(lambda body=body: self._create(body))
        for rule in self.content["rules"]:
            self._kubectl_with(rule, "apply", "-f", "-")
        for index, step in enumerate(self.content["steps"]):
            for operation in step.get("do", ()):
                self._do(operation)
            try:
                self._expect(step.get("expect", {}))
            except AssertionError as error:
                raise AssertionError(f"step {index}: {error}") from error
            self.engine.mark()
        for again in (False, True):
            if again:
                self._restart()
            self.engine.quiet()
            assert self.engine.changes() == {"created": 0, "updated": 0, "deleted": 0}, "not settled"

    def _create(self, body: Object) -> bool:
        """A kind is served a moment after its CRD says so."""
        self._kubectl_with(body, "create", "-f", "-")
        if "status" in body:
            self._status(body)
        return True

    def _status(self, body: Object) -> None:
        change = json.dumps({"status": body["status"]})
        self.plane.kubectl("patch", *self._named(body), "--subresource=status", "--type=merge", "-p", change)

    # --- what the user does ---

    def _do(self, operation: Object) -> None:
        (verb,) = set(operation) - {"as"}
        body = operation[verb]
        match verb:
            case "restart":
                self._restart()
            case "patch":
                identity = {k: body[k] for k in ("apiVersion", "kind")}
                meta = {k: v for k, v in body["metadata"].items() if k not in ("name", "namespace")}
                patch = {k: v for k, v in body.items() if k not in identity and k != "metadata"}
                patch |= {"metadata": meta} if meta else {}
                self.plane.kubectl("patch", *self._named(body), "--type=merge", "-p", json.dumps(patch))
            case "delete":
                self.plane.kubectl("delete", *self._named(body), "--timeout=60s")
            case "status":
                self._status(body)
            case "create" | "replace" | "apply":
                self._kubectl_with(body, verb, "-f", "-")
            case other:
                raise AssertionError(f"the verb {other} is not played here")

    def _restart(self) -> None:
        self.engine.stop()
        self.engine.start()
        eventually(lambda: any(r["verb"] == "watch" for r in self.engine.requests()))

    # --- what shall be ---

    def _expect(self, expect: Object) -> None:
        for body in expect.get("objects", ()):
            eventually(lambda body=body: self._contains(body))
        for body in expect.get("absent", ()):
            eventually(lambda body=body: self._get(body) is None, 60)
        rule = self.content["rules"][0]
        if "rule" in expect:
            wanted = {**{k: rule[k] for k in ("apiVersion", "kind", "metadata")}, **expect["rule"]}
            eventually(lambda: self._contains(wanted))
        self.engine.quiet()
        if "changes" in expect:
            found = self.engine.changes()
            wanted = expect["changes"]
            assert {k: found[k] for k in wanted} == wanted, f"changes {found}, expected {wanted}"
        for text in expect.get("cel", ()):
            program = cel.compile(text, cel.Env({"objects": cel.types.DYN}))
            assert program.evaluate({"objects": self._objects()}) is True, text

    def _contains(self, body: Object) -> bool:
        found = self._get(body)
        assert found is not None, f"{body['kind']} {body['metadata']['name']} is not there"
        problem = difference(body, found)
        assert not problem, f"{body['kind']} {body['metadata']['name']}{problem}"
        return True

    def _get(self, body: Object) -> Object | None:
        text = self.plane.kubectl("get", *self._named(body), "-o", "json", "--ignore-not-found")
        return json.loads(text) if text else None

    def _objects(self) -> list[Object]:
        found: list[Object] = []
        for kind in sorted(self.kinds):
            found += json.loads(self.plane.kubectl("get", kind, "-A", "-o", "json"))["items"]
        return found

    def _named(self, body: Object) -> tuple[str, ...]:
        space = body["metadata"].get("namespace")
        return (_kind(body), body["metadata"]["name"], *(("-n", space) if space else ()))

    def _kubectl_with(self, body: Object, *arguments: str) -> None:
        self.plane.kubectl(*arguments, stdin=json.dumps(body))

    def _collect(self, value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str):
                self.kinds.add(_kind(value))
            for item in value.values():
                self._collect(item)
        elif isinstance(value, list):
            for item in value:
                self._collect(item)


def _kind(body: Object) -> str:
    group, _, version = body["apiVersion"].rpartition("/")
    return f"{body['kind']}.{version}.{group}"


def difference(wanted: Any, found: Any) -> str:
    """Where `found` does not contain `wanted`, "" when it does (maps contain, lists are as long)."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            if key not in found:
                return f".{key}: not there"
            if problem := difference(value, found[key]):
                return f".{key}{problem}"
        return ""
    if isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            return f": {len(found)} items, expected {len(wanted)}"
        for index, (a, b) in enumerate(zip(wanted, found, strict=True)):
            if problem := difference(a, b):
                return f"[{index}]{problem}"
        return ""
    return "" if wanted == found and type(wanted) is type(found) else f": {found!r}, expected {wanted!r}"
