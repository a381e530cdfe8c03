"""Names of kinds and what the server says about them.

A kind is spoken of in three ways that must not be mixed: how a user writes it
(`apiVersion` and `kind`), what identifies an object whatever version reads it
(group and kind), and where the server serves it (a resource: group, version, plural).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class GroupKind(NamedTuple):
    """A kind without its version: what identifies objects."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersionKind(NamedTuple):
    """A kind as a user names it. The core group is the empty string."""

    group: str
    version: str
    kind: str

    @classmethod
    def parse(cls, api_version: str, kind: str) -> GroupVersionKind:
        """From the two fields of an object, `apps/v1` or `v1` and `Deployment`."""
        group, _, version = api_version.rpartition("/")
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


@dataclass(frozen=True, slots=True)
class ResourceType:
    """How the server serves one kind in one version (an entry of discovery).

    `plural` is the path segment, `verbs` what the server allows on it ("list",
    "watch", "patch", …), `subresources` the names behind it ("status", "scale").
    """

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def group_resource(self) -> str:
        """`deployments.apps`, `configmaps`: the server's own way to name it in messages."""
        return f"{self.plural}.{self.gvk.group}" if self.gvk.group else self.plural
