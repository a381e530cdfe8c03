"""Create, replace, patch and apply: from a body to a stored object.

All of them end in `create` or `update`: what the client may not decide is carried over, the
object is completed and validated, managers are counted, and a result that equals what is
stored is not written. A dry run goes the same way and stops before storing.
"""

from __future__ import annotations

import copy
import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rulesengine import ssa
from rulesengine.core.clock import Clock
from rulesengine.core.json import Object, same
from rulesengine.core.kinds import GroupKind
from rulesengine.embedded import (
    crds,
    errors,
    intake,
    keeping,
    scale,
    strategies,
    structs,
    validation,
    versions,
)
from rulesengine.embedded.admission import Admission
from rulesengine.embedded.calls import Target, WriteOptions
from rulesengine.embedded.errors import Cause, Refused
from rulesengine.embedded.kinds import Kind, Registry
from rulesengine.embedded.store import Entry, Key, Store
from rulesengine.schema import Schema

NAME_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: generated names spell nothing


@dataclass(frozen=True, slots=True)
class Written:
    """The object after a write, in the version of the request."""

    object: Object
    created: bool = False
    warnings: tuple[str, ...] = ()


class Writes:
    def __init__(self, store: Store, registry: Registry, admission: Admission, clock: Clock) -> None:
        self._store = store
        self._registry = registry
        self._admission = admission
        self._clock = clock

    def stamp(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    # --- the four ways ---

    def post(self, target: Target, body: Object, options: WriteOptions) -> Written:
        kind = target.kind
        intake.identify(kind, target.namespace, body)
        if body["metadata"].get("resourceVersion"):
            raise Refused(500, "", "resourceVersion should not be set on objects to be created")
        warnings = intake.fit(kind, body, options.validation)
        return self._create(kind, target.namespace, body, options, warnings)

    def put(self, target: Target, body: Object, options: WriteOptions) -> Written:
        kind = target.kind
        intake.identify(kind, target.namespace, body, target.name)
        warnings = intake.fit(kind, body, options.validation)
        entry = self._existing(target)
        if kind.custom and not body["metadata"].get("resourceVersion"):
            cause = errors.bad_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(GroupKind(kind.gvk.group, kind.resource.plural), target.name, [cause])
        given = body["metadata"].get("uid")
        uid = entry.object["metadata"]["uid"]
        if given and given != uid:
            why = f"Precondition failed: UID in precondition: {given}, UID in object meta: {uid}"
            raise errors.conflict(kind.resource, target.name, why)
        return self._update(target, entry, body, options, warnings)

    def patch(self, target: Target, change: Callable[[Object], Object], options: WriteOptions) -> Written:
        kind = target.kind
        entry = self._existing(target)
        body = copy.deepcopy(change(versions.served(kind, entry.object)))
        intake.identify(kind, target.namespace, body, target.name)
        warnings = intake.fit(kind, body, options.validation)
        return self._update(target, entry, body, options, warnings)

    def scale(self, target: Target, change: Callable[[Object], Object], options: WriteOptions) -> Written:
        """A write to the scale subresource; the answer is a Scale, too."""
        entry = self._existing(target)
        body = copy.deepcopy(versions.served(target.kind, entry.object))
        wanted = change(scale.show(target.kind, body))
        if (given := (wanted.get("metadata") or {}).get("resourceVersion")) is not None:
            body["metadata"]["resourceVersion"] = given
        scale.change(target.kind, body, wanted)
        written = self._update(target, entry, body, options, ())
        return Written(scale.show(target.kind, written.object))

    def apply(self, target: Target, config: Object, options: WriteOptions) -> Written:
        kind = target.kind
        self._check_config(target, config)
        config = {**config, "metadata": config.get("metadata") or {}}
        entry = self._store.get(kind.collection, Key(target.namespace, target.name))
        meta = config["metadata"]
        if entry is None:
            if target.subresource:
                raise errors.not_found(kind.resource, target.name)
            if meta.get("uid"):
                why = (
                    f"uid mismatch: the provided object specified uid {meta['uid']}, "
                    "and no existing object was found"
                )
                raise errors.conflict(kind.resource, target.name, why)
            if not meta.get("name"):
                text = f"the name of the object ({target.name} based on URL) was undeterminable: "
                raise errors.bad_request(f"{text}name must be provided")
            self._admission.create(kind, target.namespace, target.name)
        live = versions.served(kind, entry.object) if entry else None
        if live is not None and meta.get("resourceVersion") not in (
            None,
            live["metadata"]["resourceVersion"],
        ):
            raise errors.conflict(kind.resource, target.name)
        config = {**config, "metadata": {k: v for k, v in meta.items() if k != "resourceVersion"}}
        outcome = self._merged(target, live, config, options)
        body = outcome.object
        intake.identify(kind, target.namespace, body, target.name)
        warnings = intake.fit(kind, body, options.validation)
        if entry is None:
            return self._create(kind, target.namespace, body, options, warnings, applied=True)
        return self._update(target, entry, body, options, warnings, applied=True)

    def _merged(
        self, target: Target, live: Object | None, config: Object, options: WriteOptions
    ) -> ssa.Applied:
        try:
            outcome = ssa.apply(
                target.kind.schema,
                live,
                config,
                manager=options.manager,
                force=options.force,
                now=self._clock.now(),
                subresource=target.subresource,
                reset=self._reset(target.kind, target.subresource),
                versions=self._versions(target.kind),
            )
        except ssa.InvalidConfig as error:
            raise intake.refused_as_invalid(error, error.status) from error
        if isinstance(outcome, ssa.Conflicted):
            raise Refused(409, "Conflict", outcome.message, {"causes": outcome.causes})
        return outcome

    def _check_config(self, target: Target, config: Object) -> None:
        kind = target.kind
        if not config.get("kind") or not config.get("apiVersion"):
            version, name = config.get("apiVersion", ""), config.get("kind", "")
            raise _not_the_type(version, name)
        if (config["apiVersion"], config["kind"]) != (kind.gvk.api_version, kind.gvk.kind):
            raise _not_the_type(config["apiVersion"], config["kind"])
        meta = config.get("metadata") or {}
        if not isinstance(meta, dict):
            raise errors.bad_request("metadata must be an object")
        intake.identify(kind, target.namespace, {**config, "metadata": dict(meta)}, target.name)

    def _existing(self, target: Target) -> Entry:
        entry = self._store.get(target.kind.collection, Key(target.namespace, target.name))
        if entry is None:
            raise errors.not_found(target.kind.resource, target.name)
        return entry

    # --- create ---

    def _create(
        self,
        kind: Kind,
        namespace: str,
        body: Object,
        options: WriteOptions,
        warnings: tuple[str, ...],
        *,
        applied: bool = False,
    ) -> Written:
        meta = body["metadata"]
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"][:58] + _random_name()
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
            meta.pop(name, None)
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = self.stamp()
        self._admission.create(kind, namespace, meta.get("name", ""))
        if kind.has_status:
            body.pop("status", None)
        if not applied:
            body = self._managed(kind, None, body, options, "")
        if strategies.counts_generations(kind):
            body["metadata"]["generation"] = 1
        if not kind.custom:
            strategies.created(kind, body, self._store)
        self._validate(kind, body, None)
        if not kind.custom:
            structs.complete(kind.gvk, body)
        key = Key(namespace, body["metadata"]["name"])
        if self._store.get(kind.collection, key) is not None:
            raise errors.already_exists(kind.resource, key.name)
        if not options.dry_run:
            entry = self._store.put(kind.collection, namespace, versions.storable(kind, body))
            body = versions.served(kind, entry.object)
        return Written(body, created=True, warnings=warnings)

    # --- update ---

    def _update(
        self,
        target: Target,
        entry: Entry,
        body: Object,
        options: WriteOptions,
        warnings: tuple[str, ...],
        *,
        applied: bool = False,
    ) -> Written:
        kind = target.kind
        old = versions.served(kind, entry.object)
        given = body["metadata"].get("resourceVersion")
        if given and given != old["metadata"]["resourceVersion"]:
            raise errors.conflict(kind.resource, target.name)
        body = keeping.kept(target, old, body)
        if not applied:
            body = self._managed(kind, old, body, options, target.subresource)
        else:
            body = ssa.keep_times(old, body)
        body["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        self._validate(kind, body, old)
        if not kind.custom:
            structs.complete(kind.gvk, body)
        if same(old, body):
            return Written(old, warnings=warnings)
        if (generation := strategies.next_generation(kind, old, body)) is not None:
            body["metadata"]["generation"] = generation
        if options.dry_run:
            return Written(body, warnings=warnings)
        if is_finished(body):
            self._store.remove(kind.collection, entry.key)
            return Written(body, warnings=warnings)
        written = self._store.put(kind.collection, entry.key.namespace, versions.storable(kind, body))
        return Written(versions.served(kind, written.object), warnings=warnings)

    # --- shared steps ---

    def _managed(
        self, kind: Kind, old: Object | None, body: Object, options: WriteOptions, subresource: str
    ) -> Object:
        written = ssa.update(
            kind.schema,
            old,
            body,
            manager=options.manager,
            now=self._clock.now(),
            subresource=subresource,
            reset=self._reset(kind, subresource),
            versions=self._versions(kind),
        )
        if subresource == "scale":
            scale.untimed(written["metadata"])
        return written

    def _reset(self, kind: Kind, subresource: str) -> ssa.FieldSet:
        return ssa.resets(kind.group_kind, subresource, has_status=kind.has_status)

    def _versions(self, kind: Kind) -> Mapping[str, Schema] | None:
        if not kind.custom:
            return None
        return self._registry.schemas(kind)

    def _validate(self, kind: Kind, body: Object, old: Object | None) -> None:
        found: list[Cause] = list(validation.metadata(kind.gvk.kind, body["metadata"], custom=kind.custom))
        if kind.collection == crds.COLLECTION:
            found += crds.problems(body)
        else:
            if not kind.custom:
                found += strategies.problems(kind, body)
            known = {cause.field for cause in found}
            found += [
                cause
                for cause in validation.check(kind.schema, body, custom=kind.custom)
                if not any(field == cause.field or field.startswith(f"{cause.field}.") for field in known)
            ]
        if kind.collection == crds.COLLECTION and old is not None:
            found = crds.immutable(old, body) or found
        if not kind.custom and old is not None:
            found += strategies.immutable(kind, old, body)
        if found:
            raise errors.invalid(kind.group_kind, body["metadata"].get("name", ""), found)

    def finalize(self, target: Target, body: Object) -> Written:
        """`namespaces/finalize`: only spec.finalizers may change."""
        intake.identify(target.kind, target.namespace, body, target.name)
        entry = self._existing(target)
        wanted = (body.get("spec") or {}).get("finalizers")
        changed = copy.deepcopy(entry.object)
        changed["spec"] = {"finalizers": wanted} if wanted else {}
        if is_finished(changed):
            self._store.remove(target.kind.collection, entry.key)
            return Written(changed)
        written = self._store.put(target.kind.collection, entry.key.namespace, changed)
        return Written(written.object)

    # --- for controllers of this server ---

    def rewrite(
        self,
        kind: Kind,
        entry: Entry,
        change: Callable[[Object], Any],
        manager: str,
        subresource: str = "",
    ) -> None:
        """Lets a controller change a stored object, past validation, on whatever endpoint."""
        body = copy.deepcopy(entry.object)
        change(body)
        body = self._managed(kind, entry.object, body, WriteOptions(manager), subresource)
        if same(entry.object, body):
            return
        if is_finished(body):
            self._store.remove(kind.collection, entry.key)
        else:
            self._store.put(kind.collection, entry.key.namespace, body)


def _not_the_type(version: object, kind: object) -> Refused:
    group, _, name = str(version).rpartition("/")
    return errors.bad_request(f"invalid object type: {group}/{name}, Kind={kind}")


def is_finished(body: Object) -> bool:
    """Whether an object is being deleted and nothing holds it any more."""
    meta = body["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers"):
        return False
    holds = body.get("kind") == "Namespace" and body.get("apiVersion") == "v1"
    if holds and (body.get("spec") or {}).get("finalizers"):
        return False
    return not meta.get("deletionGracePeriodSeconds")


def _random_name() -> str:
    return "".join(secrets.choice(NAME_CHARACTERS) for _ in range(5))
