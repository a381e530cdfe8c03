"""`spec.limits`, compiled: how far a mistake in a rule can reach."""

from __future__ import annotations

from dataclasses import dataclass

PERCENT = 50  # of what a rule made may go at once without anybody saying so
AT_LEAST = 20  # objects that may, however few there are: small rules are watched by eye


@dataclass(frozen=True, slots=True)
class Limits:
    """`deletes`, or else `percent` and `at_least`: removals after a start or a change of the rule."""

    resources: int = 1000  # objects that one work item may want
    lookup_objects: int = 5000  # objects in all of its lookups
    deletes: int | None = None
    percent: int = PERCENT
    at_least: int = AT_LEAST

    @classmethod
    def of(cls, resources: int | None, lookup_objects: int | None, deletes: int | str | None) -> Limits:
        """From what the model says; None: the default."""
        number = deletes if isinstance(deletes, int) else None
        percent = int(deletes.rstrip("%")) if isinstance(deletes, str) else PERCENT
        at_least = AT_LEAST if deletes is None else 0
        defaults = cls()
        return cls(
            resources=resources or defaults.resources,
            lookup_objects=lookup_objects or defaults.lookup_objects,
            deletes=number,
            percent=percent,
            at_least=at_least,
        )

    def may_delete(self, made: int) -> int:
        """How many of `made` objects may go."""
        if self.deletes is not None:
            return self.deletes
        return max(self.at_least, made * self.percent // 100)
