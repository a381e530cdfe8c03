"""A rule that causes too many requests waits for itself; others do not notice."""

from __future__ import annotations

from rulesengine.core.keys import RuleKey
from rulesengine.runtime.budget import Budget
from tests.unit.runtime.fakes import KEY, FakeClock

OTHER = RuleKey("ClusterRule", "", "other")


def test_a_rule_within_its_budget_never_waits() -> None:
    """What was saved up may be spent at once."""
    budget = Budget(FakeClock(), rate=10.0, burst=100.0)
    budget.charge(KEY, 99)
    assert budget.owed(KEY) == 0.0


def test_a_rule_beyond_it_waits_alone() -> None:
    """Each work item to a moment of its own, as far apart as the rate allows."""
    clock = FakeClock()
    budget = Budget(clock, rate=10.0, burst=100.0)
    budget.charge(KEY, 120)
    assert [round(budget.owed(KEY), 3) for _ in range(3)] == [2.1, 2.2, 2.3]
    assert budget.owed(OTHER) == 0.0
    clock.advance(2.1)
    assert budget.owed(KEY) == 0.0


def test_nothing_is_saved_beyond_the_burst() -> None:
    """A rule that was quiet for a day may not flood the server for an hour."""
    clock = FakeClock()
    budget = Budget(clock, rate=10.0, burst=100.0)
    budget.charge(KEY, 1)
    clock.advance(86400)
    budget.charge(KEY, 101)
    assert budget.owed(KEY) > 0.0


def test_no_rate_bounds_nothing() -> None:
    """And a rule that is gone is forgotten."""
    budget = Budget(FakeClock(), rate=0.0, burst=0.0)
    budget.charge(KEY, 1_000_000)
    assert budget.owed(KEY) == 0.0
    budget = Budget(FakeClock(), rate=1.0, burst=1.0)
    budget.charge(KEY, 50)
    budget.forget(KEY)
    assert budget.owed(KEY) == 0.0
