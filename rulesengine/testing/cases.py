"""A case as data: rules, what a cluster holds at the start, and steps with what shall be after each.

`reading` makes these of files, `player` plays them. Objects are as a user writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from rulesengine.api import Document, Path
from rulesengine.core.json import Object


class Verb(StrEnum):
    """What a user does to an object in a step."""

    APPLY = "apply"
    CREATE = "create"
    REPLACE = "replace"
    PATCH = "patch"
    DELETE = "delete"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class Edit:
    """A user's request; `manager` is the field manager it is made as, "" kubectl's own."""

    verb: Verb
    body: Object
    manager: str = ""


@dataclass(frozen=True, slots=True)
class Restart:
    """The engine stops and another one starts, with empty caches."""


@dataclass(frozen=True, slots=True)
class Advance:
    """The engine's clock jumps."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WatchFault:
    """Every watch ends; `expired`: and where it stood is forgotten by the server.

    The next `times` - 1 attempts to watch fail too.
    """

    expired: bool
    times: int = 1


@dataclass(frozen=True, slots=True)
class WriteFault:
    """The next `times` writes of the engine are answered with this status and not carried out."""

    status: int
    times: int = 1


Operation: TypeAlias = Edit | Restart | Advance | WatchFault | WriteFault


@dataclass(frozen=True, slots=True)
class Expect:
    """What shall be once the engine has settled. None: not looked at.

    `rules` are fields by the name of a rule; `first` says that the case names none.
    """

    objects: tuple[Object, ...] = ()
    absent: tuple[Object, ...] = ()
    changes: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, Object] = field(default_factory=dict)
    first: bool = False
    events: tuple[Object, ...] = ()
    cel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """`expect` None: the file says nothing at all about this step."""

    operations: tuple[Operation, ...]
    expect: Expect | None


@dataclass(frozen=True, slots=True)
class Case:
    """One file. Either `rejects` (codes of findings) or steps; `document` knows where things stand."""

    file: str
    document: Document
    rules: tuple[Document, ...]
    crds: tuple[Object, ...] = ()
    state: tuple[Object, ...] = ()
    clock: datetime | None = None
    steps: tuple[Step, ...] = ()
    rejects: tuple[str, ...] = ()
    settled: bool = True

    def place(self, path: Path) -> str:
        """`file:line` of a field, for messages."""
        span = self.document.key(path) or self.document.locate(path)
        return f"{span.file}:{span.line}" if span is not None else self.file
