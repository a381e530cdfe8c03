"""One object seen in the versions in which its managers wrote: each has a schema of its own.

What is atomic in one version may be shared in another, so a change is compared in the
version of each manager's entry. Values are taken as they are: that is what conversion
strategy None does, and nearly all that conversions of built-in kinds do to what SSA looks at.
"""

from __future__ import annotations

from collections.abc import Mapping

from rulesengine.core.json import Object
from rulesengine.schema import Schema
from rulesengine.ssa.compare import Comparison, compare
from rulesengine.ssa.fieldset import Tree

Versions = Mapping[str, Schema]


class Shapes:
    """The schemas of a kind by apiVersion; without `versions` every version is as the one in use."""

    def __init__(self, schema: Schema, version: str, versions: Versions | None) -> None:
        self.schema = schema
        self.version = version
        self._versions = versions

    def at(self, version: str) -> Schema | None:
        """None: the version is no longer served, so what was owned in it is owned by nobody."""
        if version == self.version or self._versions is None:
            return self.schema
        return self._versions.get(version)


class Changes:
    """What differs between two states, in whatever version it is asked for."""

    def __init__(self, shapes: Shapes, before: Object, after: Object, reset: Tree) -> None:
        self._shapes = shapes
        self._before = before
        self._after = after
        self._reset = reset
        self._known: list[tuple[Schema, bool, Comparison]] = []

    def at(self, version: str) -> Comparison | None:
        """None for a version that is no longer served."""
        schema = self._shapes.at(version)
        if schema is None:
            return None
        own = version == self._shapes.version
        for known, as_own, changes in self._known:
            if known is schema and as_own is own:
                return changes
        changes = compare(schema, self._before, self._after)
        if own:  # as the server: what an endpoint ignores is known for its own version only
            changes = changes.without(self._reset)
        self._known.append((schema, own, changes))
        return changes
