"""What is expected against what is there: maps contain, lists are as long and in the same order."""

from __future__ import annotations

import difflib
from typing import Any

from rulesengine import api
from rulesengine.core.json import Json, Object


def differs(wanted: Json, found: Json) -> bool:
    """Whether `found` does not contain `wanted`."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return any(name not in found or differs(value, found[name]) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) != len(found) or any(map(differs, wanted, found))
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is not found
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        return wanted != found
    return type(wanted) is not type(found) or wanted != found


def projected(wanted: Json, found: Json) -> Json:
    """The part of `found` that `wanted` speaks of; lists of another length are shown whole."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return {name: projected(value, found[name]) for name, value in wanted.items() if name in found}
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [projected(a, b) for a, b in zip(wanted, found, strict=True)]
    return found


def difference(wanted: Object, found: Object) -> str:
    """Both as YAML in a unified diff: - what is expected, + what was there."""
    before = api.dump(wanted).splitlines()
    after = api.dump(projected(wanted, found)).splitlines()
    lines = difflib.unified_diff(before, after, "expected", "found", lineterm="", n=100)
    return "\n".join(line for line in lines if not line.startswith("@@"))


def named(body: Object) -> str:
    """`ConfigMap a/x`: an object for messages."""
    meta: Any = body.get("metadata") or {}
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{body.get('kind')} {where}{meta.get('name')}"
