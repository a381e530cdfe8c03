"""One write: the request, a second one with force where that is allowed, and the outcome.

What never happens here: a foreign object changed because it appeared while we believed the
name free (creations carry a resourceVersion that no object has, see docs/decisions/0020), a
recreated object hit by a write meant for its predecessor (writes carry the uid), fields of
another rule taken (force stops at managers of rules).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rulesengine.apply.answers import OWNED, Answer, Said, answer, conflicting, heard, moved, names_object
from rulesengine.apply.breaker import Breaker, Open
from rulesengine.apply.decide import Adoption, Write
from rulesengine.apply.ledger import Ledger
from rulesengine.apply.memory import Memory
from rulesengine.apply.ports import Client
from rulesengine.client import APIError
from rulesengine.compiler.rule import Adopt, ApplyPolicy, Conflicts
from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.json import Object
from rulesengine.core.keys import MANAGER_PREFIX, ObjectKey
from rulesengine.core.kinds import ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Created, Failed, Held, Outcome, Unchanged, Updated, Wanted

# Revision 1 of etcd is the empty store, so no object ever has this resourceVersion: an apply that
# carries it creates, or is refused with 409 when anything is there. Atomic, in one request.
NO_SUCH_VERSION = "1"


class Writer:
    """Sends applies of wanted objects."""

    def __init__(
        self, client: Client, ledger: Ledger, memory: Memory, breaker: Breaker, clock: Clock
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._memory = memory
        self._breaker = breaker
        self._clock = clock

    async def write(self, wanted: Wanted, resource: ResourceType, decision: Write | Adoption) -> Outcome:
        """Carries out a decision; every refusal of the server comes back as an outcome."""
        write = decision.write if isinstance(decision, Adoption) else decision
        rest = self._breaker.check(write.child, self._clock.monotonic())
        if rest is not None:
            return looping(wanted.key, rest)
        try:
            if isinstance(decision, Adoption):
                return await self._adopt(wanted, resource, decision)
            if wanted.live is None:
                return await self._create(wanted, resource, write)
            return await self._update(wanted, resource, write, uid=wanted.live.uid)
        except APIError as error:
            return self._refuse(write, answer(heard(error, wanted.key)))

    async def _create(self, wanted: Wanted, resource: ResourceType, write: Write) -> Outcome:
        config = with_metadata(write.prepared.object, resourceVersion=NO_SUCH_VERSION)
        try:
            raw = await self._send(wanted, resource, config, force=False)
        except APIError as error:
            if error.status != 409:
                raise
            await self._look_again(resource, wanted.key)
            return self._refuse(write, moved(wanted.key))
        self._ledger.accept(write, None, resource, raw)
        self._breaker.wrote(write.child, "", write.state.digest, self._clock.monotonic())
        return Created()

    async def _update(self, wanted: Wanted, resource: ResourceType, write: Write, **identity: str) -> Outcome:
        config = with_metadata(write.prepared.object, **identity)
        manager = ""
        try:
            raw = await self._send(wanted, resource, config, force=False)
        except APIError as error:
            said = heard(error, wanted.key)
            managers = conflicting(said)
            if not may_force(wanted.policy, wanted.manager, managers):
                return self._refuse(write, blamed(said, wanted.manager))
            manager = managers[0]
            raw = await self._send(wanted, resource, config, force=True)
        if not self._ledger.accept(write, wanted.live, resource, raw):
            return Unchanged("idle")
        now = self._clock.monotonic()
        self._breaker.wrote(write.child, identity["uid"], write.state.digest, now, manager)
        return Updated()

    async def _adopt(self, wanted: Wanted, resource: ResourceType, adoption: Adoption) -> Outcome:
        """Reads the object live and takes it over if it may be had, exactly as it was read."""
        key = wanted.key
        try:
            raw = await self._client.get(resource, key.namespace, key.name)
        except APIError as error:
            if not names_object(heard(error, key)):
                raise
            if wanted.live is not None:
                self._ledger.gone(resource, key, wanted.live.uid)
            return self._refuse(adoption.write, moved(key))
        found = json.decode_object(raw)
        meta = found["metadata"]
        if meta.get("deletionTimestamp"):
            return Held(Reason.TERMINATING, f"the deletion of {key}")
        if wanted.live is None or meta["uid"] != wanted.live.uid:
            self._ledger.seen(resource, raw)
            return self._refuse(adoption.write, moved(key))
        owner = owner_of(found, wanted.manager) if adoption.adopt is Adopt.IF_UNOWNED else ""
        if owner:
            message = f"{key} is not free to adopt: {owner}"
            return self._refuse(adoption.write, Answer(Failed(Reason.NOT_OURS, message), OWNED))
        identity = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        return await self._update(wanted, resource, adoption.write, **identity)

    async def _send(self, wanted: Wanted, resource: ResourceType, config: Object, *, force: bool) -> bytes:
        key = wanted.key
        return await self._client.apply(
            resource, key.namespace, key.name, config, field_manager=wanted.manager, force=force
        )

    async def _look_again(self, resource: ResourceType, key: ObjectKey) -> None:
        """Something is there that we believed absent: read it, so that the next pass knows whose."""
        try:
            self._ledger.seen(resource, await self._client.get(resource, key.namespace, key.name))
        except APIError as error:
            if not names_object(heard(error, key)):
                raise

    def _refuse(self, write: Write, refusal: Answer) -> Outcome:
        return self._memory.refuse(write.child, write.asked, refusal, self._clock.monotonic())


def may_force(policy: ApplyPolicy, manager: str, conflicts: Iterable[str]) -> bool:
    """Whether fields of these managers may be taken: never those of another rule."""
    found = tuple(conflicts)
    if not found or policy.conflicts is not Conflicts.FORCE:
        return False
    return not any(_is_other_rule(name, manager) for name in found)


def blamed(said: Said, manager: str) -> Answer:
    """The answer to a refusal, where it is a conflict naming another rule first, if one is in it."""
    refusal = answer(said)
    others = [name for name in conflicting(said) if _is_other_rule(name, manager)]
    if not others or not isinstance(refusal.outcome, Failed):
        return refusal
    message = f"owned by {', '.join(others)}{said.where}"
    outcome = Failed(Reason.CONFLICT, message, field=refusal.outcome.field, manager=others[0])
    return Answer(outcome, refusal.patience)


def _is_other_rule(name: str, manager: str) -> bool:
    ours = name == manager or name.startswith((f"{manager}/", f"{manager}:"))
    return name.startswith(MANAGER_PREFIX) and not ours


def owner_of(found: Object, manager: str) -> str:
    """Who has an object: its controller or another applier, in words; "" when nobody."""
    meta = found.get("metadata", {})
    for reference in meta.get("ownerReferences") or ():
        if reference.get("controller"):
            return f"its controller is {reference.get('kind')} {reference.get('name')}"
    for entry in meta.get("managedFields") or ():
        if entry.get("operation") == "Apply" and entry.get("manager") != manager:
            return f"{entry.get('manager')} applies it"
    return ""


def with_metadata(config: Object, **fields: Any) -> Object:
    """A copy of a configuration with more in its metadata."""
    return {**config, "metadata": {**config["metadata"], **fields}}


def looping(key: ObjectKey, rest: Open) -> Failed:
    who = f" together with {rest.manager}" if rest.manager else ""
    message = f"{key} is changed again and again{who}; it rests and is tried again"
    return Failed(Reason.LOOPING, message, manager=rest.manager, retry_after=rest.seconds)
