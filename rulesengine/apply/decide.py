"""Whether a wanted object needs a write: verdict, structure, echo, and only then a request.

Pure apart from what it notes in the memory: a state found to need nothing is a verdict next
time. `run`, `diff` and `mode: DryRun` all decide here, so what is shown is what happens.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeAlias

from rulesengine import ssa
from rulesengine.apply.canonical import canonicalized
from rulesengine.apply.memory import Child, Memory, State
from rulesengine.compiler.rule import Adopt
from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Failed, Held, Wanted
from rulesengine.schema import Schema

ASK_AGAIN = 60.0  # seconds; its own events wake the work item earlier where they are seen


@dataclass(frozen=True, slots=True)
class NoWrite:
    """Live is as desired; `step` says how that is known."""

    step: str


@dataclass(frozen=True, slots=True)
class Write:
    """An apply of what is `prepared` is needed, and what must be known to remember its answer.

    `state` is what an acceptance settles; `asked` is what a refusal is about: the policy is in
    it, since another one would have asked otherwise.
    """

    child: Child
    state: State
    asked: State
    prepared: ssa.Prepared
    schema: Schema


@dataclass(frozen=True, slots=True)
class Adoption:
    """An object this rule did not make; a live read must say whether it may be had."""

    write: Write
    adopt: Adopt


@dataclass(frozen=True, slots=True)
class Withheld:
    """Not to be written now."""

    outcome: Held | Failed


Decision: TypeAlias = NoWrite | Write | Adoption | Withheld


def decide(wanted: Wanted, schema: Schema, memory: Memory, now: float) -> Decision:
    """The four steps for one wanted object. `now` is monotonic seconds."""
    memory.use(wanted.gvk, schema)
    live = wanted.live
    if live is not None and live.deleting:
        return Withheld(Held(Reason.TERMINATING, f"the deletion of {wanted.key}"))
    if not wanted.ours:
        return _foreign(wanted, schema, memory, now)
    child = Child(wanted.manager, wanted.key)
    state = State.of(live, json.digest(wanted.desired))
    if memory.settled(child, state):
        return NoWrite("verdict")
    asked = _asked(state, wanted)
    if (refusal := memory.refused(child, asked, now)) is not None:
        return Withheld(refusal)
    prepared = ssa.prepare(schema, ssa.strip(wanted.desired))
    if live is not None and (step := _known_same(child, state, prepared, schema, live.object(), memory)):
        memory.settle(child, state)
        return NoWrite(step)
    return Write(child, state, asked, prepared, schema)


def _known_same(
    child: Child, state: State, prepared: ssa.Prepared, schema: Schema, live: Object, memory: Memory
) -> str:
    """The step by which live is known to be as desired, "" when only the server can say."""
    if ssa.unchanged(prepared, schema, live, child.manager):
        return "structural"
    canonical = canonicalized(schema, prepared.object)
    if canonical is not prepared.object:  # else a restart asks for each; on a PVC that even moves it
        again = ssa.prepare(schema, canonical)
        if ssa.unchanged(again, schema, live, child.manager):
            return "structural"
    echo = memory.echo(child)
    if echo is not None and echo == echo_of(state.digest, prepared, schema, live, child):
        return "echo"
    return ""


def echo_of(digest: bytes, prepared: ssa.Prepared, schema: Schema, live: Object, child: Child) -> bytes:
    """16 bytes over this desired, our managedFields entry, and our values as `live` has them.

    While they are equal the server would make of this desired what is there already.
    """
    entry = ssa.entry(live, child.manager, child.part)
    owned = ssa.owned_digest(schema, live, prepared.fields)
    hashed = hashlib.blake2b(digest, digest_size=16)
    if entry is not None:
        hashed.update(json.encode_sorted([entry.get("apiVersion"), entry.get("fieldsV1")]))
    hashed.update(owned)
    return hashed.digest()


def _foreign(wanted: Wanted, schema: Schema, memory: Memory, now: float) -> Decision:
    if wanted.holder:
        message = f"{wanted.key} belongs to {wanted.holder}"
        return Withheld(Failed(Reason.CONFLICT, message, manager=wanted.holder, retry_after=ASK_AGAIN))
    if wanted.adoption is None or wanted.policy.adopt is Adopt.NEVER:
        message = f"{wanted.key} exists and was not made by this rule (applyPolicy.adopt is Never)"
        return Withheld(Failed(Reason.NOT_OURS, message, retry_after=ASK_AGAIN))
    child = Child(wanted.manager, wanted.key)
    state = State.of(wanted.live, json.digest(wanted.adoption))
    asked = _asked(state, wanted)
    if (refusal := memory.refused(child, asked, now)) is not None:
        return Withheld(refusal)
    prepared = ssa.prepare(schema, ssa.strip(wanted.adoption))
    return Adoption(Write(child, state, asked, prepared, schema), wanted.policy.adopt)


def _asked(state: State, wanted: Wanted) -> State:
    policy = f"{wanted.policy.conflicts.value} {wanted.policy.adopt.value}"
    return state._replace(digest=state.digest + policy.encode())
