"""The error tree. Everything the package raises on purpose is below RulesEngineError.

Library errors are translated at the door that has the library, with the cause chained.
Messages never hold values of objects: they end up in logs and on rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rulesengine.core.findings import Finding


class RulesEngineError(Exception):
    """Base of all errors of this package."""


class InvalidJSON(RulesEngineError):
    """Bytes that should be JSON are not."""


class FindingsError(RulesEngineError):
    """Input of a user is wrong; `findings` say where and what to do, all at once."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(f"{f.code}: {f.message}" for f in self.findings))


class UsageError(RulesEngineError):
    """What was asked cannot be done: a missing file, no cluster, a wrong flag. One clear message."""


class EvaluationError(RulesEngineError):
    """A CEL expression could not be evaluated.

    `path` is the field path that was being read when it failed, from a declared name on
    (`("resources", "db", "status", "host")`; "*" stands for an element), or () when the
    failure was not a read. `reason` is one of "no_such_field", "type", "overflow",
    "division", "index", "cost", "argument", "other". The message holds no values.
    """

    def __init__(
        self, message: str, *, reason: str = "other", path: tuple[str, ...] = (), offset: int = 0
    ) -> None:
        self.reason = reason
        self.path = path
        self.offset = offset
        super().__init__(message)


class Waiting(RulesEngineError):
    """Evaluation needs something that is not there yet; not a failure.

    `on` names it for people: "resource db", "field status.host of resource db".
    """

    def __init__(self, on: str) -> None:
        self.on = on
        super().__init__(f"waits for {on}")


class Excluded(RulesEngineError):
    """Evaluation reads a resource entry whose includeWhen is false: the reader is excluded too."""

    def __init__(self, entry: str) -> None:
        self.entry = entry
        super().__init__(f"resource {entry} is excluded")
