"""Where the server's answers to writes are entered: the cache, the memory, and did it move?"""

from __future__ import annotations

from typing import Protocol

from rulesengine import ssa
from rulesengine.apply.decide import Write, echo_of
from rulesengine.apply.memory import Memory, State
from rulesengine.apply.ports import Store
from rulesengine.core import json
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import ResourceType
from rulesengine.core.ports import Live


class Ledger(Protocol):
    """Takes the answer to an accepted apply. A dry run enters nothing and only looks."""

    def accept(self, write: Write, live: Live | None, resource: ResourceType, raw: bytes) -> bool:
        """Whether the object moved (or, in a dry run, would have)."""
        ...

    def seen(self, resource: ResourceType, raw: bytes) -> None:
        """An object as the server has it, which is no answer to an apply of ours."""
        ...

    def gone(self, resource: ResourceType, key: ObjectKey, uid: str) -> None:
        """An object that a delete removed at once."""
        ...


class Books:
    """The ledger of real writes."""

    def __init__(self, store: Store, memory: Memory) -> None:
        self._store = store
        self._memory = memory

    def accept(self, write: Write, live: Live | None, resource: ResourceType, raw: bytes) -> bool:
        """Remembers the answer as settled: what the server made of our desired is what it wants."""
        self._store.put(resource, raw)
        after = json.decode_object(raw)
        meta = after["metadata"]
        state = State(meta["uid"], int(meta["resourceVersion"]), write.state.digest)
        same = ssa.unchanged(write.prepared, write.schema, after, write.child.manager)
        echo = None if same else echo_of(state.digest, write.prepared, write.schema, after, write.child)
        self._memory.settle(write.child, state, echo)
        return live is None or state.uid != live.uid or state.version != live.version

    def seen(self, resource: ResourceType, raw: bytes) -> None:
        self._store.put(resource, raw)

    def gone(self, resource: ResourceType, key: ObjectKey, uid: str) -> None:
        self._store.drop(resource, key.namespace, key.name, uid)
