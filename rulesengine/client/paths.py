"""Addresses of resources: segments are percent-encoded or refused, queries are built once.

An empty name would address the whole collection, `a/status` a subresource, `..` something
else after a proxy's clean-up: none of them is ever sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote, urlencode

from rulesengine.client.errors import BadPath
from rulesengine.core.kinds import ResourceType


@lru_cache(maxsize=4096)
def segment(text: str, what: str) -> str:
    """`text` as one path segment; `what` says in an error what it should have been."""
    if not text:
        raise BadPath(f"the {what} is empty, so the request would address the whole collection", _field(what))
    if text in (".", "..") or "/" in text or "%" in text or "\x00" in text:
        problem = "it may not be '.' or '..' or contain '/' or '%'"
        raise BadPath(f"the {what} is not a path segment: {problem}", _field(what))
    return quote(text, safe="")


def _field(what: str) -> str:
    return f"metadata.{what}" if what in ("name", "namespace") else ""


@lru_cache(maxsize=4096)
def collection(resource: ResourceType, namespace: str = "") -> str:
    """Where the objects of a kind are; with an empty namespace those of all namespaces."""
    group, version = resource.gvk.group, resource.gvk.version
    root = f"/apis/{segment(group, 'group')}" if group else "/api"
    base = f"{root}/{segment(version, 'version')}"
    plural = segment(resource.plural, "resource")
    if not namespace:
        return f"{base}/{plural}"
    if not resource.namespaced:
        raise BadPath(f"{resource.group_resource} are not namespaced, but a namespace was given")
    return f"{base}/namespaces/{segment(namespace, 'namespace')}/{plural}"


def item(resource: ResourceType, namespace: str, name: str, subresource: str = "") -> str:
    """Where one object, or a subresource of it, is."""
    if resource.namespaced and not namespace:
        raise BadPath(f"{resource.group_resource} are namespaced, but no namespace was given")
    path = f"{collection(resource, namespace)}/{segment(name, 'name')}"
    return f"{path}/{segment(subresource, 'subresource')}" if subresource else path


@lru_cache(maxsize=1024)
def write_query(manager: str, *, force: bool, dry_run: bool) -> str:
    """The query of a write: who writes, and that unknown fields are errors."""
    query = {"fieldValidation": "Strict"}
    if manager:
        query["fieldManager"] = manager
    if force:
        query["force"] = "true"
    if dry_run:
        query["dryRun"] = "All"
    return "?" + urlencode(query)


def query(parameters: Mapping[str, str]) -> str:
    """A query of the parameters that have a value, or ""."""
    given = {key: value for key, value in parameters.items() if value}
    return "?" + urlencode(given) if given else ""
