"""Whether a value of one type can stand where another is wanted, and what parameters become.

The rules are cel-go's (checker/types.go), so that verdicts and deduced types are those of
Kubernetes; objects of a schema also pass as maps, which they are here when evaluated.
"""

from __future__ import annotations

from rulesengine.cel.types import DYN, STRING, Type, map_of, param

_OBJECTS = frozenset({"object", "record"})
_NULLABLE = frozenset({"optional", "opaque", "timestamp", "duration", *_OBJECTS})
_COMPOSED = frozenset({"list", "map", "optional", "opaque", "type"})
_OPEN = frozenset({"dyn", "error"})
_AS_MAP = map_of(STRING, DYN)


class Unifier:
    """What the type parameters of one expression are bound to, so far."""

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._count = 0

    def fresh(self) -> Type:
        """A parameter that nothing else uses."""
        self._count += 1
        return param(f"_{self._count}")

    def instance(self, *kinds: Type) -> tuple[Type, ...]:
        """Types of one signature with fresh parameters in place of its own."""
        names = {name for kind in kinds for name in _parameters(kind)}
        if not names:
            return kinds
        fresh = {name: self.fresh() for name in names}
        return tuple(_replaced(kind, fresh) for kind in kinds)

    def assignable(self, *pairs: tuple[Type, Type]) -> bool:
        """Whether each first type can stand for its second; binds parameters only if all can."""
        before = self._bound
        self._bound = dict(before)
        if all(self._assignable(one, other) for one, other in pairs):
            return True
        self._bound = before
        return False

    def resolved(self, kind: Type, *, closed: bool = False) -> Type:
        """A type with its parameters replaced; `closed`: unbound ones become dyn."""
        if kind.kind == "param":
            found = self._bound.get(kind.name)
            if found is not None:
                return self.resolved(found, closed=closed)
            return DYN if closed else kind
        if not kind.params:
            return kind
        params = tuple(self.resolved(each, closed=closed) for each in kind.params)
        return kind if params == kind.params else Type(kind.kind, params, kind.name)

    def joined(self, kinds: list[Type]) -> Type:
        """The type of a literal's items: the most general of them, dyn where they do not agree."""
        found: Type | None = None
        for kind in kinds:
            if found is None:
                found = kind
            elif self.assignable((found, kind)):
                found = found if kind.kind == "null" else _more_general(found, kind)
            else:
                return DYN
        return found if found is not None else self.fresh()

    def _assignable(self, one: Type, other: Type) -> bool:
        if other.kind == "param":
            valid, bound = self._substitutes(one, other)
            if valid or bound:
                return valid
        if one.kind == "param":
            return self._substitutes(other, one)[0]
        if one.kind in _OPEN or other.kind in _OPEN:
            return True
        if one.kind == "null" or other.kind == "null":
            return (other if one.kind == "null" else one).kind in _NULLABLE or one.kind == other.kind
        if one.kind in _OBJECTS or other.kind in _OBJECTS:
            return self._objects(one, other)
        if one.kind != other.kind:
            return False
        if one.kind == "type":
            return True
        if one.kind in _COMPOSED:
            same = one.name == other.name and len(one.params) == len(other.params)
            return same and all(map(self._assignable, one.params, other.params))
        return True

    def _objects(self, one: Type, other: Type) -> bool:
        if one.kind in _OBJECTS and other.kind in _OBJECTS:
            return True  # both are JSON objects; their schemas may say less than they hold
        mapping = other if one.kind in _OBJECTS else one
        return mapping.kind == "map" and all(map(self._assignable, _AS_MAP.params, mapping.params))

    def _substitutes(self, one: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether `one` can be what a parameter stands for, and whether that stood for something."""
        if one == parameter:
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is None:
            if self._occurs(parameter, one):
                return False, False
            self._bound[parameter.name] = one
            return True, False
        if one == bound:
            return True, True
        if not self._assignable(one, bound):
            return False, True
        general = _more_general(one, bound)
        if not self._occurs(parameter, general):
            self._bound[parameter.name] = general
        return True, True

    def _occurs(self, parameter: Type, within: Type) -> bool:
        if within.kind == "param":
            bound = self._bound.get(within.name)
            return within.name == parameter.name or (bound is not None and self._occurs(parameter, bound))
        return any(self._occurs(parameter, each) for each in within.params)


def _more_general(one: Type, other: Type) -> Type:
    return one if _is_general(one, other) else other


def _is_general(one: Type, other: Type) -> bool:
    """Whether `one` says as much as `other` or less."""
    if one.kind in ("dyn", "param"):
        return True
    if other.kind in ("dyn", "param") or one.kind != other.kind:
        return False
    if one.kind in _COMPOSED - {"type"}:
        same = one.name == other.name and len(one.params) == len(other.params)
        return same and all(map(_is_general, one.params, other.params))
    return one.kind == "type" or one == other


def _parameters(kind: Type) -> set[str]:
    if kind.kind == "param":
        return {kind.name}
    return {name for each in kind.params for name in _parameters(each)}


def _replaced(kind: Type, by: dict[str, Type]) -> Type:
    if kind.kind == "param":
        return by[kind.name]
    if not kind.params:
        return kind
    return Type(kind.kind, tuple(_replaced(each, by) for each in kind.params), kind.name)
