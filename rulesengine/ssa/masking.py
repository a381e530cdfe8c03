"""Hiding values that come from Secrets wherever objects are shown.

A hidden value is replaced by a short keyed hash: two that are equal stay equal within one
run, so that a diff still shows what changes, and nobody can look the value up, since the
key is drawn per run.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from rulesengine.core import json
from rulesengine.core.json import Json, Object

VISIBLE = frozenset(("apiVersion", "kind", "metadata"))
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Path = tuple[str, ...]


class Mask:
    """Hides values with a key of its own."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def hide(self, value: Json) -> str:
        """What is shown in a value's place."""
        digest = hashlib.blake2b(json.encode_sorted(value), key=self._key, digest_size=4).hexdigest()
        return f"<hidden {digest}>"

    def object(self, obj: Object | None, paths: Iterable[Path] | None = None) -> Object | None:
        """A copy with the values at `paths` hidden ("*": any key or item); None: all but metadata."""
        if obj is None:
            return None
        shown = dict(obj)
        if paths is None:
            for key in shown.keys() - VISIBLE:
                shown[key] = self._below(shown[key])
        else:
            for path in paths:
                shown = self._at(shown, path)
        return self._annotation(shown)

    def _annotation(self, obj: Object) -> Object:
        """The annotation in which kubectl repeats the whole object is hidden as well."""
        metadata = obj.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if not isinstance(annotations, dict) or LAST_APPLIED not in annotations:
            return obj
        hidden = {**annotations, LAST_APPLIED: self.hide(annotations[LAST_APPLIED])}
        return obj | {"metadata": {**obj["metadata"], "annotations": hidden}}

    def _below(self, value: Json) -> Json:
        """The same shape with every scalar hidden."""
        if isinstance(value, dict):
            return {key: self._below(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._below(each) for each in value]
        return self.hide(value)

    def _at(self, value: Json, path: Path) -> Json:
        if not path:
            return self._below(value)
        step, rest = path[0], path[1:]
        if isinstance(value, dict):
            return {key: self._at(each, rest) if step in (key, "*") else each for key, each in value.items()}
        if isinstance(value, list) and step == "*":
            return [self._at(each, rest) for each in value]
        return value if isinstance(value, list) else self.hide(value)
