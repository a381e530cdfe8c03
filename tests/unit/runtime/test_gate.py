"""Removals after a start or a change of the rule: counted first, and held where they are too many."""

from __future__ import annotations

from typing import Any

import pytest

from rulesengine.compiler.limits import Limits
from rulesengine.compiler.rule import ApplyPolicy
from rulesengine.core.keys import Request
from rulesengine.reconcile.plan import Plan, Unwanted, Wanted
from rulesengine.runtime.gate import Gate
from tests.unit.reconcile.fakes import CONFIG_MAP, Cluster, FakeLive
from tests.unit.runtime.fakes import KEY


def live(name: str) -> FakeLive:
    meta = {"name": name, "namespace": "ns"}
    return Cluster().put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})


def wanted(name: str) -> Wanted:
    found = live(name)
    return Wanted("e", CONFIG_MAP, found.key, found.body, found, ApplyPolicy(), KEY.manager)


def unwanted(name: str, *, release: bool = False) -> Unwanted:
    return Unwanted("e", CONFIG_MAP, live(name), KEY.manager, release=release)


def plan(name: str, *, stay: int = 0, go: int = 0, release: int = 0) -> Plan:
    """A work item that keeps, deletes and releases so many objects."""
    return Plan(
        Request(KEY, "ns", name),
        None,
        True,
        wanted=tuple(wanted(f"{name}-{n}") for n in range(stay)),
        unwanted=(
            *(unwanted(f"{name}-gone-{n}") for n in range(go)),
            *(unwanted(f"{name}-left-{n}", release=True) for n in range(release)),
        ),
    )


def gate(**limits: Any) -> Gate:
    return Gate(Limits.of(None, None, limits.get("deletes")), 7)


def test_nothing_goes_before_everything_was_looked_at() -> None:
    """Afterwards those go that were held back, and nothing is held any more."""
    one = gate()
    assert one.passing(plan("a", stay=1)).held is False
    assert one.passing(plan("b", go=1)).held is True
    assert one.passing(plan("b", go=1)).may_prune is False
    assert one.decide("") == (Request(KEY, "ns", "b"),)
    assert one.passing(plan("b", go=1)).may_prune is True
    assert one.verdict().status is False


@pytest.mark.parametrize(
    ("deletes", "stay", "go", "held"),
    [
        (None, 0, 20, False),  # the default lets 20 go in any case
        (None, 0, 21, True),
        (None, 30, 30, False),
        (None, 29, 31, True),
        ("10%", 95, 5, False),
        ("10%", 5, 5, True),
        (3, 100, 3, False),
        (3, 100, 4, True),
        (0, 100, 1, True),
    ],
)
def test_more_than_the_limit_is_held(deletes: Any, stay: int, go: int, held: bool) -> None:
    """A number, or a percentage of what was made."""
    one = gate(deletes=deletes)
    one.passing(plan("a", stay=stay, go=go))
    assert (one.decide("") == ()) is held
    assert one.held is held
    assert one.verdict().status is held


def test_only_this_generation_can_be_approved() -> None:
    """An approval of an earlier one is worth nothing."""
    one = gate(deletes=0)
    one.passing(plan("a", go=5))
    assert one.decide("6") == ()
    assert "7" in one.verdict().message
    assert one.decide("7") == (Request(KEY, "ns", "a"),)


def test_what_stays_in_the_cluster_counts_for_nothing() -> None:
    """A release deletes nothing; but while others are held, it is held with them."""
    one = gate(deletes=0)
    assert one.passing(plan("a", release=3)).held
    assert one.decide("") == (Request(KEY, "ns", "a"),)
    assert one.open


def test_it_opens_when_they_become_fewer() -> None:
    """A work item that wants its objects again takes its removals back."""
    one = gate(deletes=1)
    one.passing(plan("a", go=1))
    one.passing(plan("b", go=1))
    one.decide("")
    assert one.held
    one.passing(plan("b", stay=1))
    assert one.decide("") == (Request(KEY, "ns", "a"),)
