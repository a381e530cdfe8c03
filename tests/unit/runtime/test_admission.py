"""The webhook's verdicts: check's messages with line and caret, and never in the way of anything else."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from rulesengine import api, compiler, schema
from rulesengine.client import Unreachable
from rulesengine.core import json
from rulesengine.runtime.admission import Admission, BadReview

KINDS = {resource.gvk: resource for resource in schema.builtin.resources()}
RULE: dict[str, Any] = {
    "apiVersion": "rulesengine.dev/v1alpha1",
    "kind": "ClusterRule",
    "metadata": {"name": "r", "uid": "u", "generation": 3, "managedFields": [{"manager": "kubectl"}]},
    "spec": {
        "for": {"apiVersion": "v1", "kind": "Namespace"},
        "resources": [
            {
                "name": "c",
                "template": {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "c", "namespace": "${object.metadata.name}"},
                    "data": {"k": "v"},
                },
            }
        ],
    },
}


class Compiling:
    def __init__(self) -> None:
        self.error: Exception | None = None
        self.hang = False

    async def prepare(self, body: Any) -> None:
        if self.hang:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error

    def compile_model(self, model: Any) -> Any:
        return compiler.compile_rule(model, schemas=schema.builtin.schema, resources=KINDS.get)


def rule(namespace: str = "${object.metadata.name}") -> dict[str, Any]:
    body = copy.deepcopy(RULE)
    body["spec"]["resources"][0]["template"]["metadata"]["namespace"] = namespace
    return body


async def test_a_right_rule_passes_in_silence() -> None:
    """No message, no warning."""
    verdict = await Admission(Compiling()).verdict(rule())
    assert (verdict.allowed, verdict.message, verdict.warnings) == (True, "", ())


async def test_a_wrong_rule_is_refused_with_line_caret_and_fix() -> None:
    """As `check` prints it, of the object as YAML."""
    verdict = await Admission(Compiling()).verdict(rule("${objct.metadata.name}"))
    assert not verdict.allowed
    place, line, caret, fix = verdict.message.strip().splitlines()[:4]
    assert place.startswith("r:")
    assert "error RE202" in place
    assert "namespace: ${objct.metadata.name}" in line
    assert line[caret.index("^") :].startswith("objct")
    assert fix.strip() == "= did you mean object?"


async def test_every_finding_is_in_one_message() -> None:
    """Up to ten, and how many more."""
    body = rule("${objct.a}")
    entry = body["spec"]["resources"][0]
    body["spec"]["resources"] = [copy.deepcopy(entry) | {"name": f"c{n}"} for n in range(12)]
    message = (await Admission(Compiling()).verdict(body)).message
    assert message.count("error RE") == 10
    assert "and 2 more" in message


async def test_findings_that_do_not_refuse_are_warnings() -> None:
    """One line each, short enough for Kubernetes to show."""
    body = rule()
    body["spec"]["for"] = {"apiVersion": "v1", "kind": "Secret", "namespaces": ["a"]}
    body["spec"]["resources"][0]["template"]["metadata"] = {
        "name": "c",
        "namespace": "a",
        "annotations": {"first": "${object.data.k}"},
    }
    verdict = await Admission(Compiling()).verdict(body)
    assert verdict.allowed
    assert any("RE336" in warning for warning in verdict.warnings)
    assert all(len(w) <= 256 and "\n" not in w for w in verdict.warnings)


@pytest.mark.parametrize("error", [Unreachable("no answer"), RuntimeError("object said hush")])
async def test_what_cannot_be_checked_is_let_in_with_a_word(error: Exception) -> None:
    """The engine looks at it anyway; nothing of the error's own text for defects."""
    compiling = Compiling()
    compiling.error = error
    verdict = await Admission(compiling).verdict(rule("${objct.a}"))
    assert verdict.allowed
    assert "check" in verdict.warnings[0]
    assert "hush" not in verdict.warnings[0]


async def test_a_slow_check_is_cut_short() -> None:
    """The server would only say that it took too long."""
    compiling = Compiling()
    compiling.hang = True
    verdict = await Admission(compiling, patience=0.01).verdict(rule("${objct.a}"))
    assert verdict.allowed
    assert "took too long" in verdict.warnings[0]


async def test_a_rule_on_its_way_out_is_none_of_its_business() -> None:
    """Whatever it says."""
    body = rule("${objct.a}")
    body["metadata"]["deletionTimestamp"] = "2026-01-05T08:00:00Z"
    assert (await Admission(Compiling()).verdict(body)).allowed


async def test_reviews_in_and_out() -> None:
    """v1, with the uid that was given; what is none is said to be none."""
    admission = Admission(Compiling())
    asked = {"request": {"uid": "7", "operation": "CREATE", "object": rule("${objct.a}")}}
    answer = json.decode_object(await admission.review(json.encode(asked)))
    assert answer["apiVersion"] == "admission.k8s.io/v1"
    assert answer["response"]["uid"] == "7"
    assert answer["response"]["allowed"] is False
    assert answer["response"]["status"]["code"] == 422
    gone = {"request": {"uid": "8", "operation": "DELETE", "object": None}}
    assert json.decode_object(await admission.review(json.encode(gone)))["response"]["allowed"] is True
    for raw in (b"", b"[]", b"{}", b'{"request": 1}', b'{"request": {}}'):
        with pytest.raises(BadReview):
            await admission.review(raw)
    assert api.GROUP in RULE["apiVersion"]
