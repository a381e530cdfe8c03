"""What is served, in the two forms of discovery, and the version.

Documents are made when asked for and kept until what is served changes.
"""

from __future__ import annotations

from typing import Any

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.embedded import crds
from rulesengine.embedded.calls import Answer, Call, answer
from rulesengine.embedded.errors import page_not_found
from rulesengine.embedded.kinds import Kind, Registry
from rulesengine.schema import builtin

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# Kinds that a subresource speaks, where it is not the parent's own.
SUBRESOURCE_KINDS: dict[str, tuple[str, str, str]] = {
    "scale": ("autoscaling", "v1", "Scale"),
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
STATUS_VERBS = ("get", "patch", "update")
# Subresources that this server answers; others of a real server are not announced.
ANSWERED = frozenset(("status", "scale", "finalize"))


class Discovery:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[str, Object] = {}
        self._revision = -1

    def root(self, call: Call, root: str) -> Answer:
        """`/api` or `/apis`."""
        if "as=APIGroupDiscoveryList" in call.headers.get("accept", ""):
            return Answer(200, json.encode(self._document(f"aggregated {root}")), AGGREGATED)
        return answer(self._document(root))

    def group(self, group: str) -> Answer:
        """`/apis/GROUP`."""
        versions = self._registry.groups().get(group) if group else None
        if versions is None:
            raise page_not_found()
        return answer({"kind": "APIGroup", "apiVersion": "v1", **_group(group, list(versions))})

    def resources(self, group: str, version: str) -> Answer:
        """`/api/v1` or `/apis/GROUP/VERSION`."""
        kinds = self._registry.groups().get(group, {}).get(version)
        if kinds is None:
            raise page_not_found()
        listed = [entry for kind in kinds for entry in _plain(kind)]
        version_text = f"{group}/{version}" if group else version
        return answer(
            {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": version_text,
                "resources": sorted(listed, key=lambda r: str(r["name"])),
            }
        )

    def _document(self, name: str) -> Object:
        if self._revision != self._registry.revision:
            self._made.clear()
            self._revision = self._registry.revision
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Object:
        groups = self._registry.groups()
        core, rest = groups[""], {group: v for group, v in groups.items() if group}
        match name:
            case "api":
                address = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
                return {"kind": "APIVersions", "versions": list(core), "serverAddressByClientCIDRs": address}
            case "apis":
                listed = [_group(group, list(versions)) for group, versions in rest.items()]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
            case "aggregated api":
                return _aggregated({"": core})
            case _:
                return _aggregated(rest)


def _group(group: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _plain(kind: Kind) -> list[Object]:
    resource = kind.resource
    entry: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": kind.gvk.kind,
        "verbs": _verbs(kind),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    listed = [entry]
    for name in sorted(resource.subresources & ANSWERED):
        group, version, kind_name = _subresource_kind(kind, name)
        below: Object = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind_name,
            "verbs": list(STATUS_VERBS),
        }
        if (group, version) != (kind.gvk.group, kind.gvk.version):
            below |= {"group": group, "version": version}
        listed.append(below)
    return listed


def _verbs(kind: Kind) -> list[str]:
    """CRDs list theirs in an order of their own."""
    return list(crds.VERBS) if kind.custom else sorted(kind.resource.verbs)


def _subresource_kind(kind: Kind, name: str) -> tuple[str, str, str]:
    return SUBRESOURCE_KINDS.get(name, (kind.gvk.group, kind.gvk.version, kind.gvk.kind))


def _aggregated(groups: dict[str, dict[str, list[Kind]]]) -> Object:
    items = []
    for group, versions in groups.items():
        listed = [
            {
                "version": version,
                "resources": [_entry(k) for k in sorted(kinds, key=lambda k: k.resource.plural)],
                "freshness": "Current",
            }
            for version, kinds in versions.items()
        ]
        items.append({"metadata": {"name": group} if group else {}, "versions": listed})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _entry(kind: Kind) -> Object:
    resource = kind.resource
    entry: Object = {
        "resource": resource.plural,
        "responseKind": {"group": kind.gvk.group, "version": kind.gvk.version, "kind": kind.gvk.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(kind),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    below: list[Any] = []
    for name in sorted(resource.subresources & ANSWERED):
        group, version, kind_name = _subresource_kind(kind, name)
        below.append(
            {
                "subresource": name,
                "responseKind": {"group": group, "version": version, "kind": kind_name},
                "verbs": list(STATUS_VERBS),
            }
        )
    if below:
        entry["subresources"] = below
    return entry


def version() -> Object:
    major, minor = builtin.VERSION.split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{builtin.VERSION}.0+rulesengine",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none (rulesengine, Python)",
        "compiler": "none",
        "platform": "any",
    }
