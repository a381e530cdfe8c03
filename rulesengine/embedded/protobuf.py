"""Bodies in Kubernetes' protobuf, which `kubectl create …` sends for built-in kinds.

Only reading: answers are always JSON, which every client accepts. What each message looks
like comes from `structs`. Fields that are not pointers are on the wire
even when empty, so empty ones count as not set.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.json import Json, Object
from rulesengine.embedded.errors import Refused, bad_request
from rulesengine.embedded.structs import MESSAGE, Field, fields, message_of

MAGIC = b"k8s\x00"
CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


@cache
def _fields(message: str) -> dict[int, Field]:
    return {field.number: field for field in fields(message)}


def decode(body: bytes) -> Object:
    """The object in a body; raises Refused for what is no such body or an unknown kind."""
    if not body.startswith(MAGIC):
        raise bad_request("the body is not Kubernetes protobuf: its first bytes are wrong")
    try:
        envelope = dict(_wire(body[len(MAGIC) :]))
        kind = {number: value.decode() for number, value in _wire(envelope[1])}
        api_version, name = kind.get(1, ""), kind.get(2, "")
        message = message_of(api_version, name)
        if message is None:
            raise _unknown(api_version, name)
        found = _message(message, envelope.get(2, b""))
    except (KeyError, IndexError, ValueError, struct.error, AttributeError, InvalidJSON) as error:
        raise bad_request("the body is not readable as Kubernetes protobuf") from error
    return {"apiVersion": api_version, "kind": name, **found}


def _unknown(api_version: str, kind: str) -> Refused:
    message = f"the embedded API server reads {api_version} {kind} as JSON only, not as protobuf"
    return Refused(415, "UnsupportedMediaType", message, {})


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _wire(data: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers with their raw values: ints, or bytes."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == BYTES:
            length, position = _varint(data, position)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise ValueError("unknown wire type")
        if position + length > len(data):
            raise ValueError("the message is cut off")
        yield number, data[position : position + length]
        position += length


def _message(message: str, data: bytes) -> Object:
    found: Object = {}
    fields = _fields(message)
    for number, raw in _wire(data):
        known = fields.get(number)
        if known is None:
            continue
        shape = known.shape
        if shape.startswith("["):
            found.setdefault(known.name, []).append(_value(shape[1:], raw))
        elif shape.startswith("{"):
            pair = dict(_wire(raw))
            key = pair.get(1, b"").decode()
            found.setdefault(known.name, {})[key] = _value(shape[1:], pair.get(2, b""))
        else:
            value = _value(shape, raw)
            if not known.name and isinstance(value, dict):
                found |= value
            elif known.pointer or value not in (None, "", 0, False, {}, []):
                found[known.name] = value
    return found


def _value(shape: str, raw: Any) -> Json:
    if shape.startswith(MESSAGE):
        return _message(shape[len(MESSAGE) :], raw)
    if shape.startswith("<["):
        return [_value(shape[2:], each) for _, each in _wire(raw)]
    return _SCALARS[shape](raw)


def _signed(raw: int) -> int:
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _time(raw: bytes) -> str | None:
    parts = dict(_wire(raw))
    seconds = _signed(parts.get(1, 0))
    if not parts or seconds < -62135596800 + 1:  # Go's zero time
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(raw: bytes) -> str | None:
    parts = dict(_wire(raw))
    seconds = _signed(parts.get(1, 0))
    if not parts or seconds < -62135596800 + 1:
        return None
    micro = int(parts.get(2, 0)) // 1000
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{micro:06d}Z"


def _int_or_string(raw: bytes) -> Json:
    parts = dict(_wire(raw))
    return parts.get(3, b"").decode() if parts.get(1, 0) == 1 else _signed(parts.get(2, 0))


def _raw(raw: bytes) -> Json:
    content = dict(_wire(raw)).get(1, b"")
    return json.decode(content) if content else None


_SCALARS: dict[str, Callable[[Any], Json]] = {
    "s": lambda raw: raw.decode(),
    "b": bool,
    "i": _signed,
    "d": lambda raw: struct.unpack("<d", raw)[0],
    "y": lambda raw: base64.b64encode(raw).decode(),
    "q": lambda raw: dict(_wire(raw)).get(1, b"").decode(),
    "t": _time,
    "m": _micro_time,
    "D": lambda raw: f"{dict(_wire(raw)).get(1, 0) / 1e9:g}s",
    "x": _int_or_string,
    "r": _raw,
}
