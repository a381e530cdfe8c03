"""JSON values and bytes: the one door to msgspec for plain values.

A value is what JSON can say: None, bool, int (exact beyond 2^53), float, str, list, dict
with str keys. `1` and `1.0` are different values here, as they are to CEL and to the API
server; `True` and `1` are different everywhere.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias, cast

import msgspec

from rulesengine.core.errors import InvalidJSON

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Any]

_encoder = msgspec.json.Encoder()
_sorted = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder()


def encode(value: Json) -> bytes:
    """Compact UTF-8 JSON, keys in the order they have."""
    return _encoder.encode(value)


def encode_sorted(value: Json) -> bytes:
    """Compact UTF-8 JSON with sorted keys: equal values give equal bytes."""
    return _sorted.encode(value)


def decode(data: bytes | str) -> Json:
    """The value in `data`; raises InvalidJSON, which never quotes the data."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidJSON("the data is not JSON") from error


def decode_object(data: bytes | str) -> Object:
    """The JSON object in `data`; raises InvalidJSON for anything else."""
    value = decode(data)
    if not isinstance(value, dict):
        raise InvalidJSON("the data is JSON, but not an object")
    return cast("Object", value)


def digest(value: Json) -> bytes:
    """16 bytes that are equal for equal values (order of keys aside) and for no others."""
    return hashlib.blake2b(_sorted.encode(value), digest_size=16).digest()


def same(left: Json, right: Json) -> bool:
    """Equality that tells True from 1 and 1 from 1.0, at any depth."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is dict:
        return len(left) == len(right) and all(
            key in right and same(value, right[key]) for key, value in left.items()
        )
    if kind is list:
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)
