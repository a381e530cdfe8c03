"""Which kinds the server serves, and where: asked for once, then known.

All of it comes in two requests (aggregated discovery); servers without that are asked for
each group-version when it is first needed. A kind that is missing is looked for again in its
own group-version only, at most every few seconds: that answers as soon as a CRD is
established, while the aggregated document may lag behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from rulesengine.client.client import Client
from rulesengine.client.errors import APIError, NotFound
from rulesengine.core.clock import Clock, SystemClock
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
LOOK_AGAIN = 5.0  # seconds between two looks for the same missing group-version

Resources = dict[GroupVersionKind, ResourceType]
T = TypeVar("T")


class Discovery:
    """`known` is what has been heard so far; `resource` asks where that is not enough."""

    def __init__(self, client: Client, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        # group → version (in the server's order of preference) → resources;
        # None: the version is there, but was not asked yet (plain discovery)
        self._groups: dict[str, dict[str, Resources | None]] = {}
        self._loaded = False
        self._looked: dict[tuple[str, str], float] = {}
        self._asking = asyncio.Lock()

    def known(self, gvk: GroupVersionKind) -> ResourceType | None:
        """What has been heard of a kind, without asking."""
        resources = self._groups.get(gvk.group, {}).get(gvk.version)
        return resources.get(gvk) if resources else None

    def preferred(self, kind: GroupKind) -> GroupVersionKind | None:
        """A kind in the version that the server would rather have it in, as far as heard."""
        for version, resources in self._groups.get(kind.group, {}).items():
            gvk = GroupVersionKind(kind.group, version, kind.kind)
            if resources and gvk in resources:
                return gvk
        return None

    def all(self) -> tuple[ResourceType, ...]:
        """Everything heard so far, by group, version and name."""
        return tuple(
            resource
            for versions in self._groups.values()
            for resources in versions.values()
            for resource in (resources or {}).values()
        )

    async def resource(self, gvk: GroupVersionKind) -> ResourceType | None:
        """How the server serves a kind; None when it does not. Raises APIError when it cannot say."""
        if (found := self.known(gvk)) is not None:
            return found
        async with self._asking:
            if not self._loaded:
                await self._load()
            if (found := self.known(gvk)) is not None or not self._may_look(gvk):
                return found
            await self._look(gvk.group, gvk.version)
        return self.known(gvk)

    async def refresh(self, group: str | None = None) -> None:
        """Asks anew, for one group exactly (a CRD of it changed) or for everything."""
        async with self._asking:
            if group is None or not self._loaded:
                await self._load()
            elif group == "":
                await self._look("", "v1")
            else:
                await self._reload(group)

    def forget(self, gvk: GroupVersionKind) -> None:
        """Lets the next question about a kind ask the server at once: what was heard may be wrong."""
        self._looked.pop((gvk.group, gvk.version), None)
        if resources := self._groups.get(gvk.group, {}).get(gvk.version):
            resources.pop(gvk, None)

    # --- asking; the lock is held ---

    def _may_look(self, gvk: GroupVersionKind) -> bool:
        versions = self._groups.get(gvk.group, {})
        if gvk.version in versions and versions[gvk.version] is None:
            return True
        before = self._looked.get((gvk.group, gvk.version))
        return before is None or self._clock.monotonic() - before >= LOOK_AGAIN

    async def _load(self) -> None:
        groups: dict[str, dict[str, Resources | None]] = {}
        for path in ("/api", "/apis"):
            groups.update(_groups(await self._client.read(path, AGGREGATED)))
        self._groups = groups
        self._loaded = True
        self._looked.clear()
        now = self._clock.monotonic()
        # heard a moment ago: what is missing now need not be asked for again at once
        for group, versions in groups.items():
            self._looked.update({(group, v): now for v, found in versions.items() if found is not None})

    async def _reload(self, group: str) -> None:
        try:
            listed = _decode(await self._client.read(f"/apis/{group}"), _Group)
        except NotFound:
            self._groups.pop(group, None)
            return
        names = [v.version for v in listed.versions]
        before = self._groups.get(group, {})
        # what was heard holds until it is heard anew: meanwhile others ask what is known
        self._groups[group] = {name: before.get(name) for name in names}
        for name in names:
            await self._look(group, name)

    async def _look(self, group: str, version: str) -> None:
        self._looked[(group, version)] = self._clock.monotonic()
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            listed = _decode(await self._client.read(path), _ResourceList)
        except NotFound:
            self._groups.get(group, {}).pop(version, None)
            return
        self._groups.setdefault(group, {})[version] = _plain(group, version, listed.resources)


# --- documents ---


class _Kind(msgspec.Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Subresource(msgspec.Struct):
    subresource: str = ""


class _AggregatedResource(msgspec.Struct, rename="camel"):
    resource: str = ""
    response_kind: _Kind | None = None
    scope: str = ""
    singular_resource: str = ""
    verbs: list[str] = []
    short_names: list[str] = []
    categories: list[str] = []
    subresources: list[_Subresource] = []


class _AggregatedVersion(msgspec.Struct, rename="camel"):
    version: str = ""
    resources: list[_AggregatedResource] = []
    freshness: str = "Current"


class _Meta(msgspec.Struct):
    name: str = ""


class _Aggregated(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    versions: list[_AggregatedVersion] = []


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct):
    name: str = ""
    versions: list[_Version] = []


class _Document(msgspec.Struct):
    """Whatever answers to /api and /apis: APIGroupDiscoveryList, APIVersions or APIGroupList."""

    kind: str = ""
    items: list[_Aggregated] = []
    versions: list[str] = []
    groups: list[_Group] = []


class _PlainResource(msgspec.Struct, rename="camel"):
    name: str = ""
    singular_name: str = ""
    namespaced: bool = False
    group: str = ""
    version: str = ""
    kind: str = ""
    verbs: list[str] = []
    short_names: list[str] = []
    categories: list[str] = []


class _ResourceList(msgspec.Struct):
    resources: list[_PlainResource] | None = None


def _decode(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise APIError(0, "BadAnswer", "the server's discovery document is malformed") from error


def _groups(data: bytes) -> dict[str, dict[str, Resources | None]]:
    document = _decode(data, _Document)
    if document.kind == "APIGroupDiscoveryList":
        return {
            item.metadata.name: {
                version.version: _aggregated(item.metadata.name, version) for version in item.versions
            }
            for item in document.items
        }
    if document.versions:
        return {"": dict.fromkeys(document.versions)}
    return {group.name: dict.fromkeys(v.version for v in group.versions) for group in document.groups}


def _aggregated(group: str, version: _AggregatedVersion) -> Resources | None:
    if version.freshness != "Current" and not version.resources:
        return None  # an aggregated API server that did not answer; its own path may
    found: Resources = {}
    for entry in version.resources:
        if entry.response_kind is None or not entry.response_kind.kind:
            continue
        gvk = GroupVersionKind(group, version.version, entry.response_kind.kind)
        found[gvk] = ResourceType(
            gvk,
            entry.resource,
            namespaced=entry.scope == "Namespaced",
            verbs=frozenset(entry.verbs),
            subresources=frozenset(s.subresource for s in entry.subresources),
            singular=entry.singular_resource,
            short_names=tuple(entry.short_names),
            categories=tuple(entry.categories),
        )
    return found


def _plain(group: str, version: str, entries: Iterable[_PlainResource] | None) -> Resources:
    listed = list(entries or ())
    below: dict[str, set[str]] = {}
    for entry in listed:
        parent, slash, name = entry.name.partition("/")
        if slash:
            below.setdefault(parent, set()).add(name)
    found: Resources = {}
    for entry in listed:
        if "/" in entry.name:
            continue
        gvk = GroupVersionKind(group, version, entry.kind)
        found[gvk] = ResourceType(
            gvk,
            entry.name,
            namespaced=entry.namespaced,
            verbs=frozenset(entry.verbs),
            subresources=frozenset(below.get(entry.name, ())),
            singular=entry.singular_name,
            short_names=tuple(entry.short_names),
            categories=tuple(entry.categories),
        )
    return found
