"""One model of a difference between two states of an object, for every place that shows one.

A difference is a list of field changes; from it, or from the same two states, come the
unified text, the JSON Patch and the one-line summary. The only door to jsonpatch.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jsonpatch

from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Json, Object, same

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NAMES = ("name", "type", "key", "uid", "id")  # what items of lists are usually told apart by
_ABSENT: Any = object()


class PatchError(RulesEngineError):
    """A JSON Patch is malformed, or does not fit the document; `test` says a test in it failed."""

    def __init__(self, message: str, *, test: bool = False) -> None:
        self.test = test
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Change:
    """One field: `op` is add, remove or replace; `old` and `new` are None where there is none.

    `path` reads `spec.template.containers[name="app"].image`, `metadata.labels["a/b"]`,
    `spec.args[0]`; "" is the object itself.
    """

    path: str
    op: str
    old: Json = None
    new: Json = None


def compare(before: Object | None, after: Object | None) -> tuple[Change, ...]:
    """The fields that differ, in the order of the objects. None: the object is not there.

    List items are told apart by a name where all have one of their own, else by position.
    """
    old = _ABSENT if before is None else before
    new = _ABSENT if after is None else after
    return tuple(_changes("", old, new))


def _changes(path: str, old: Json, new: Json) -> Iterator[Change]:
    if old is _ABSENT and new is _ABSENT:
        return
    if old is _ABSENT:
        yield Change(path, "add", None, new)
    elif new is _ABSENT:
        yield Change(path, "remove", old, None)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            yield from _changes(_member(path, key), old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_changes(path, old, new)
    elif not same(old, new):
        yield Change(path, "replace", old, new)


def _list_changes(path: str, old: list[Json], new: list[Json]) -> Iterator[Change]:
    name = _name_of(old + new)
    if name and _distinct(old, name) and _distinct(new, name):
        left, right = ({item[name]: item for item in items} for items in (old, new))
        for key in (*left, *(key for key in right if key not in left)):
            at = f"{path}[{name}={json.encode(key).decode()}]"
            yield from _changes(at, left.get(key, _ABSENT), right.get(key, _ABSENT))
        if [key for key in left if key in right] != [key for key in right if key in left]:
            yield Change(path, "replace", old, new)  # their order is what differs
        return
    for index in range(max(len(old), len(new))):
        left, right = (items[index] if index < len(items) else _ABSENT for items in (old, new))
        yield from _changes(f"{path}[{index}]", left, right)


def _name_of(items: list[Json]) -> str:
    """The key by which to tell items apart; "" when there is none."""
    if not items or not all(isinstance(item, dict) for item in items):
        return ""
    return next((name for name in _NAMES if all(isinstance(item.get(name), str) for item in items)), "")


def _distinct(items: list[Json], name: str) -> bool:
    return len({item[name] for item in items}) == len(items)


def _member(path: str, key: str) -> str:
    if not _PLAIN.fullmatch(key):
        return f"{path}[{json.encode(key).decode()}]"
    return f"{path}.{key}" if path else key


# --- as text ---


def unified(
    before: Object | None,
    after: Object | None,
    *,
    dump: Callable[[Object], str],
    name: str = "object",
    context: int = 3,
) -> str:
    """A unified diff as `kubectl diff` prints it; "" when nothing differs. `dump` writes YAML."""
    old, new = (dump(each).splitlines() if each is not None else [] for each in (before, after))
    lines = difflib.unified_diff(old, new, f"LIVE/{name}", f"MERGED/{name}", lineterm="", n=context)
    text = "\n".join(lines)
    return text + "\n" if text else ""


def summary(changes: Sequence[Change], limit: int = 5) -> str:
    """One line without values: `~spec.replicas +metadata.labels.a -spec.paused, 3 more`."""
    signs = {"add": "+", "remove": "-", "replace": "~"}
    shown = " ".join(f"{signs[change.op]}{change.path or 'object'}" for change in changes[:limit])
    more = len(changes) - limit
    return f"{shown}, {more} more" if more > 0 else shown


# --- as JSON Patch ---


def json_patch(before: Object | None, after: Object | None) -> list[Object]:
    """The RFC 6902 operations that make `after` of `before`; none of None is a whole document."""
    if before is None or after is None:
        if before is after:
            return []
        return (
            [{"op": "remove", "path": ""}] if after is None else [{"op": "add", "path": "", "value": after}]
        )
    operations: list[Object] = jsonpatch.make_patch(before, after).patch
    return operations


def apply_json_patch(document: Json, patch: Iterable[Object]) -> Json:
    """The patched document; the one given is not changed. Raises PatchError."""
    try:
        return jsonpatch.JsonPatch(list(patch)).apply(document)
    except jsonpatch.JsonPatchTestFailed as error:
        raise PatchError("a test operation of the JSON Patch failed", test=True) from error
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise PatchError(f"the JSON Patch does not fit the object ({type(error).__name__})") from error
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise PatchError("the JSON Patch is malformed: expected a list of operations") from error
