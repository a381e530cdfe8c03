"""The names an expression can use, computed when they are read and once per pass.

Laziness is what makes waiting precise: only an entry that reads `resources.db` waits for db.
The mappings are dicts that fill themselves on a missing key, so that compiled expressions
read them with a plain subscript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rulesengine.compiler.rule import Expression
from rulesengine.core.errors import EvaluationError, RulesEngineError


class Lazy(dict[str, Any]):
    """Values by name, each computed on its first read; `known` are the names there can be.

    What `compute` raises is raised again on every further read of that name: nothing is
    computed twice, not even to fail.
    """

    def __init__(self, known: Iterator[str] | frozenset[str], compute: Callable[[str], Any]) -> None:
        super().__init__()
        self._known = tuple(known)
        self._compute = compute
        self._failed: dict[str, RulesEngineError] = {}

    def __missing__(self, name: str) -> Any:
        if name in self._failed:
            raise self._failed[name]
        if name not in self._known:
            raise KeyError(name)
        try:
            value = self[name] = self._compute(name)
        except RulesEngineError as error:
            self._failed[name] = error
            raise
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class Observed(Lazy):
    """`resources`: a plain read computes (and may wait), `?` only asks what is there.

    `present` says whether an entry's live object can be seen at all, without waiting.
    """

    def __init__(
        self, known: frozenset[str], compute: Callable[[str], Any], present: Callable[[str], bool]
    ) -> None:
        super().__init__(known, compute)
        self._present = present

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._known and self._present(name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self._known if self._present(name)])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Names(dict[str, Any]):
    """All names of one pass; `object` and `namespaceObject` are decoded when they are read."""

    def __init__(self, variables: Mapping[str, Expression], late: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._late = late
        self["variables"] = Lazy(frozenset(variables), lambda name: variables[name].evaluate(self))

    def __missing__(self, name: str) -> Any:
        if name not in self._late:
            raise EvaluationError(f"undeclared reference to '{name}'", reason="no_such_field", path=(name,))
        value = self[name] = self._late[name]()
        return value

    def extended(self, **more: Any) -> Names:
        """These names and some more, for one expression; what was computed stays computed."""
        names = Names({}, self._late)
        names.update(self)
        names.update(more)
        return names
