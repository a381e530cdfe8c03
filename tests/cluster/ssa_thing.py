"""A CRD with lists and maps of every sort, in two versions that differ in what they share."""

from __future__ import annotations

from typing import Any

Value = Any

TEXT = {"type": "string"}
PAIR = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "n": {"type": "integer"},
        "m": {"type": "object", "additionalProperties": TEXT},
    },
}
SPEC = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "maybe": {"type": "string", "nullable": True},
        "number": {"type": "number"},
        "either": {"x-kubernetes-int-or-string": True},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "numbers": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "atomicList": {"type": "array", "items": PAIR, "x-kubernetes-list-type": "atomic"},
        "plainList": {"type": "array", "items": PAIR},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {
                **PAIR,
                "required": ["id"],
                "properties": {
                    **PAIR["properties"],
                    "inner": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["id"],
                        "items": {**PAIR, "required": ["id"]},
                    },
                    "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                },
            },
        },
        "twoKeys": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "proto"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "proto": {"type": "string", "default": "TCP"},
                    "to": {"x-kubernetes-int-or-string": True},
                },
            },
        },
        "map": {"type": "object", "additionalProperties": TEXT},
        "mapOfLists": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        },
        "mapOfStructs": {"type": "object", "additionalProperties": PAIR},
        "atomicMap": {"type": "object", "additionalProperties": TEXT, "x-kubernetes-map-type": "atomic"},
        "atomicStruct": {**PAIR, "x-kubernetes-map-type": "atomic"},
        "struct": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"er": PAIR}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "partly": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": PAIR},
        },
    },
}
SECOND = {
    **SPEC,
    "properties": {
        **SPEC["properties"],
        "map": {**SPEC["properties"]["map"], "x-kubernetes-map-type": "atomic"},
    },
}


def crd() -> Value:
    def version(name: str, spec: Value, stored: bool) -> Value:
        root = {"type": "object", "properties": {"spec": spec, "status": PAIR}}
        schema = {"openAPIV3Schema": root}
        return {
            "name": name,
            "served": True,
            "storage": stored,
            "schema": schema,
            "subresources": {"status": {}},
        }

    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.diff.example.com"},
        "spec": {
            "group": "diff.example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version("v1", SPEC, True), version("v2", SECOND, False)],
        },
    }
