"""From kubectl's client-side apply to server-side apply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rulesengine import ssa
from rulesengine.ssa.last_applied import ANNOTATION
from tests.unit.ssa.shapes import CONFIG_MAP, NOW, config_map


def client_side(data: Any, last: Any = None) -> Any:
    """An object as `kubectl apply` leaves it."""
    said = json.dumps(config_map(data)) if last is None else last
    body = config_map(data, annotations={ANNOTATION: said})
    return ssa.update(CONFIG_MAP, None, body, manager="kubectl-client-side-apply", now=NOW)


def apply(data: Any, live: Any, manager: str = "kubectl") -> Any:
    return ssa.apply(CONFIG_MAP, live, config_map(data), manager=manager, force=False, now=NOW)


def test_kubectl_takes_over_what_it_applied_before() -> None:
    """No conflict with its own client-side self, and the annotation is kept up."""
    outcome = apply({"a": "2"}, client_side({"a": "1"}))
    assert isinstance(outcome, ssa.Applied)
    assert outcome.object["data"] == {"a": "2"}
    said = outcome.object["metadata"]["annotations"][ANNOTATION]
    assert said.endswith("\n")
    assert json.loads(said) == config_map({"a": "2"})


def test_other_managers_are_not_privileged() -> None:
    """They meet the conflict."""
    assert isinstance(apply({"a": "2"}, client_side({"a": "1"}), "argocd"), ssa.Conflicted)


def test_what_changed_since_is_a_conflict() -> None:
    """The annotation no longer says what is there; only that field is contested."""
    live = client_side({"a": "1", "b": "1"})
    live = ssa.update(CONFIG_MAP, live, {**live, "data": {"a": "9", "b": "1"}}, manager="other", now=NOW)
    outcome = apply({"a": "2", "b": "2"}, live)
    assert isinstance(outcome, ssa.Conflicted)
    assert outcome.conflicts == (('"other" using v1', ".data.a"),)


@pytest.mark.parametrize(
    "last", ["", "not json", "[]", '{"apiVersion": "v2"}', '{"apiVersion": "v1", "data": {"a": 1}}']
)
def test_an_annotation_that_says_nothing_allows_nothing(last: str) -> None:
    """Nonsense, another version, or what does not fit the kind."""
    assert isinstance(apply({"a": "2"}, client_side({"a": "1"}, last)), ssa.Conflicted)


def test_an_object_without_annotation_gets_none() -> None:
    """Server-side apply does not start writing it."""
    live = ssa.update(CONFIG_MAP, None, config_map({"a": "1"}), manager="x", now=NOW)
    outcome = apply({"b": "1"}, live)
    assert isinstance(outcome, ssa.Applied)
    assert "annotations" not in outcome.object["metadata"]


def test_an_annotation_that_would_be_too_long_goes() -> None:
    """As the server drops it."""
    outcome = apply({"a": "x" * 300_000}, client_side({"a": "1"}))
    assert isinstance(outcome, ssa.Applied)
    assert ANNOTATION not in outcome.object["metadata"]["annotations"]
