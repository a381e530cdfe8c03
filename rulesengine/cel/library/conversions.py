"""int(), uint(), double(), string(), bytes(), bool(), dyn(), type() and size()."""

from __future__ import annotations

import math
import re
from typing import Any

from rulesengine.cel.library.registry import bad, enter, function, int64, want
from rulesengine.cel.values import (
    OMIT,
    SECOND,
    UINT_MAX,
    Duration,
    Timestamp,
    TypeValue,
    UInt,
    no_overload,
    number_of,
    to_text,
    type_of,
)


@function("size", "int")
@function(".size", "int")
def size(value: Any) -> int:
    if isinstance(value, dict | list) or type(value) in (str, bytes):
        return len(value)
    raise no_overload()


@function("int", "int")
def to_int(value: Any) -> int:
    kind = type(value)
    if type(value) is int:
        return value
    if kind is UInt:
        return int64(value.value)
    if kind is float:
        if math.isnan(value) or not -9.223372036854775e18 < value < 9.223372036854775807e18:
            raise bad("integer overflow", "overflow")
        return int(value)
    if kind is str:
        if not re.fullmatch(r"[+-]?\d+", value):
            raise bad("the text is no int")
        return int64(int(value))
    if kind is Timestamp:
        return int(value.ns // SECOND)
    raise no_overload()


@function("uint", "uint")
def to_uint(value: Any) -> UInt:
    kind = type(value)
    if type(value) is UInt:
        return value
    if kind is float and (math.isnan(value) or not 0 <= value < 18446744073709551616.0):
        raise bad("unsigned integer overflow", "overflow")
    if kind is str:
        if not re.fullmatch(r"\d+", value) or int(value) > UINT_MAX:
            raise bad("the text is no uint")
        return UInt(int(value))
    return UInt(int(want(value, int, float)))


@function("double", "double")
def to_double(value: Any) -> float:
    if type(value) is str:
        if "_" in value or value.strip() != value:
            raise bad("the text is no double")
        try:
            return float(value)
        except ValueError:
            raise bad("the text is no double") from None
    found = number_of(value)
    if found is None:
        raise no_overload()
    return float(found)


@function("string", "string")
def to_string(value: Any) -> str:
    if type(value) in (Timestamp, Duration) or type_of(value) in ("net.IP", "net.CIDR"):
        return str(value)
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise bad("invalid UTF-8 in bytes, cannot convert to string") from None
    return to_text(value)


@function("bytes", "bytes")
def to_bytes(value: Any) -> bytes:
    return value if type(value) is bytes else want(value, str).encode()


@function("bool", "bool")
def to_bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    found = {
        **dict.fromkeys(("1", "t", "true", "TRUE", "True"), True),
        **dict.fromkeys(("0", "f", "false", "FALSE", "False"), False),
    }
    if want(value, str) not in found:
        raise bad("the text is no bool")
    return found[value]


enter("dyn", lambda value: value)
enter("omit", lambda: OMIT)
enter("type", lambda value: TypeValue(type_of(value)), "type")
