"""Deletion: preconditions, finalizers, propagation, and what the answer says.

An object with finalizers is only marked; it goes with the write that removes the last one.
Dependents are the collector's business, which works by the two finalizers set here.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupKind
from rulesengine.embedded import crds, errors, strategies, versions
from rulesengine.embedded.admission import Admission
from rulesengine.embedded.calls import Call, Target
from rulesengine.embedded.errors import Refused
from rulesengine.embedded.kinds import Kind
from rulesengine.embedded.store import Entry, Key, Store
from rulesengine.embedded.writes import Writes, is_finished

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
POLICIES = ("Foreground", "Background", "Orphan")
OPTIONS = GroupKind("meta.k8s.io", "DeleteOptions")
# Answers hold the object that went, for these; a Status for all others.
SHOWN = frozenset(
    (
        "Pod",
        "Service",
        "ServiceAccount",
        "PersistentVolumeClaim",
        "PersistentVolume",
        "PodTemplate",
        "ResourceQuota",
        "Namespace",
    )
)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    propagation: str = ""
    uid: str = ""
    version: str = ""
    grace: int | None = None
    dry_run: bool = False


def delete_options(call: Call, body: Object) -> DeleteOptions:
    """From the query and the body, of which the body is the usual place."""
    given = body.get("preconditions") or {}
    propagation = body.get("propagationPolicy") or call.query.get("propagationPolicy") or ""
    orphans = body.get("orphanDependents")
    if propagation and orphans is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        raise errors.invalid(OPTIONS, "", [errors.bad_value("propagationPolicy", propagation, text)])
    if not propagation and orphans is not None:
        propagation = "Orphan" if orphans else "Background"
    if propagation and propagation not in POLICIES:
        cause = errors.unsupported("propagationPolicy", propagation, (*POLICIES, "nil"))
        raise errors.invalid(OPTIONS, "", [cause])
    dry_run = body.get("dryRun") or ([call.query["dryRun"]] if call.query.get("dryRun") else [])
    if dry_run not in ([], ["All"]):
        raise errors.invalid(OPTIONS, "", [errors.unsupported("dryRun", dry_run, ("All",))])
    grace = body.get("gracePeriodSeconds")
    if grace is None and call.query.get("gracePeriodSeconds"):
        grace = call.number("gracePeriodSeconds")
    return DeleteOptions(
        propagation, given.get("uid") or "", given.get("resourceVersion") or "", grace, bool(dry_run)
    )


class Deletes:
    def __init__(self, store: Store, writes: Writes, admission: Admission) -> None:
        self._store = store
        self._writes = writes
        self._admission = admission

    def delete(self, target: Target, options: DeleteOptions) -> Object:
        """Deletes one object and returns the body of the answer."""
        kind = target.kind
        entry = self._store.get(kind.collection, Key(target.namespace, target.name))
        if entry is None:
            raise errors.not_found(kind.resource, target.name)
        self._admission.delete(kind, target.name)
        self._check(kind, entry, options)
        left = self.remove(kind, entry, options)
        if left is not None:
            return versions.served(kind, left)
        if not kind.custom and kind.gvk.kind in SHOWN:
            return versions.served(kind, entry.object)
        details = {**errors.about(kind.resource, target.name), "uid": entry.object["metadata"]["uid"]}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}

    def _check(self, kind: Kind, entry: Entry, options: DeleteOptions) -> None:
        meta = entry.object["metadata"]
        if options.uid and options.uid != meta["uid"]:
            raise self._mismatch(kind, entry, "UID", options.uid, meta["uid"], "deleted and then recreated")
        if options.version and options.version != meta["resourceVersion"]:
            raise self._mismatch(
                kind, entry, "ResourceVersion", options.version, meta["resourceVersion"], "modified"
            )

    def _mismatch(self, kind: Kind, entry: Entry, what: str, given: str, found: str, fate: str) -> Refused:
        # the real server names the kind here, where it names the resource everywhere else
        name, shown = entry.key.name, str(kind.group_kind)

        message = (
            f'Operation cannot be fulfilled on {shown} "{name}": the {what} in the precondition ({given}) '
            f"does not match the {what} in record ({found}). The object might have been {fate}"
        )
        details: Object = {"name": name, "kind": kind.gvk.kind}
        if kind.gvk.group:
            details["group"] = kind.gvk.group
        return Refused(409, "Conflict", message, details)

    def remove(self, kind: Kind, entry: Entry, options: DeleteOptions) -> Object | None:
        """Deletes an entry or marks it; returns what is left, None when it is gone."""
        body = copy.deepcopy(entry.object)
        meta = body["metadata"]
        self._set_finalizers(kind, meta, options.propagation)
        self._mark(kind, body, options)
        if is_finished(body):
            if not options.dry_run:
                self._store.remove(kind.collection, entry.key)
            return None
        if not options.dry_run and body != entry.object:
            self._store.put(kind.collection, entry.key.namespace, body)
        return body

    def _set_finalizers(self, kind: Kind, meta: Object, propagation: str) -> None:
        held = [f for f in meta.get("finalizers") or () if not propagation or f not in (FOREGROUND, ORPHAN)]
        if propagation == "Foreground":
            held.append(FOREGROUND)
        elif propagation == "Orphan":
            held.append(ORPHAN)
        if kind.collection == crds.COLLECTION and crds.FINALIZER not in held:
            held.append(crds.FINALIZER)
        if held:
            meta["finalizers"] = held
        else:
            meta.pop("finalizers", None)

    def _mark(self, kind: Kind, body: Object, options: DeleteOptions) -> None:
        meta = body["metadata"]
        if meta.get("deletionTimestamp"):
            if options.grace == 0 and meta.get("deletionGracePeriodSeconds"):
                meta["deletionGracePeriodSeconds"] = 0
            return
        now = self._writes.stamp()
        meta["deletionTimestamp"] = now
        if kind.group_kind == ("", "Namespace"):
            body["status"] = {**(body.get("status") or {}), "phase": "Terminating"}
            return
        if kind.collection == crds.COLLECTION:
            status = body.setdefault("status", {})
            mark = crds.condition(
                status,
                "Terminating",
                "True",
                "InstanceDeletionPending",
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
                now=now,
            )
            status["conditions"] = [*(status.get("conditions") or ()), mark]
            return
        meta["deletionGracePeriodSeconds"] = self._grace(kind, body, options)
        if strategies.counts_generations(kind) and meta.get("generation"):
            meta["generation"] += 1

    def _grace(self, kind: Kind, body: Object, options: DeleteOptions) -> int:
        """Only pods on a node are given time: somebody there must stop them first."""
        spec = body.get("spec") or {}
        if kind.group_kind != ("", "Pod") or not spec.get("nodeName"):
            return 0
        if options.grace is not None:
            return options.grace
        seconds: int = spec.get("terminationGracePeriodSeconds", 30)
        return seconds
