"""One request as the handlers see it, and what they answer with.

Transports (HTTP, in process) make a `Call` and send an `Answer` or `Stream`; in between
there is no notion of sockets. `Target` says what of the API a path means.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupKind
from rulesengine.embedded.errors import (
    Refused,
    bad_request,
    invalid,
    no_such_path,
    not_found,
    required,
    unsupported,
)
from rulesengine.embedded.kinds import Kind, Registry

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Call:
    """`path` is decoded segment by segment in `segments`; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def segments(self) -> tuple[str, ...]:
        return split(self.path)

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("1", "true")

    def number(self, name: str) -> int:
        text = self.query.get(name, "")
        if not text:
            return 0
        if not text.isdecimal():
            raise bad_request(f"invalid value for {name}: strconv.ParseInt: parsing {text!r}: invalid syntax")
        return int(text)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that goes on: lines without their ends. `close` must be called when nobody reads on."""

    lines: AsyncIterator[bytes]
    close: Callable[[], None]
    content_type: str = JSON
    status: int = 200


@lru_cache(maxsize=4096)
def split(path: str) -> tuple[str, ...]:
    return tuple(unquote(part) for part in path.strip("/").split("/"))


def call(method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Call:
    """From an absolute, percent-encoded path with its query."""
    path, _, query = address.partition("?")
    parameters = dict(parse_qsl(query, keep_blank_values=True)) if query else {}
    return Call(method, path, parameters, {k.lower(): v for k, v in headers.items()}, body or b"")


def answer(value: Object, status: int = 200, warnings: tuple[str, ...] = ()) -> Answer:
    return Answer(status, json.encode(value) + b"\n", JSON, warning_header(warnings))


def warning_header(warnings: tuple[str, ...]) -> dict[str, str]:
    if not warnings:
        return {}
    quoted = (w.replace("\\", "\\\\").replace('"', '\\"') for w in warnings)
    return {"Warning": ", ".join(f'299 - "{text}"' for text in quoted)}


@dataclass(frozen=True, slots=True)
class Target:
    """What a path below a group-version means: a collection (no name), an object or a part of it."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target(registry: Registry, group: str, version: str, rest: tuple[str, ...]) -> Target:
    """Finds what `rest` of a path addresses; raises Refused when there is no such thing."""
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) > 2
        and not (len(rest) == 3 and rest[2] in ("status", "finalize"))
    ):
        namespace, rest = rest[1], rest[2:]
    kind = registry.find(group, version, rest[0])
    if kind is None or len(rest) > 3 or not all(rest):
        raise no_such_path()
    if namespace and not kind.namespaced:
        raise no_such_path()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if name and kind.namespaced and not namespace:
        raise no_such_path()
    if subresource and subresource not in kind.resource.subresources:
        raise not_found(kind.resource, name) if kind.custom else no_such_path()
    return Target(kind, namespace, name, subresource)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The query of a write. `validation` is Strict, Warn or Ignore."""

    manager: str
    force: bool = False
    dry_run: bool = False
    validation: str = "Warn"


def write_options(made: Call, *, applying: bool = False) -> WriteOptions:
    query = made.query
    dry_run = query.get("dryRun", "")
    options = GroupKind("meta.k8s.io", "PatchOptions" if made.method == "PATCH" else "CreateOptions")
    if dry_run not in ("", "All"):
        raise _unsupported(options, "dryRun", dry_run, ("All",), list_value=True)
    validation = query.get("fieldValidation") or "Warn"
    if validation not in ("Strict", "Warn", "Ignore"):
        raise _unsupported(options, "fieldValidation", validation, ("Ignore", "Strict", "Warn", ""))
    manager = query.get("fieldManager", "")
    if applying and not manager:
        cause = required("fieldManager", "is required for apply patch")
        raise invalid(options, "", [cause])
    if not manager:
        manager = made.headers.get("user-agent", "").partition("/")[0][:128] or "unknown"
    return WriteOptions(manager, made.flag("force"), dry_run == "All", validation)


def _unsupported(
    options: GroupKind, field_name: str, value: str, allowed: tuple[str, ...], *, list_value: bool = False
) -> Refused:
    shown = [value] if list_value else value
    return invalid(options, "", [unsupported(field_name, shown, allowed)])
