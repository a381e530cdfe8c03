"""Which kinds are served: the built-in ones and those of CRDs, found by path or by name.

A `Kind` is one kind in one version. All versions of a kind share a collection of the store,
which holds objects in the storage version; CRDs without conversion differ by apiVersion only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType
from rulesengine.schema import Schema, builtin

# Kinds that share the storage of another one, in a form that can be translated.
SHARED: Mapping[str, str] = {"events.events.k8s.io": "events"}
# Served by a real server in a second form that would have to be translated field by field.
LEFT_OUT = frozenset((GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"),))


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column of a CRD. `path` is its JSONPath."""

    name: str
    type: str
    path: str
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind in one served version. `crd` is the name of its CRD, "" for built-in kinds.

    `storage` is the apiVersion that stored objects have.
    """

    resource: ResourceType
    collection: str
    storage: str
    crd: str = ""
    given: Schema | None = None  # of a CRD; a built-in kind's is looked up when first needed
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    scale: Mapping[str, str] | None = None
    terminating: bool = False
    list_kind: str = ""
    raw_schema: Object | None = field(default=None, compare=False)

    @property
    def gvk(self) -> GroupVersionKind:
        return self.resource.gvk

    @property
    def schema(self) -> Schema:
        return self.given or builtin.schema(self.gvk) or Schema.ANY

    @property
    def group_kind(self) -> GroupKind:
        return self.resource.gvk.group_kind

    @property
    def namespaced(self) -> bool:
        return self.resource.namespaced

    @property
    def custom(self) -> bool:
        return bool(self.crd)

    @property
    def has_status(self) -> bool:
        return "status" in self.resource.subresources

    @property
    def stored(self) -> bool:
        """Whether objects of it can be kept (reviews, for one, are only answered)."""
        return "list" in self.resource.verbs


@cache
def builtin_kinds() -> tuple[Kind, ...]:
    """Every kind a bare server serves; preferred versions come first within their group."""
    found = []
    storage: dict[str, str] = {}
    for resource in builtin.resources():
        if resource.gvk in LEFT_OUT:
            continue
        collection = SHARED.get(resource.group_resource, resource.group_resource)
        storage.setdefault(collection, resource.gvk.api_version)
        found.append(Kind(resource, collection, storage[collection], list_kind=f"{resource.gvk.kind}List"))
    return tuple(found)


class Registry:
    """`revision` moves whenever what is served does; documents made from it are cached by it."""

    def __init__(self) -> None:
        self.revision = 0
        self._builtin = builtin_kinds()
        self._paths = {(k.gvk.group, k.gvk.version, k.resource.plural): k for k in self._builtin}
        self._kinds = {k.gvk: k for k in self._builtin}
        self._crds: dict[str, tuple[Kind, ...]] = {}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._paths.get((group, version, plural))

    def serves(self, group: str, version: str) -> bool:
        """Whether there is such a group-version."""
        return any(key[0] == group and key[1] == version for key in self._paths)

    def kind(self, gvk: GroupVersionKind) -> Kind | None:
        return self._kinds.get(gvk)

    def of_group_kind(self, group: str, kind: str) -> Kind | None:
        """A kind in whatever version it is served."""
        for gvk, found in self._kinds.items():
            if gvk.group == group and gvk.kind == kind:
                return found
        return None

    def schemas(self, kind: Kind) -> Mapping[str, Schema]:
        """ApiVersion → schema of every served version of a CRD's kind."""
        return {k.gvk.api_version: k.schema for k in self._crds.get(kind.crd, ())}

    def in_collection(self, collection: str) -> Kind | None:
        """The kind in its storage version, or in any other one that is served."""
        same = [k for k in self._kinds.values() if k.collection == collection]
        return next((k for k in same if k.gvk.api_version == k.storage), same[0] if same else None)

    def set_crd(self, name: str, kinds: Iterable[Kind]) -> None:
        """Serves the kinds of a CRD, in place of what it served before."""
        self.drop_crd(name)
        served = tuple(kinds)
        self._crds[name] = served
        for kind in served:
            self._paths[(kind.gvk.group, kind.gvk.version, kind.resource.plural)] = kind
            self._kinds[kind.gvk] = kind

    def drop_crd(self, name: str) -> None:
        self.revision += 1
        for kind in self._crds.pop(name, ()):
            self._paths.pop((kind.gvk.group, kind.gvk.version, kind.resource.plural), None)
            self._kinds.pop(kind.gvk, None)

    def groups(self) -> dict[str, dict[str, list[Kind]]]:
        """Group → version → kinds, as discovery lists them."""
        found: dict[str, dict[str, list[Kind]]] = {}
        custom = sorted((k for ks in self._crds.values() for k in ks), key=lambda k: k.gvk.group)
        for kind in (*self._builtin, *custom):
            found.setdefault(kind.gvk.group, {}).setdefault(kind.gvk.version, []).append(kind)
        for group, versions in found.items():
            if len(versions) > 1:
                found[group] = dict(sorted(versions.items(), key=lambda v: version_order(v[0]), reverse=True))
        return found


def version_order(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order of versions: v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > anything else."""
    match = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if match is None:
        return (0, 0, 0, version)
    stage = {None: 3, "beta": 2, "alpha": 1}[match[2]]
    return (stage, int(match[1]), int(match[3] or 0), "")
