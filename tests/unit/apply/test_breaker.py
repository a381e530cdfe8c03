"""The loop breaker: what counts as a fight, when a child rests, and that it is forgiven."""

from __future__ import annotations

from rulesengine.apply.breaker import FIGHTS, WINDOW, WRITES, Breaker
from rulesengine.apply.memory import Child
from rulesengine.core.keys import ObjectKey

CHILD = Child("rulesengine:ClusterRule//r", ObjectKey("", "ConfigMap", "default", "x"))


def fight(breaker: Breaker, start: float, times: int, step: float = 1.0, manager: str = "") -> float:
    now = start
    for _ in range(times):
        breaker.wrote(CHILD, "uid", b"same", now, manager)
        now += step
    return now


def test_writing_the_same_again_and_again_makes_the_child_rest() -> None:
    """The first write is none of it; then five rewrites within a minute."""
    breaker = Breaker()
    now = fight(breaker, 0.0, FIGHTS)
    assert breaker.check(CHILD, now) is None
    now = fight(breaker, now, 1, manager="other-operator")
    rest = breaker.check(CHILD, now)
    assert rest is not None
    assert rest.manager == "other-operator"
    assert 0 < rest.seconds <= WINDOW


def test_slow_repairs_never_rest() -> None:
    """Somebody who edits a child by hand now and then is no loop."""
    breaker = Breaker()
    now = fight(breaker, 0.0, 100, step=WINDOW / (FIGHTS - 1))
    assert breaker.check(CHILD, now) is None


def test_a_desired_that_comes_back_counts() -> None:
    """Two sources of truth that alternate look like ever new desireds otherwise."""
    breaker = Breaker()
    for index in range(2 * FIGHTS):
        breaker.wrote(CHILD, "uid", (b"a", b"b")[index % 2], float(index))
    assert breaker.check(CHILD, 2.0 * FIGHTS) is not None


def test_ever_new_desireds_may_be_written_often_but_not_without_end() -> None:
    """A source that changes twenty times a minute is followed; thirty times is a loop."""
    breaker = Breaker()
    for index in range(WRITES - 1):
        breaker.wrote(CHILD, "uid", str(index).encode(), float(index))
    assert breaker.check(CHILD, float(WRITES)) is None
    breaker.wrote(CHILD, "uid", b"last", float(WRITES - 1))
    assert breaker.check(CHILD, float(WRITES)) is not None


def test_a_recreated_child_is_a_new_one_but_its_writes_count() -> None:
    """Someone who deletes it all the time is stopped by the number of writes."""
    breaker = Breaker()
    for index in range(WRITES - 1):
        breaker.wrote(CHILD, f"uid-{index}", b"same", index * 0.1)
    assert breaker.check(CHILD, 3.0) is None
    breaker.wrote(CHILD, "uid-last", b"same", 3.0)
    assert breaker.check(CHILD, 3.1) is not None


def test_after_the_rest_one_write_is_tried_and_a_lasting_fight_rests_longer() -> None:
    """60 s, then 120 s: never a storm again, never given up."""
    breaker = Breaker()
    now = fight(breaker, 0.0, FIGHTS + 1)
    first = breaker.check(CHILD, now)
    assert first is not None
    now += first.seconds
    assert breaker.check(CHILD, now) is None
    breaker.wrote(CHILD, "uid", b"same", now)
    second = breaker.check(CHILD, now)
    assert second is not None
    assert second.seconds == 2 * WINDOW


def test_a_quiet_time_forgives() -> None:
    """Long after the last fight a repair does not rest at once."""
    breaker = Breaker()
    now = fight(breaker, 0.0, FIGHTS + 1) + 10 * WINDOW
    breaker.wrote(CHILD, "uid", b"same", now)
    assert breaker.check(CHILD, now + 1) is None


def test_contests_rest_for_the_window() -> None:
    """Refusals for another's ownership count like fights."""
    breaker = Breaker(fights=5, window=600.0, writes=300)
    for index in range(5):
        assert breaker.check(CHILD, index * 100.0) is None
        breaker.contested(CHILD, index * 100.0, "kubelet")
    rest = breaker.check(CHILD, 401.0)
    assert rest is not None
    assert rest.manager == "kubelet"


def test_quiet_children_are_forgotten() -> None:
    """A rule that made a hundred thousand children once does not keep their histories."""
    breaker = Breaker()
    for index in range(3000):
        child = Child("m", ObjectKey("", "ConfigMap", "default", str(index)))
        breaker.wrote(child, "", b"d", index * 1.0)
    assert len(breaker._histories) < 1500
