"""One node of a schema: what it says by default, and when two are equal."""

from __future__ import annotations

from rulesengine.schema import MISSING, Schema

TEXT = Schema(type="string")


def cyclic(leaf: Schema) -> Schema:
    """A schema whose property leads back to itself, as a schema of schemas does."""
    node = Schema.__new__(Schema)
    properties = {"leaf": leaf, "again": node}
    Schema.__init__(node, type="object", properties=properties)
    return node


def test_a_schema_that_says_nothing_accepts_every_key() -> None:
    """Its children say nothing either."""
    assert Schema.ANY.child("x") == Schema.ANY
    assert Schema.ANY.default is MISSING
    assert Schema.ANY.open


def test_a_declared_object_knows_only_its_keys() -> None:
    """Unless it preserves unknown ones or has a schema for them."""
    declared = Schema(type="object", properties={"a": TEXT})
    assert declared.child("b") is None
    assert Schema(type="object", properties={"a": TEXT}, preserve_unknown=True).child("b") == Schema.ANY
    assert Schema(type="object", properties={"a": TEXT}, additional=Schema(type="integer")).child(
        "b"
    ) == Schema(type="integer")


def test_a_path_leads_through_keys_and_elements() -> None:
    """ "*" is any element of a list or map."""
    items = Schema(type="array", items=Schema(type="object", properties={"name": TEXT}))
    schema = Schema(type="object", properties={"spec": Schema(type="object", additional=items)})
    assert schema.at("spec", "*", "*", "name") is TEXT
    assert schema.at("nope", "x") is None


def test_schemas_of_the_same_shape_are_equal() -> None:
    """However they were built; a set may hold them."""
    one, two = (Schema(type="object", properties={"a": Schema(type="string")}) for _ in range(2))
    assert one == two
    assert len({one, two}) == 1
    assert one != Schema(type="object", properties={"a": Schema(type="integer")})


def test_equality_ends_on_cyclic_schemas() -> None:
    """And still sees a difference inside the cycle."""
    assert cyclic(TEXT) == cyclic(Schema(type="string"))
    assert cyclic(TEXT) != cyclic(Schema(type="integer"))
    assert "again" in repr(cyclic(TEXT))


def test_default_true_is_not_default_one() -> None:
    """JSON tells them apart."""
    assert Schema(default=True) != Schema(default=1)
