"""From a CustomResourceDefinition to the kinds it serves, and what the server adds to it.

A real server's controllers accept the names and establish the CRD a moment after it was
stored; here that is one more write in the same call, so that watches see the same steps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.embedded.errors import Cause, bad_value, required, unsupported
from rulesengine.embedded.kinds import Column, Kind
from rulesengine.schema import structural

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
AGE = Column("Age", "date", ".metadata.creationTimestamp")
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def complete(crd: Object) -> None:
    """The defaults of apiextensions.k8s.io/v1."""
    spec = crd.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})


def problems(crd: Object) -> list[Cause]:
    """What is wrong with a CRD; the most frequent mistakes, not all that a server finds."""
    found: list[Cause] = []
    spec = crd["spec"]
    names = spec.get("names") or {}
    expected = f"{names.get('plural', '')}.{spec.get('group', '')}"
    if crd["metadata"].get("name") != expected:
        found.append(
            bad_value(
                "metadata.name", crd["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group'
            )
        )
    if not spec.get("group"):
        found.append(required("spec.group"))
    found += [required(f"spec.names.{each}") for each in ("plural", "kind") if not names.get(each)]
    if names.get("plural") and not _LABEL.fullmatch(names["plural"]):
        found.append(bad_value("spec.names.plural", names["plural"], "must be a DNS-1035 label"))
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        found.append(unsupported("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced")))
    versions = spec.get("versions") or []
    if not versions:
        found.append(required("spec.versions"))
    storing = [v for v in versions if v.get("storage")]
    if versions and len(storing) != 1:
        found.append(
            bad_value("spec.versions", versions, "must have exactly one version marked as storage version")
        )
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        # one version only is read into the older form with one schema for all
        where = f"spec.versions[{index}].schema.openAPIV3Schema"
        inner = "spec.validation.openAPIV3Schema" if len(versions) == 1 else where
        if schema is None:
            found.append(required(where))
        elif schema.get("type") != "object":
            found.append(bad_value(f"{where}.type", schema.get("type", ""), "must be object at the root"))
        else:
            found += _structural(schema, inner, root=True)
    return found


def _structural(node: Any, where: str, *, root: bool = False) -> list[Cause]:
    """A structural schema has a type everywhere (except where anything may stand)."""
    if not isinstance(node, dict):
        return []
    found = []
    free = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
    if not root and not node.get("type") and not free:
        found.append(required(f"{where}.type", "must not be empty for specified object fields"))
    if node.get("type") == "array" and "items" not in node:
        found.append(required(f"{where}.items", "must be specified"))
    for name, each in (node.get("properties") or {}).items():
        found += _structural(each, f"{where}.properties[{name}]")
    if "items" in node:
        found += _structural(node["items"], f"{where}.items")
    if isinstance(node.get("additionalProperties"), dict):
        found += _structural(node["additionalProperties"], f"{where}.additionalProperties")
    return found


def kinds(crd: Object) -> list[Kind]:
    """The kinds that an accepted CRD serves."""
    spec = crd["spec"]
    names, group = spec["names"], spec["group"]
    storage = next(v["name"] for v in spec["versions"] if v.get("storage"))
    schemas = structural.kinds(crd)
    found = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        gvk = GroupVersionKind(group, version["name"], names["kind"])
        subresources = version.get("subresources") or {}
        resource = ResourceType(
            gvk,
            names["plural"],
            namespaced=spec.get("scope") == "Namespaced",
            verbs=frozenset(VERBS),
            subresources=frozenset(subresources),
            singular=names.get("singular", ""),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
        )
        found.append(
            Kind(
                resource,
                resource.group_resource,
                f"{group}/{storage}",
                crd=crd["metadata"]["name"],
                given=schemas[gvk],
                columns=_columns(version.get("additionalPrinterColumns")),
                selectable=tuple(f["jsonPath"].lstrip(".") for f in version.get("selectableFields") or ()),
                scale=subresources.get("scale"),
                terminating=bool(crd["metadata"].get("deletionTimestamp")),
                list_kind=names.get("listKind") or f"{names['kind']}List",
                raw_schema=(version.get("schema") or {}).get("openAPIV3Schema") or {},
            )
        )
    return found


def _columns(given: Sequence[Object] | None) -> tuple[Column, ...]:
    if not given:
        return (AGE,)
    return tuple(
        Column(c["name"], c["type"], c["jsonPath"], c.get("format", ""), c.get("priority", 0)) for c in given
    )


def immutable(old: Object, new: Object) -> list[Cause]:
    """Causes for what cannot be changed of an established CRD."""
    found = []
    for path in (("group",), ("scope",), ("names", "kind"), ("names", "plural")):
        before, after = (_at(body["spec"], path) for body in (old, new))
        if before != after:
            found.append(bad_value(".".join(("spec", *path)), after, "field is immutable"))
    return found


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def clash(crd: Object, others: Sequence[Object]) -> tuple[str, str] | None:
    """The reason and message for names that another CRD of the group has already."""
    spec = crd["spec"]
    for other in others:
        theirs = other["spec"]
        if other["metadata"]["name"] == crd["metadata"]["name"] or theirs["group"] != spec["group"]:
            continue
        if theirs["names"]["kind"] == spec["names"]["kind"]:
            return "KindConflict", f'"{spec["names"]["kind"]}" is already in use'
        taken = {theirs["names"].get("singular"), *(theirs["names"].get("shortNames") or ())}
        for short in spec["names"].get("shortNames") or ():
            if short in taken:
                return "ShortNamesConflict", f'"{short}" is already in use'
    return None


def status(crd: Object, refusal: tuple[str, str] | None, now: str) -> Object:
    """The status that a server gives a new or changed CRD."""
    before = crd.get("status") or {}
    if refusal is None:
        wanted = [
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
        ]
    else:
        wanted = [
            ("NamesAccepted", "False", *refusal),
            ("Established", "False", "NotAccepted", "not all names are accepted"),
        ]
    conditions = [condition(before, *each, now=now) for each in wanted]
    known = {each["type"] for each in conditions}
    conditions += [c for c in before.get("conditions") or () if c["type"] not in known]
    spec = crd["spec"]
    storing = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
    stored = list(before.get("storedVersions") or ())
    if storing and storing not in stored:
        stored.append(storing)
    accepted = spec["names"] if refusal is None else before.get("acceptedNames", {"plural": "", "kind": ""})
    return {"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}


def condition(before: Object, kind: str, state: str, reason: str, message: str, *, now: str) -> Object:
    """One condition; its time moves only when its state does."""
    old = next((c for c in before.get("conditions") or () if c["type"] == kind), None)
    since = old["lastTransitionTime"] if old and old["status"] == state else now
    return {
        "type": kind,
        "status": state,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
