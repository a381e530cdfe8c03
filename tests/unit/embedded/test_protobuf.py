"""Bodies in protobuf, as kubectl create sends them."""

from __future__ import annotations

import pytest

from tests.unit.embedded.fakes import CONFIG_MAPS, Api

PROTOBUF = "application/vnd.kubernetes.protobuf"


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def config_map(name: bytes) -> bytes:
    """A ConfigMap as k8s.io/api encodes it: ObjectMeta, then data as pairs."""
    meta = field(1, name) + field(2, b"") + field(3, b"")
    pair = field(1, b"key") + field(2, b"value")
    kind = field(1, b"v1") + field(2, b"ConfigMap")
    return b"k8s\x00" + field(1, kind) + field(2, field(1, meta) + field(2, pair)) + field(3, b"")


def test_an_object_in_protobuf_is_stored(api: Api) -> None:
    """Fields by their numbers; empty ones that are no pointers count as not given."""
    said = api.send("POST", CONFIG_MAPS, config_map(b"a"), PROTOBUF)
    assert said.status == 201, said.body
    assert said.body["data"] == {"key": "value"}
    assert "generateName" not in said.body["metadata"]


@pytest.mark.parametrize("body", [b"", b"k8s\x00", b"k8s\x00\xff\xff", config_map(b"a")[:-12], b"{}"])
def test_broken_protobuf_is_refused(api: Api, body: bytes) -> None:
    """Cut off, empty or something else: 400."""
    assert api.send("POST", CONFIG_MAPS, body, PROTOBUF).status == 400


def test_cbor_is_not_read(api: Api) -> None:
    """415, after which clients use another encoding."""
    assert api.send("POST", CONFIG_MAPS, b"\xa0", "application/cbor").status == 415
