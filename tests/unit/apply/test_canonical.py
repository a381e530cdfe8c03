"""Quantities as the server returns them, and nothing else touched."""

from __future__ import annotations

import pytest

from rulesengine.apply.canonical import canonicalized
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin
from rulesengine.schema.quantities import canonical

QUOTA = builtin.schema(GroupVersionKind("", "v1", "ResourceQuota"))
POD = builtin.schema(GroupVersionKind("", "v1", "Pod"))


@pytest.mark.parametrize(
    ("written", "returned"),
    [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("0.5", "500m"),
        ("2", "2"),
        ("1e3", "1e3"),
        ("1500Ki", "1500Ki"),
        ("x", "x"),
    ],
)
def test_a_quantity_is_written_as_the_server_returns_it(written: str, returned: str) -> None:
    """What is no quantity stays as it is: the server will say so."""
    assert canonical(written) == returned


def test_quantities_are_found_in_maps_and_lists() -> None:
    """Numbers too; anything else is left."""
    assert QUOTA is not None
    assert POD is not None
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "1000m"},
        "spec": {"hard": {"cpu": "4000m", "pods": 10}},
    }
    assert canonicalized(QUOTA, quota) == {**quota, "spec": {"hard": {"cpu": "4", "pods": "10"}}}
    container = {"name": "1000m", "resources": {"limits": {"memory": "1024Mi"}}, "tty": True}
    pod = {"spec": {"containers": [container, {"name": "b"}]}}
    wanted = {
        "spec": {"containers": [{**container, "resources": {"limits": {"memory": "1Gi"}}}, {"name": "b"}]}
    }
    assert canonicalized(POD, pod) == wanted


def test_an_object_without_any_is_the_very_same() -> None:
    """So that nothing is compared a second time for nothing."""
    assert POD is not None
    pod = {
        "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}], "hostNetwork": True}
    }
    assert canonicalized(POD, pod) is pod
    custom = {"spec": {"cpu": "1000m"}}
    assert canonicalized(Schema.ANY, custom) is custom
