"""What came of a case: nothing but true, or what was otherwise, where, and what the engine did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from rulesengine.api import Path
from rulesengine.core.json import Json


@dataclass(frozen=True, slots=True)
class Replace:
    """At this place of the file another value came out."""

    path: Path
    value: Json


@dataclass(frozen=True, slots=True)
class Remove:
    """What this place of the file says is not so."""

    path: Path


@dataclass(frozen=True, slots=True)
class Add:
    """A step that says nothing: what it could say."""

    path: Path
    key: str
    value: Json


Correction: TypeAlias = Replace | Remove | Add


@dataclass(frozen=True, slots=True)
class Problem:
    """One expectation that did not hold: where it stands, what was otherwise, in full in `detail`."""

    path: Path
    message: str
    detail: str = ""
    corrections: tuple[Correction, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one case. `step` is the index of the one that failed; `did` and `why` are about that step.

    `corrections` make the file say what came out, of every step where all were played.
    """

    file: str
    seconds: float
    problems: tuple[Problem, ...] = ()
    step: int | None = None
    did: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = field(default=())

    @property
    def passed(self) -> bool:
        return not self.problems
