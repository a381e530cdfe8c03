"""What the engine may delete is proven by a keyed hash over claim and object."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rulesengine.core import json
from rulesengine.core.keys import ObjectKey, RuleKey
from rulesengine.reconcile.ownership import Claim, Ownership

KEY = ObjectKey("", "Secret", "a", "s")
CLAIM = Claim(
    rule=RuleKey("ClusterRule", "", "r"),
    rule_uid="1",
    source=ObjectKey("", "Namespace", "", "a"),
    source_uid="2",
    entry="copy",
    object=KEY,
    at="2026-01-05T08:00:00Z",
)
OWNERSHIP = Ownership(b"k" * 32)


def test_a_stamp_verifies_on_its_own_object() -> None:
    """Stamp and verify are inverse, flags included."""
    for claim in (CLAIM, replace(CLAIM, adopted=True), replace(CLAIM, keep=True)):
        assert OWNERSHIP.verify(OWNERSHIP.stamp(claim), KEY) == claim


def test_a_copied_stamp_proves_nothing_about_another_object() -> None:
    """The same annotation on another name, namespace or kind does not verify."""
    text = OWNERSHIP.stamp(CLAIM)
    for other in (KEY._replace(name="t"), KEY._replace(namespace="b"), KEY._replace(kind="ConfigMap")):
        assert OWNERSHIP.verify(text, other) is None


def test_a_stamp_of_another_key_does_not_verify() -> None:
    """Whoever lacks the engine's key cannot make an object deletable."""
    assert Ownership(b"x" * 32).verify(OWNERSHIP.stamp(CLAIM), KEY) is None


def test_every_part_of_the_claim_is_covered() -> None:
    """No part of a claim can be changed without breaking the hash."""
    body = json.decode(OWNERSHIP.stamp(CLAIM))
    for field in ("rule", "source"):
        for index in range(len(body[field])):
            forged = json.decode(json.encode(body))
            forged[field][index] += "x"
            assert OWNERSHIP.verify(json.encode(forged).decode(), KEY) is None
    for field, value in (("entry", "x"), ("at", "2027-01-05T08:00:00Z"), ("adopted", True), ("keep", True)):
        assert OWNERSHIP.verify(json.encode(body | {field: value}).decode(), KEY) is None


@given(
    st.text()
    | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(
        lambda v: json.encode({"rule": v, "source": v, "object": v, "entry": v, "at": v, "mac": v}).decode()
    )
)
def test_nonsense_is_nobodys_claim(text: str) -> None:
    """Any text a user puts into the annotation is refused quietly."""
    assert OWNERSHIP.verify(text, KEY) is None
