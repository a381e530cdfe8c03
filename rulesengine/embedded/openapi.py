"""OpenAPI documents: what kubectl needs for explain and for asking the server to validate.

Schemas of built-in kinds come without prose. Paths only say which verbs a kind has and that
the server checks fields (`fieldValidation`); nobody here reads more of them.
"""

from __future__ import annotations

import hashlib
from typing import Any

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.embedded.calls import Answer, answer
from rulesengine.embedded.errors import no_such_path
from rulesengine.embedded.kinds import Kind, Registry
from rulesengine.schema import builtin

GVK = "x-kubernetes-group-version-kind"
ACTION = "x-kubernetes-action"
META_REF = f"#/components/schemas/{builtin.OBJECT_META}"
PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


class OpenAPI:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[str, bytes] = {}
        self._revision = -1

    def index(self) -> Answer:
        """`/openapi/v3`: every group-version and where its document is."""
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._hash(name)}"}
            for name in self._names()
        }
        return answer({"paths": paths})

    def document(self, name: str) -> Answer:
        """`/openapi/v3/apis/GROUP/VERSION`."""
        found = self._names().get(name)
        if found is None:
            raise no_such_path()
        self._refresh()
        if name not in self._made:
            self._made[name] = json.encode(self._make(*found))
        return Answer(200, self._made[name])

    def version_2(self) -> Answer:
        """`/openapi/v2`: valid and empty; clients of this age ask for version 3 first."""
        info = {"title": "Kubernetes", "version": f"v{builtin.VERSION}"}
        return answer({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}})

    def _names(self) -> dict[str, tuple[str, str]]:
        found = {}
        for group, versions in self._registry.groups().items():
            for version in versions:
                name = f"apis/{group}/{version}" if group else f"api/{version}"
                found[name] = (group, version)
        return found

    def _refresh(self) -> None:
        if self._revision != self._registry.revision:
            self._made.clear()
            self._revision = self._registry.revision

    def _hash(self, name: str) -> str:
        """Changes when a document may have: clients keep what they have read by it."""
        group, version = self._names()[name]
        kinds = self._registry.groups()[group][version]
        marks = [f"{k.gvk} {json.digest(k.raw_schema).hex()}" for k in kinds if k.custom]
        text = f"{builtin.VERSION} {name} {' '.join(marks)}"
        return hashlib.sha256(text.encode()).hexdigest().upper()

    def _make(self, group: str, version: str) -> Object:
        document = builtin.document(group, version)
        schemas: dict[str, Any] = dict(document["components"]["schemas"])
        paths: dict[str, Any] = {}
        for kind in self._registry.groups()[group][version]:
            if kind.custom:
                schemas |= builtin.document("", "v1")["components"]["schemas"] if not schemas else {}
                schemas[_name(kind)] = _custom(kind)
            paths |= _paths(kind)
        return {**document, "paths": paths, "components": {"schemas": schemas}}


def _name(kind: Kind) -> str:
    reversed_group = ".".join(reversed(kind.gvk.group.split(".")))
    return f"{reversed_group}.{kind.gvk.version}.{kind.gvk.kind}"


def _custom(kind: Kind) -> Object:
    """A CRD's schema with what every object has."""
    raw = dict(kind.raw_schema or {})
    properties = {
        **(raw.get("properties") or {}),
        "apiVersion": {"type": "string", "description": "Version of the API this object is written in."},
        "kind": {"type": "string", "description": "Kind of this object."},
        "metadata": {"allOf": [{"$ref": META_REF}], "description": "Standard object's metadata."},
    }
    gvk = {"group": kind.gvk.group, "version": kind.gvk.version, "kind": kind.gvk.kind}
    return {**raw, "type": "object", "properties": properties, GVK: [gvk]}


def _paths(kind: Kind) -> dict[str, Object]:
    gvk = {"group": kind.gvk.group, "version": kind.gvk.version, "kind": kind.gvk.kind}
    root = f"/apis/{kind.gvk.group}" if kind.gvk.group else "/api"
    base = f"{root}/{kind.gvk.version}" + ("/namespaces/{namespace}" if kind.namespaced else "")
    collection = f"{base}/{kind.resource.plural}"

    def operation(action: str) -> Object:
        given = PARAMETERS if action in ("post", "put", "patch") else []
        return {ACTION: action, GVK: gvk, "parameters": given, "responses": {"200": {"description": "OK"}}}

    verbs = kind.resource.verbs
    listed = {"get": operation("list")} if "list" in verbs else {}
    created = {"post": operation("post")} if "create" in verbs else {}
    paths: dict[str, Object] = {collection: {**listed, **created}}
    item = {
        name: operation(name)
        for name, verb in (("get", "get"), ("put", "update"), ("patch", "patch"), ("delete", "delete"))
        if verb in verbs
    }
    if item:
        paths[collection + "/{name}"] = item
    return paths
