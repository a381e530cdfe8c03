"""The fast tier: an expression as one plain Python function, where that says the same.

It does what is usual (keys that are there, types that fit) with the least work, and raises
on everything else; then the exact tier runs, which is sound since expressions are pure.
Only `repr` of literals and names of our own enter the source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, MapOf, Name, Node, Select

MAX_ROUNDS = 1000  # beyond, the exact tier counts what loops cost


class Unusual(Exception):
    """Anything that the fast tier does not do."""


class _NotFast(Exception):
    """Raised for an expression without a fast form."""


def _text(value: Any) -> str:
    if value.__class__ is not str:
        raise Unusual
    return value


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return value
    raise Unusual


def _add(a: Any, b: Any) -> Any:
    kind = a.__class__
    if kind is not b.__class__:
        raise Unusual
    if kind is str:
        return a + b
    if kind is int and -_SAFE < a < _SAFE and -_SAFE < b < _SAFE:
        return a + b
    raise Unusual


def _subtract(a: Any, b: Any) -> Any:
    if a.__class__ is int and b.__class__ is int and -_SAFE < a < _SAFE and -_SAFE < b < _SAFE:
        return a - b
    raise Unusual


def _equal(a: Any, b: Any) -> bool:
    kind = a.__class__
    if kind is str:
        return b.__class__ is str and bool(a == b)
    if kind is b.__class__ and (kind is int or kind is bool or a is None):
        return bool(a == b)
    raise Unusual


def _numbers(a: Any, b: Any) -> bool:
    if a.__class__ is int and b.__class__ is int:
        return True
    raise Unusual


def _in(item: Any, within: Any) -> bool:
    if item.__class__ is not str:
        raise Unusual
    if isinstance(within, dict):
        return item in within
    if within.__class__ is list:
        return any(each.__class__ is str and each == item for each in within)
    raise Unusual


def _map(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    raise Unusual


def _has(value: Any, key: str) -> bool:
    if isinstance(value, dict):
        return key in value
    raise Unusual


def _items(value: Any) -> Any:
    if value.__class__ is list and len(value) <= MAX_ROUNDS:
        return value
    raise Unusual


def _size(value: Any) -> int:
    if value.__class__ in (str, list) or isinstance(value, dict):
        return len(value)
    raise Unusual


def _string(value: Any) -> str:
    if value.__class__ is str:
        return value
    if value.__class__ is int:
        return str(value)
    raise Unusual


_SAFE = 2**62
_ABSENT: Any = object()
_GLOBALS: dict[str, Any] = {
    "__builtins__": {"all": all, "any": any, "len": len}, "_text": _text, "_truth": _truth, "_add": _add,
    "_subtract": _subtract, "_equal": _equal, "_numbers": _numbers, "_in": _in, "_map": _map, "_has": _has,
    "_items": _items, "_size": _size, "_string": _string, "_ABSENT": _ABSENT,
}  # fmt: skip


def compiled(node: Node) -> Callable[[Mapping[str, Any]], Any] | None:
    """The function, or None for an expression that has no fast form."""
    try:
        source = _Writer().value(node, {})
    except (_NotFast, RecursionError):
        return None
    try:
        code = compile(f"lambda n: {source}", "<cel>", "eval")
    except (MemoryError, RecursionError, SyntaxError):  # nested deeper than Python's parser takes
        return None
    return eval(code, dict(_GLOBALS))  # type: ignore[no-any-return]  # noqa: S307 - our own source, see the module


class _Writer:
    """Writes source; variables of macros become v0, v1, …"""

    def __init__(self) -> None:
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def value(self, node: Node, scope: Mapping[str, str]) -> str:
        match node:
            case Literal(value=value):
                if value is None or type(value) in (bool, int, str, float):
                    if type(value) is float and not math.isfinite(value):
                        raise _NotFast
                    return repr(value)
            case Name(name=name):
                return scope.get(name) or f"n[{name!r}]"
            case Select(operand=operand, field=field, optional=False, test=test):
                base = self.value(operand, scope)
                return f"_has({base}, {field!r})" if test else f"{base}[{field!r}]"
            case Index(operand=operand, key=Literal(value=str() as key), optional=False):
                return f"{self.value(operand, scope)}[{key!r}]"
            case ListOf(items=items) if not any(optional for _, optional in items):
                return f"[{', '.join(self.value(item, scope) for item, _ in items)}]"
            case MapOf(entries=entries):
                return self._map(entries, scope)
            case Call():
                return self._call(node, scope)
            case Fold():
                return self._fold(node, scope)
            case _:
                pass
        raise _NotFast

    def _map(self, entries: tuple[tuple[Node, Node, bool], ...], scope: Mapping[str, str]) -> str:
        keys = [
            key.value if isinstance(key, Literal) and type(key.value) is str else None
            for key, _, _ in entries
        ]
        if None in keys or len(set(keys)) != len(keys) or any(optional for _, _, optional in entries):
            raise _NotFast
        parts = (f"{key!r}: {self.value(v, scope)}" for key, (_, v, _) in zip(keys, entries, strict=True))
        return f"{{{', '.join(parts)}}}"

    def _truth(self, node: Node, scope: Mapping[str, str]) -> str:
        source = self.value(node, scope)
        return source if _is_bool(node) else f"_truth({source})"

    def _call(self, node: Call, scope: Mapping[str, str]) -> str:
        if node.target is not None:
            return self._member(node, scope)
        arguments, function = node.arguments, node.function
        if function in ("_&&_", "_||_"):
            word = "and" if function == "_&&_" else "or"
            return f"({self._truth(arguments[0], scope)} {word} {self._truth(arguments[1], scope)})"
        if function == "!_":
            return f"(not {self._truth(arguments[0], scope)})"
        if function == "_?_:_":
            then, otherwise = (self.value(each, scope) for each in arguments[1:])
            return f"({then} if {self._truth(arguments[0], scope)} else {otherwise})"
        values = [self.value(each, scope) for each in arguments]
        match function:
            case "_==_":
                return f"_equal({values[0]}, {values[1]})"
            case "_!=_":
                return f"(not _equal({values[0]}, {values[1]}))"
            case "_+_":
                return f"_add({values[0]}, {values[1]})"
            case "_-_":
                return f"_subtract({values[0]}, {values[1]})"
            case "@in":
                return f"_in({values[0]}, {values[1]})"
            case "size" if len(values) == 1:
                return f"_size({values[0]})"
            case "string" if len(values) == 1:
                return f"_string({values[0]})"
            case "_<_" | "_<=_" | "_>_" | "_>=_":
                a, b = self._fresh(), self._fresh()
                return f"(_numbers({a} := {values[0]}, {b} := {values[1]}) and {a} {function.strip('_')} {b})"
            case _:
                pass
        raise _NotFast

    def _member(self, node: Call, scope: Mapping[str, str]) -> str:
        assert node.target is not None
        if node.function == "orValue" and len(node.arguments) == 1:
            return self._or_value(node.target, node.arguments[0], scope)
        values = [self.value(each, scope) for each in node.arguments]
        target = self.value(node.target, scope)
        match node.function:
            case "startsWith" | "endsWith" if len(values) == 1:
                method = "startswith" if node.function == "startsWith" else "endswith"
                return f"_text({target}).{method}(_text({values[0]}))"
            case "contains" if len(values) == 1:
                return f"(_text({values[0]}) in _text({target}))"
            case "size" if not values:
                return f"_size({target})"
        raise _NotFast

    def _or_value(self, target: Node, other: Node, scope: Mapping[str, str]) -> str:
        """`a.?b[?c].orValue(x)`: every step from the first optional one on may be absent."""
        steps: list[str] = []
        node = target
        while isinstance(node, Select | Index):
            if isinstance(node, Select):
                if node.test:
                    raise _NotFast
                key = node.field
            elif isinstance(node.key, Literal) and type(node.key.value) is str:
                key = node.key.value
            else:
                raise _NotFast
            steps.append(key)
            operand = node.operand
            if node.optional and not _has_optional(operand):
                break
            node = operand
        else:
            raise _NotFast
        value, fallback = self.value(node.operand, scope), self.value(other, scope)
        here = value
        conditions: list[str] = []
        for key in reversed(steps):
            name = self._fresh()
            conditions.append(f"{key!r} in ({name} := _map({here}))")
            here = f"{name}[{key!r}]"
        return f"({here} if {' and '.join(conditions)} else {fallback})"

    def _fold(self, node: Fold, scope: Mapping[str, str]) -> str:
        if len(node.names) != 1 or (node.condition is not None and node.kind != "map"):
            raise _NotFast
        over, name = self.value(node.range, scope), self._fresh()
        inner = {**scope, node.names[0]: name}
        each = f"for {name} in _items({over})"
        match node.kind:
            case "all":
                return f"all([{self._truth(node.body, inner)} {each}])"
            case "exists":
                return f"any([{self._truth(node.body, inner)} {each}])"
            case "filter":
                return f"[{name} {each} if {self._truth(node.body, inner)}]"
            case "map":
                condition = f" if {self._truth(node.condition, inner)}" if node.condition is not None else ""
                return f"[{self.value(node.body, inner)} {each}{condition}]"
            case _:
                raise _NotFast


_BOOLEAN = frozenset({"_&&_", "_||_", "!_", "_==_", "_!=_", "@in", "_<_", "_<=_", "_>_", "_>=_"})


def _is_bool(node: Node) -> bool:
    if isinstance(node, Select):
        return node.test
    if isinstance(node, Call):
        return (
            node.function in _BOOLEAN
            if node.target is None
            else node.function in ("startsWith", "endsWith", "contains")
        )
    return isinstance(node, Fold) and node.kind in ("all", "exists")


def _has_optional(node: Node) -> bool:
    while isinstance(node, Select | Index):
        if node.optional:
            return True
        node = node.operand
    return False
