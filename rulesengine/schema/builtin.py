"""Kinds and resources of Kubernetes itself, from a data file made by `schema.collect`.

The file is read when first asked for and holds raw definitions; a kind's nodes are built
when that kind is asked for, so that naming one kind costs milliseconds.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.schema.model import Schema
from rulesengine.schema.openapi import REF_PREFIX, Definitions, Kinds, kind_of

VERSION = "1.37"
FILE = f"builtin-{VERSION}.json.gz"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class _Data:
    raw: Mapping[str, Object]
    served: tuple[Object, ...]
    definitions: Definitions
    kinds: Kinds


@cache
def _data() -> _Data:
    packed = (Path(__file__).parent / "data" / FILE).read_bytes()
    content = json.decode_object(gzip.decompress(packed))
    raw = content["definitions"]
    definitions = Definitions(raw)
    names = {gvk: name for name, each in raw.items() if (gvk := kind_of(each))}
    return _Data(raw, tuple(content["resources"]), definitions, Kinds(definitions, names))


def schema(gvk: GroupVersionKind) -> Schema | None:
    """The schema of a built-in kind; None for any other."""
    return _data().kinds.get(gvk)


def kinds() -> Mapping[GroupVersionKind, Schema]:
    """All built-in kinds, lists and other types of requests among them."""
    return _data().kinds


@cache
def resources() -> tuple[ResourceType, ...]:
    """What a server without any extension serves, in the order of its discovery."""
    return tuple(_resource(each) for each in _data().served)


@cache
def object_meta() -> Schema:
    """The schema of `metadata`."""
    return _data().definitions.named(OBJECT_META)


def document(group: str, version: str) -> Object:
    """An OpenAPI v3 document (without paths and prose) of one built-in group-version."""
    raw = _data().raw
    wanted = [name for name, each in raw.items() if (gvk := kind_of(each)) and gvk[:2] == (group, version)]
    found: dict[str, Object] = {}
    while wanted:
        name = wanted.pop()
        if name not in found and name in raw:
            found[name] = raw[name]
            wanted += _references(raw[name])
    info = {"title": "Kubernetes", "version": f"v{VERSION}"}
    return {"openapi": "3.0.0", "info": info, "components": {"schemas": found}}


def _references(raw: object) -> list[str]:
    """The names of the definitions that a raw schema leads to directly."""
    if isinstance(raw, list):
        return [name for each in raw for name in _references(each)]
    if not isinstance(raw, dict):
        return []
    ref = raw.get("$ref")
    own = [ref.removeprefix(REF_PREFIX)] if isinstance(ref, str) else []
    return own + [name for each in raw.values() for name in _references(each)]


def _resource(raw: Object) -> ResourceType:
    return ResourceType(
        GroupVersionKind(raw["group"], raw["version"], raw["kind"]),
        raw["plural"],
        namespaced=raw["namespaced"],
        verbs=frozenset(raw["verbs"]),
        subresources=frozenset(raw.get("subresources", ())),
        singular=raw.get("singular", ""),
        short_names=tuple(raw.get("shortNames", ())),
        categories=tuple(raw.get("categories", ())),
    )
