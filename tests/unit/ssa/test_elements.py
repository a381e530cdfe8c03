"""How items are identified and paths are written."""

from __future__ import annotations

from typing import Any

import pytest

from rulesengine.schema import Schema
from rulesengine.ssa.elements import Unidentified, of_item, shown
from tests.unit.ssa.shapes import THING

PORTS = THING.properties["spec"].properties["ports"]
SET = THING.properties["spec"].properties["set"]


@pytest.mark.parametrize(
    ("schema", "item", "expected"),
    [
        (PORTS, {"proto": "UDP", "port": 80, "to": "x"}, 'k:{"port":80,"proto":"UDP"}'),
        (PORTS, {"port": 80}, 'k:{"port":80,"proto":"TCP"}'),
        (SET, "plain", 'v:"plain"'),
        (SET, 'a&<>"\\', 'v:"a\\u0026\\u003c\\u003e\\"\\\\"'),
        (SET, "é", 'v:"é"'),
        (
            Schema(type="array", list_type="map", list_keys=("name",)),
            {"name": "a&b"},
            'k:{"name":"a\\u0026b"}',
        ),
    ],
)
def test_an_item_is_written_as_the_server_writes_it(schema: Schema, item: Any, expected: str) -> None:
    """Keys sorted, defaults filled in, JSON as Go escapes it."""
    assert of_item(schema, item) == expected


@pytest.mark.parametrize(
    ("schema", "item", "message"),
    [
        (SET, None, "explicit null"),
        (SET, {}, "element that's a map type"),
        (SET, [], "associative list with lists as elements"),
        (PORTS, None, "null element"),
        (PORTS, "x", "non-map elements"),
        (Schema(list_type="map", list_keys=("a", "b")), {}, 'omits all key fields ["a" "b"]'),
    ],
)
def test_an_item_without_identity_is_refused(schema: Schema, item: Any, message: str) -> None:
    """In the server's words."""
    with pytest.raises(Unidentified, match=message.replace("[", "\\[")):
        of_item(schema, item)


def test_a_path_is_shown_as_the_server_shows_it() -> None:
    """It stands in conflicts."""
    path = ("f:spec", "f:ports", 'k:{"port":80,"proto":"TCP"}', "f:to")
    assert shown(path) == '.spec.ports[port=80,proto="TCP"].to'
    assert shown(("f:set", 'v:"a"')) == '.set[="a"]'
    assert shown(("f:list", "i:3")) == ".list[3]"
    assert shown(('k:{"a":true,"b":null}',)) == "[a=true,b=null]"
