"""An apply configuration without what an applier cannot want.

Server-owned metadata would be stripped by the server, nulls would be owned by nobody, and a
Secret's `stringData` is written into `data` by the server and then never seen again. Empty
labels, annotations, finalizers and owner references say nothing, but a server stores them
in a custom resource, shows none, and moves resourceVersion at every apply that has them.
"""

from __future__ import annotations

import base64

from rulesengine.core.json import Json, Object

SERVER_OWNED = frozenset(
    (
        *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
        *("deletionTimestamp", "deletionGracePeriodSeconds"),
    )
)


def strip(desired: Object) -> Object:
    """A copy of `desired` that can be applied."""
    kept: Object = _without_nulls(desired)
    metadata = kept.get("metadata")
    if isinstance(metadata, dict):
        kept["metadata"] = {
            key: value
            for key, value in metadata.items()
            if key not in SERVER_OWNED and not (isinstance(value, dict | list) and not value)
        }
    if kept.get("kind") == "Secret" and kept.get("apiVersion") == "v1" and "stringData" in kept:
        _encode_texts(kept)
    return kept


def _encode_texts(secret: Object) -> None:
    texts = secret.pop("stringData")
    if not isinstance(texts, dict):
        return
    encoded = {
        key: base64.b64encode(value.encode()).decode() if isinstance(value, str) else value
        for key, value in texts.items()
    }
    secret["data"] = {**(secret.get("data") or {}), **encoded}


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
