"""What rules need beyond Kubernetes' environment: names, hashes, JSON, merging, selectors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from rulesengine.cel.library.registry import bad, enter, function, want
from rulesengine.cel.values import to_json
from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON


@function("json.marshal", "string")
def marshal(value: Any) -> str:
    return json.encode_sorted(to_json(value)).decode()


@function("json.unmarshal")
def unmarshal(text: Any) -> Any:
    try:
        return json.decode(want(text, str))
    except InvalidJSON:
        raise bad("the text is not JSON") from None


def _hash(name: str, run: Callable[[bytes], str]) -> None:
    def hashed(value: Any) -> str:
        return run(value if type(value) is bytes else want(value, str).encode())

    enter(f"hash.{name}", hashed, "string")


_hash("sha256", lambda data: hashlib.sha256(data).hexdigest())
_hash("sha1", lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest())
_hash("md5", lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest())


@function("k8s.name", "string")
def k8s_name(*parts: Any) -> str:
    text = "-".join([want(part, str) for part in parts])
    if re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", text):
        return text
    cleaned = re.sub(r"[^a-z0-9-]", "-", text.lower())[:54].strip("-")
    return f"{cleaned}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@function("merge")
def merge(*maps: Any) -> Any:
    given = maps[0] if len(maps) == 1 and isinstance(maps[0], list) else maps
    result: dict[Any, Any] = {}
    for each in given:
        result = _merged(result, want(each, dict))
    return result


def _merged(left: dict[Any, Any], right: dict[Any, Any]) -> dict[Any, Any]:
    result = dict(left)
    for key, value in right.items():
        below = result.get(key)
        result[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _fnv64a(data: bytes) -> str:
    found = 0xCBF29CE484222325
    for byte in data:
        found = ((found ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{found:016x}"


_hash("fnv64a", _fnv64a)


@function("k8s.selects", "bool")
def selects(selector: Any, labels: Any) -> bool:
    """Whether a LabelSelector (matchLabels, matchExpressions) selects labels; empty selects all."""
    want(labels, dict)
    for key, value in (want(selector, dict).get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for each in selector.get("matchExpressions") or ():
        values, found = each.get("values") or [], labels.get(each.get("key"))
        match each.get("operator"):
            case "In":
                selected = found in values
            case "NotIn":
                selected = found not in values
            case "Exists":
                selected = found is not None
            case "DoesNotExist":
                selected = found is None
            case _:
                raise bad("unknown operator in the selector")
        if not selected:
            return False
    return True
