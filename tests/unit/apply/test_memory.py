"""What is remembered of writes, for how long, and that it stays bounded."""

from __future__ import annotations

import pytest

from rulesengine.apply.answers import Answer, Patience
from rulesengine.apply.memory import Child, Memory, State
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Failed, Held
from rulesengine.schema import Schema

GVK = GroupVersionKind("", "v1", "ConfigMap")
STATE = State("uid", 7, b"digest")
INVALID = Answer(Failed(Reason.INVALID, "no"), Patience(5.0, 40.0))


def child(name: str = "x", kind: str = "ConfigMap", namespace: str = "default") -> Child:
    return Child("rulesengine:ClusterRule//r", ObjectKey("", kind, namespace, name))


def test_a_verdict_holds_for_exactly_the_state_it_was_given_on() -> None:
    """Another uid, version or desired is another question."""
    memory = Memory()
    memory.settle(child(), STATE)
    assert memory.settled(child(), STATE)
    for other in (State("other", 7, b"digest"), State("uid", 8, b"digest"), State("uid", 7, b"else")):
        assert not memory.settled(child(), other)
    assert not memory.settled(child("y"), STATE)


def test_a_verdict_keeps_the_echo_it_does_not_replace() -> None:
    """A later look that found nothing to do does not lose what the server made of our values."""
    memory = Memory()
    memory.settle(child(), STATE, b"echo")
    memory.settle(child(), State("uid", 8, b"digest"))
    assert memory.echo(child()) == b"echo"


def test_a_refusal_is_believed_until_it_is_due_or_something_changes() -> None:
    """The delay that is left comes with it, so that the work item is woken in time."""
    memory = Memory()
    first = memory.refuse(child(), STATE, INVALID, now=100.0)
    assert first.retry_after == 5.0
    again = memory.refused(child(), STATE, now=102.0)
    assert again is not None
    assert again.retry_after == pytest.approx(3.0)
    assert memory.refused(child(), State("uid", 8, b"digest"), now=102.0) is None
    assert memory.refused(child(), State("uid", 7, b"else"), now=102.0) is None
    assert memory.refused(child(), STATE, now=105.0) is None


def test_repeated_refusals_are_retried_ever_more_seldom_up_to_a_cap() -> None:
    """5, 10, 20, 40, 40 seconds; another reason starts anew."""
    memory = Memory()
    delays = [memory.refuse(child(), STATE, INVALID, now=0.0).retry_after for _ in range(5)]
    assert delays == [5.0, 10.0, 20.0, 40.0, 40.0]
    other = Answer(Held(Reason.UNAVAILABLE, "x"), Patience(1.0, 8.0))
    assert memory.refuse(child(), STATE, other, now=0.0).retry_after == 1.0


def test_an_accepted_write_ends_a_refusal() -> None:
    """The next refusal starts with the short delay again."""
    memory = Memory()
    memory.refuse(child(), STATE, INVALID, now=0.0)
    memory.settle(child(), STATE)
    assert memory.refused(child(), STATE, now=0.0) is None
    assert memory.refuse(child(), STATE, INVALID, now=0.0).retry_after == 5.0


def test_the_longest_unwritten_is_forgotten_first() -> None:
    """Bounded: what is written again moves to the end."""
    memory = Memory(limit=2)
    memory.settle(child("a"), STATE, b"echo")
    memory.settle(child("b"), STATE)
    memory.settle(child("a"), STATE)
    memory.settle(child("c"), STATE)
    assert len(memory) == 2
    assert memory.settled(child("a"), STATE)
    assert not memory.settled(child("b"), STATE)
    assert memory.settled(child("c"), STATE)


def test_a_changed_kind_is_forgotten_and_no_other() -> None:
    """The server may answer otherwise now, to what it took and to what it refused."""
    memory = Memory()
    memory.settle(child("a"), STATE, b"echo")
    memory.refuse(child("b"), STATE, INVALID, now=0.0)
    memory.settle(child("c", kind="Secret"), STATE)
    memory.forget_kind(GroupKind("", "ConfigMap"))
    assert not memory.settled(child("a"), STATE)
    assert memory.echo(child("a")) is None
    assert memory.refused(child("b"), STATE, now=0.0) is None
    assert memory.settled(child("c", kind="Secret"), STATE)


def test_another_schema_forgets_the_kind() -> None:
    """The same one read again does not."""
    memory = Memory()
    memory.use(GVK, Schema(type="object"))
    memory.settle(child(), STATE)
    memory.use(GVK, Schema(type="object"))
    assert memory.settled(child(), STATE)
    memory.use(GVK, Schema(type="object", properties={"data": Schema(type="object")}))
    assert not memory.settled(child(), STATE)


def test_refusals_of_one_namespace_can_be_lifted() -> None:
    """Its creation or a change of rights there says nothing about others."""
    memory = Memory()
    memory.refuse(child(namespace="a"), STATE, INVALID, now=0.0)
    memory.refuse(child(namespace="b"), STATE, INVALID, now=0.0)
    memory.forget_refusals("a")
    assert memory.refused(child(namespace="a"), STATE, now=0.0) is None
    assert memory.refused(child(namespace="b"), STATE, now=0.0) is not None
    memory.forget_refusals()
    assert memory.refused(child(namespace="b"), STATE, now=0.0) is None
