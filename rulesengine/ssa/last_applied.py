"""Moving objects from kubectl's client-side apply to server-side apply.

Client-side apply keeps the last configuration in an annotation. The first server-side apply
by manager "kubectl" may therefore take fields that this annotation names and that still are
as it says, whoever owns them; and it keeps the annotation up to date, so that a user can go
back. Only that manager: it is the server's rule.
"""

from __future__ import annotations

from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.json import Object
from rulesengine.schema import Schema
from rulesengine.ssa.compare import compare
from rulesengine.ssa.elements import Unidentified, text
from rulesengine.ssa.fieldset import Tree, difference
from rulesengine.ssa.managers import ManagerId, without_managers
from rulesengine.ssa.merge import copied
from rulesengine.ssa.ownership import owned
from rulesengine.ssa.typed import InvalidConfig, check

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
LIMIT = 256 * 1024  # bytes, of all annotations of an object


class LastApplied:
    """The annotation, as one apply finds it and leaves it."""

    def __init__(self, schema: Schema, config: Object, live: Object | None, manager: str) -> None:
        self._schema = schema
        self._config = config
        self._live = live
        self._ours = manager == KUBECTL

    def left_over(self, contested: dict[ManagerId, Tree]) -> dict[ManagerId, Tree] | None:
        """The conflicts that the annotation does not allow away; None when it says nothing."""
        allowed = self._allowed() if self._ours else None
        if allowed is None:
            return None
        rest = {who: difference(fields, allowed) for who, fields in contested.items()}
        return {who: fields for who, fields in rest.items() if fields}

    def renewed(self, after: Object) -> Object:
        """The result with the annotation telling of this configuration, if it had one."""
        annotations = (after.get("metadata") or {}).get("annotations") or {}
        if not self._ours or ANNOTATION not in annotations:
            return after
        annotations = {**annotations, ANNOTATION: self._written()}
        if sum(len(key) + len(value) for key, value in annotations.items()) > LIMIT:
            del annotations[ANNOTATION]
        return after | {"metadata": {**after["metadata"], "annotations": annotations}}

    def _written(self) -> str:
        config = copied(self._config)
        annotations = (config.get("metadata") or {}).get("annotations")
        if annotations:
            annotations.pop(ANNOTATION, None)
        return text(_sorted(config)) + "\n"

    def _allowed(self) -> Tree | None:
        """The fields of the annotation that live still has with the same values."""
        said = ((self._live or {}).get("metadata") or {}).get("annotations") or {}
        try:
            last = json.decode_object(said.get(ANNOTATION) or "")
        except InvalidJSON:
            return None
        if self._live is None or last.get("apiVersion") != self._config.get("apiVersion"):
            return None
        try:
            check(self._schema, last)
            changes = compare(self._schema, last, without_managers(self._live))
        except (InvalidConfig, Unidentified):
            return None
        fields = owned(self._schema, last)
        return difference(difference(fields, changes.written), changes.removed)


def _sorted(value: json.Json) -> json.Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
