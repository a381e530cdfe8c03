"""What is no longer wanted: deleted with preconditions, or given up.

A delete names the uid and resourceVersion that ownership was proven on. A release of an
adopted object gives our fields up; an object that stays because its entry or rule says
`Orphan` keeps its values, and only our marks on it go.
"""

from __future__ import annotations

from dataclasses import replace

from rulesengine.apply.answers import answer, heard, is_stale, moved, names_object
from rulesengine.apply.breaker import Breaker
from rulesengine.apply.ledger import Ledger
from rulesengine.apply.memory import Child, Memory, State
from rulesengine.apply.ports import Client
from rulesengine.apply.writes import looping
from rulesengine.client import APIError
from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.ownership import ANNOTATION, LABEL
from rulesengine.reconcile.plan import Deleted, Failed, Held, Outcome, Released, SourceRef, Unwanted

DELETED = b"deleted"  # in place of a digest: what was asked for of this state of the object
RELEASED = b"released"
ASK_AGAIN = 5.0  # seconds until a source that could not be asked about is asked about again
AGAIN = 30.0  # seconds until a delete that was accepted, but never seen to happen, is looked at again
_REFUSED = (Reason.INVALID, Reason.IMMUTABLE_FIELD, Reason.REFUSED)


class Remover:
    """Sends deletes and releases."""

    def __init__(
        self, client: Client, ledger: Ledger, memory: Memory, breaker: Breaker, clock: Clock
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._memory = memory
        self._breaker = breaker
        self._clock = clock

    async def remove(self, unwanted: Unwanted, resource: ResourceType) -> Outcome:
        """Carries out one removal; every refusal of the server comes back as an outcome."""
        live, now = unwanted.live, self._clock.monotonic()
        child = Child(unwanted.manager, live.key)
        state = State.of(live, RELEASED if unwanted.release else DELETED)
        if self._memory.settled(child, state):
            return Held(Reason.TERMINATING, f"the deletion of {live.key}", retry_after=AGAIN)
        if (refusal := self._memory.refused(child, state, now)) is not None:
            return refusal
        if (rest := self._breaker.check(child, now)) is not None:
            return looping(live.key, rest)
        try:
            outcome = await (self._release if unwanted.release else self._delete)(unwanted, resource)
        except APIError as error:
            said = heard(error, live.key)
            if names_object(said):
                return Deleted()  # somebody was faster: what we wanted is so
            return self._memory.refuse(child, state, answer(said), now)
        if isinstance(outcome, Held):
            return self._memory.refuse(child, state, moved(live.key), now)
        if isinstance(outcome, Deleted | Released):
            self._memory.forget(child)
            self._memory.settle(child, state)
            self._breaker.wrote(child, live.uid, None, now)
        return outcome

    async def is_gone(self, source: SourceRef, resource: ResourceType) -> bool | Held | Failed:
        """Asks the server whether a source is absent, or another object by now."""
        key = ObjectKey(source.gvk.group, source.gvk.kind, source.namespace, source.name)
        try:
            raw = await self._client.get(resource, source.namespace, source.name)
        except APIError as error:
            said = heard(error, key)
            return True if names_object(said) else replace(answer(said).outcome, retry_after=ASK_AGAIN)
        return bool(json.decode_object(raw)["metadata"].get("uid") != source.uid)

    async def _delete(self, unwanted: Unwanted, resource: ResourceType) -> Outcome:
        live = unwanted.live
        raw = await self._client.delete(
            resource,
            live.key.namespace,
            live.key.name,
            uid=live.uid,
            resource_version=str(live.version),
            propagation=unwanted.propagation.value,
        )
        body = json.decode_object(raw)
        if body.get("kind") != "Status" and body.get("metadata", {}).get("deletionTimestamp"):
            self._ledger.seen(resource, raw)  # finalizers hold it: reads shall see it terminating
        else:
            self._ledger.gone(resource, live.key, live.uid)
        return Deleted()

    async def _release(self, unwanted: Unwanted, resource: ResourceType) -> Outcome:
        if not _adopted(unwanted.live.claim):
            return await self._strip(unwanted, resource)
        key = unwanted.live.key
        config: Object = {
            "apiVersion": unwanted.gvk.api_version,
            "kind": key.kind,
            "metadata": {"name": key.name, "uid": unwanted.live.uid},
        }
        if key.namespace:
            config["metadata"]["namespace"] = key.namespace
        try:
            raw = await self._client.apply(
                resource, key.namespace, key.name, config, field_manager=unwanted.manager
            )
        except APIError as error:
            said = heard(error, key)
            refusal = answer(said).outcome
            if isinstance(refusal, Failed) and refusal.reason in _REFUSED and not is_stale(said):
                return await self._strip(unwanted, resource)
            raise
        self._ledger.seen(resource, raw)
        annotations = json.decode_object(raw)["metadata"].get("annotations") or {}
        if ANNOTATION in annotations:  # co-owned by somebody who copied it
            return await self._strip(unwanted, resource)
        return Released()

    async def _strip(self, unwanted: Unwanted, resource: ResourceType) -> Outcome:
        """Takes our marks off the object and leaves its values."""
        key = unwanted.live.key
        found = json.decode_object(await self._client.get(resource, key.namespace, key.name))
        meta = found["metadata"]
        if meta["uid"] != unwanted.live.uid:
            return moved(key).outcome
        body = {"metadata": _without_marks(meta, unwanted.manager, unwanted.live.claim)}
        # a name without prefix semantics: the request only removes, so it never enters managedFields
        raw = await self._client.patch(
            resource, key.namespace, key.name, body, field_manager="rulesengine:release"
        )
        self._ledger.seen(resource, raw)
        return Released(as_is=True)


def _without_marks(meta: Object, manager: str, claim: str) -> Object:
    """A merge patch of metadata that takes off what the engine put there, and nothing else."""
    patch: Object = {
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
        "managedFields": [
            entry
            for entry in meta.get("managedFields") or ()
            if entry.get("manager") != manager or entry.get("subresource")
        ],
        "annotations": {ANNOTATION: None},
        "labels": {LABEL: None},
    }
    source = _source_uid(claim)
    references = meta.get("ownerReferences") or []
    kept = [reference for reference in references if reference.get("uid") != source]
    if len(kept) != len(references):
        patch["ownerReferences"] = kept or None
    return patch


def _adopted(claim: str) -> bool:
    return bool(_claim(claim).get("adopted"))


def _source_uid(claim: str) -> str:
    source = _claim(claim).get("source")
    return str(source[-1]) if isinstance(source, list) and source else ""


def _claim(text: str) -> Object:
    """The claim's fields. Planning has verified it on this object; here it is only read."""
    try:
        return json.decode_object(text)
    except InvalidJSON:
        return {}
