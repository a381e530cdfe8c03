"""A schema with every kind of list and map, the kinds that tests use, and made-up values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin, structural

Value = Any
NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
T0, T1 = "2026-01-05T08:00:00Z", "2026-01-05T08:01:00Z"

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
        "number": {"type": "number"},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "atomic": {"type": "array", "items": PAIR},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {**PAIR, "required": ["id"]},
        },
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "proto"],
            "items": {
                "type": "object",
                "properties": {"port": {"type": "integer"}, "proto": {**TEXT, "default": "TCP"}, "to": TEXT},
            },
        },
        "map": {"type": "object", "additionalProperties": TEXT},
        "structs": {"type": "object", "additionalProperties": PAIR},
        "whole": {"type": "object", "additionalProperties": TEXT, "x-kubernetes-map-type": "atomic"},
        "struct": {"type": "object", "properties": {"deep": PAIR}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
THING: Schema = structural.version_schema({"type": "object", "properties": {"spec": SPEC, "status": PAIR}})


def kind(group: str, version: str, name: str) -> Schema:
    schema = builtin.schema(GroupVersionKind(group, version, name))
    assert schema is not None
    return schema


CONFIG_MAP = kind("", "v1", "ConfigMap")
DEPLOYMENT = kind("apps", "v1", "Deployment")
SERVICE = kind("", "v1", "Service")


def thing(spec: Value = None, **metadata: Value) -> Value:
    body: Value = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x", **metadata}}
    return body if spec is None else {**body, "spec": spec}


def config_map(data: Value = None, **metadata: Value) -> Value:
    body: Value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", **metadata}}
    return body if data is None else {**body, "data": data}


texts = st.sampled_from(["a", "b", "c<&>", "é"])
pairs = st.fixed_dictionaries(
    {}, optional={"id": texts, "n": st.integers(0, 2), "m": st.dictionaries(texts, texts, max_size=2)}
)
anything = st.recursive(
    st.one_of(texts, st.booleans(), st.integers(0, 2), st.just(1.5)),
    lambda below: st.one_of(st.lists(below, max_size=2), st.dictionaries(texts, below, max_size=2)),
    max_leaves=5,
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "text": texts,
        "number": st.sampled_from([0, 1, 1.5]),
        "set": st.lists(texts, unique=True),
        "atomic": st.lists(pairs, max_size=3),
        "keyed": st.lists(
            st.builds(lambda key, pair: {**pair, "id": key}, texts, pairs), unique_by=lambda each: each["id"]
        ),
        "ports": st.lists(
            st.fixed_dictionaries(
                {"port": st.integers(0, 2)}, optional={"proto": st.sampled_from(["TCP", "UDP"]), "to": texts}
            ),
            unique_by=lambda each: (each["port"], each.get("proto", "TCP")),
        ),
        "map": st.dictionaries(texts, texts, max_size=3),
        "structs": st.dictionaries(texts, pairs, max_size=2),
        "whole": st.dictionaries(texts, texts, max_size=2),
        "struct": st.fixed_dictionaries({}, optional={"deep": pairs}),
        "free": st.dictionaries(texts, anything, max_size=2),
    },
)
metadatas = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(texts, texts, max_size=2),
        "finalizers": st.lists(texts, unique=True),
    },
)
things = st.builds(lambda spec, metadata: thing(spec, **metadata), specs, metadatas)
