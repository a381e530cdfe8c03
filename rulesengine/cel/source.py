"""Writes the source of the fast tier: statements in the order of evaluation, one temporary a step.

A read that was made before on every way to here is not made again. Optionals are values or
ABSENT until they leave the expression. `bound` counts what the exact tier charges at most;
loops and calls whose cost depends on values add to a counter while they run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import re2

from rulesengine.cel import costs
from rulesengine.cel.check import Checked
from rulesengine.cel.signatures import Overload, implementation
from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, Local, MapOf, Name, Node, Select
from rulesengine.cel.types import DYN, Type

_EXACT_DOUBLES = 2**53
_BOOLEAN = frozenset(
    {"_&&_", "_||_", "!_", "_==_", "_!=_", "@in", "_<_", "_<=_", "_>_", "_>=_"}
    | {"startsWith", "endsWith", "contains", "matches", "hasValue"}
)
LONGEST_OUTSIDE, LONGEST_IN_LOOPS = 50_000, 500  # texts and lists whose length is a cost
MOST_NODES = 3000


class NotFast(Exception):
    """Raised for an expression without a fast form."""


class Writer:
    """Writes one function. Everything in it is a temporary, a literal, or a name of `GLOBALS`."""

    def __init__(self, checked: Checked) -> None:
        self.constants: dict[str, Any] = {}
        self._checked = checked
        self._lines: list[str] = []
        self._indent = 1
        self._count = 0
        self._nodes = 0
        self._known: list[dict[object, str]] = [{}]  # reads made so far, innermost block last
        self._slots: dict[int, str] = {}
        self._bounds = [0]  # what is charged, innermost loop last
        self._counts = False  # whether a counter is needed

    def whole(self, limit: int) -> str:
        """The source of a function `evaluate(n)`."""
        result = self.value(self._checked.node)
        if self._bounds[0] > limit:
            raise NotFast
        start = [f"    k = {self._bounds[0]}"] if self._counts else []
        return "\n".join(["def evaluate(n):", *start, *self._lines, f"    return {result}", ""])

    @property
    def bound(self) -> int | None:
        """What the exact tier charges at most; None where that depends on values."""
        return None if self._counts else self._bounds[0]

    # --- what the parts below share ---

    def type(self, node: Node) -> Type:
        return self._checked.types.get(id(node), DYN)

    def overload(self, node: Node) -> Overload | None:
        return self._checked.overloads.get(id(node))

    def slot(self, slot: int) -> str:
        return self._slots[slot]

    def emit(self, line: str) -> None:
        self._lines.append("    " * self._indent + line)

    def fresh(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def charge(self, units: int) -> None:
        self._bounds[-1] += units

    def loops(self) -> bool:
        """Whether what is written now runs more than once."""
        return len(self._bounds) > 1

    def longest(self) -> int:
        return LONGEST_IN_LOOPS if self.loops() else LONGEST_OUTSIDE

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    @contextmanager
    def block(self) -> Iterator[None]:
        """Lines that may not run: what they read is not known after them."""
        self._indent += 1
        self._known.append({})
        yield
        self._known.pop()
        self._indent -= 1

    def count(self, units: str) -> None:
        """Adds to the counter while the function runs."""
        self._counts = True
        self.emit(f"k += {units}")
        self.emit(f"if k > {costs.LIMIT}: raise U")

    def atom(self, source: str) -> str:
        """A temporary for an expression that is used more than once."""
        if source == "A" or (source.isidentifier() and source[0] in "tc" and source[1:].isdigit()):
            return source
        name = self.fresh()
        self.emit(f"{name} = {source}")
        return name

    def once(self, key: object, source: Callable[[], str]) -> str:
        """The temporary of a read, made now unless it was made before."""
        for known in self._known:
            if key in known:
                return known[key]
        name = self.fresh()
        self.emit(f"{name} = {source()}")
        self._known[-1][key] = name
        return name

    def check(self, key: tuple[str, str], line: str) -> None:
        """A check of a temporary that need not be repeated."""
        if not any(key in known for known in self._known):
            self.emit(line)
            self._known[-1][key] = ""

    def map(self, name: str) -> None:
        self.check(("map", name), f"if {name}.__class__ is not dict: is_map({name})")

    def truth(self, node: Node) -> str:
        source = self.value(node)
        return source if is_bool(node) else f"is_bool({source})"

    # --- nodes ---

    def value(self, node: Node) -> str:
        """An expression for the value of a node; what it needs is written before."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise NotFast
        match node:
            case Literal(value=value):
                return self._literal(value)
            case Name(name=name):
                self.charge(1)
                return self._double(node, self.once(("name", name), lambda: f"n[{name!r}]"))
            case Local(slot=slot):
                self.charge(1)
                return self._double(node, self._slots[slot])
            case Select() | Index():
                return self._read(node)
            case ListOf(items=items):
                if any(optional for _, optional in items):
                    raise NotFast
                self.charge(costs.LIST)
                return f"[{', '.join([self.value(item) for item, _ in items])}]"
            case MapOf(entries=entries):
                return self._map(entries)
            case Call():
                from rulesengine.cel.source_calls import call  # noqa: PLC0415 - the two need each other

                return call(self, node)
            case Fold():
                from rulesengine.cel.source_loops import fold  # noqa: PLC0415 - the two need each other

                return fold(self, node)

    def _literal(self, value: Any) -> str:
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes) or (kind is float and math.isfinite(value)):
            return repr(value) if kind not in (int, float) or value >= 0 else f"({value!r})"
        return self.constant(value)

    def _double(self, node: Node, name: str) -> str:
        """Fields that a schema calls number are doubles, whichever way JSON wrote them."""
        if self.type(node).kind == "double":
            self.check(("double", name), f"if {name}.__class__ is int: {name} = float({name})")
        return name

    def _read(self, node: Select | Index) -> str:
        if node.optional or self.type(node.operand).kind == "optional":
            if isinstance(node, Select) and node.test:
                raise NotFast
            return f"closed({self.optional(node)})"
        base = self.atom(self.value(node.operand))
        self.charge(2)
        if isinstance(node, Select) and node.test:
            self.map(base)
            return f"({node.field!r} in {base})"
        if isinstance(node, Select):
            field = node.field
            return self._double(node, self.once((base, field), lambda: f"{base}[{field!r}]"))
        return self._double(node, self._item(node, base))

    def _item(self, node: Index, base: str) -> str:
        key = node.key.value if isinstance(node.key, Literal) else None
        if type(key) is str:
            return self.once((base, key), lambda: f"{base}[{key!r}]")
        if type(key) is int and key >= 0:
            self.check(("list", base), f"if {base}.__class__ is not list: raise U")
            return self.once((base, key), lambda: f"{base}[{key}]")
        name = self.atom(self.value(node.key))
        self.charge(1)
        return self.once((base, "[", name), lambda: f"at({base}, {name})")

    def _map(self, entries: tuple[tuple[Node, Node, bool], ...]) -> str:
        keys = [k.value if isinstance(k, Literal) and type(k.value) is str else None for k, _, _ in entries]
        if None in keys or len(set(keys)) != len(keys) or any(optional for _, _, optional in entries):
            raise NotFast
        self.charge(costs.MAP)
        values = [self.value(value) for _, value, _ in entries]
        return f"{{{', '.join(f'{key!r}: {value}' for key, value in zip(keys, values, strict=True))}}}"

    # --- optionals ---

    def optional(self, node: Node) -> str:
        """A temporary that holds the value of an optional, or ABSENT."""
        if isinstance(node, Select | Index):
            if node.optional or self.type(node.operand).kind == "optional":
                return self._optional_read(node)
        elif isinstance(node, Call) and node.function == "optional.of":
            self.charge(1)
            return self.atom(self.value(node.arguments[0]))
        elif isinstance(node, Call) and node.function == "optional.none":
            self.charge(1)
            return "A"
        elif isinstance(node, Call) and node.function == "or" and node.target is not None:
            return self._or(node.target, node.arguments[0], self.optional)
        elif isinstance(node, Fold) and node.kind in ("optMap", "optFlatMap"):
            return self._of_optional(node)
        return self.atom(f"opened({self.value(node)})")

    def _optional_read(self, node: Select | Index) -> str:
        wrapped = self.type(node.operand).kind == "optional"
        base = self.optional(node.operand) if wrapped else self.atom(self.value(node.operand))
        self.charge(2)
        key = node.field if isinstance(node, Select) else getattr(node.key, "value", None)
        if type(key) is str:
            if not wrapped:
                self.map(base)
                return self.once((base, "?", key), lambda: f"{base}[{key!r}] if {key!r} in {base} else A")
            return self.once((base, "?", key), lambda: f"A if {base} is A else seek({base}, {key!r})")
        assert isinstance(node, Index)
        name = self.atom(self.value(node.key))
        self.charge(1)
        return self.atom(
            f"A if {base} is A else seek({base}, {name})" if wrapped else f"seek({base}, {name})"
        )

    def _or(self, target: Node, other: Node, write: Callable[[Node], str]) -> str:
        found, result = self.optional(target), self.fresh()
        self.emit(f"{result} = {found}")
        self.emit(f"if {result} is A:")
        with self.block():
            self.emit(f"{result} = {write(other)}")
        return result

    def or_value(self, target: Node, other: Node) -> str:
        if isinstance(other, Literal):
            return self.atom(
                f"{self._literal(other.value)} if {(found := self.optional(target))} is A else {found}"
            )
        return self._or(target, other, self.value)

    def _of_optional(self, node: Fold) -> str:
        before = self._bounds[-1]
        found, result = self.optional(node.range), self.fresh()
        self.charge(self._bounds[-1] - before + 3)
        self._slots[node.slots[0]] = found
        self.emit(f"{result} = A")
        self.emit(f"if {found} is not A:")
        with self.block():
            body = self.value(node.body) if node.kind == "optMap" else self.optional(node.body)
            self.emit(f"{result} = {body}")
        return result

    # --- loops ---

    @contextmanager
    def loop(self, head: str, over: str, round_cost: int) -> Iterator[None]:
        """The body of a loop over `over`, charged for all its rounds before it begins."""
        self._counts = True
        place = len(self._lines)
        self.emit("")
        self.emit(f"if k > {costs.LIMIT}: raise U")
        self.emit(head)
        self._bounds.append(round_cost)
        with self.block():
            yield
        self._lines[place] = "    " * self._indent + f"k += len({over}) * {self._bounds.pop()}"
        self.charge(5)

    def bind(self, slot: int, name: str) -> None:
        self._slots[slot] = name


def is_bool(node: Node) -> bool:
    """Whether what is written for a node yields nothing but True or False."""
    match node:
        case Select(test=test):
            return test
        case Literal(value=value):
            return type(value) is bool
        case Call(function=function):
            return function in _BOOLEAN
        case Fold(kind=kind):
            return kind in ("all", "exists", "exists_one")
        case _:
            return False


def pattern(text: str) -> Any:
    """A compiled RE2 pattern's search; NotFast where it is none."""
    try:
        return re2.compile(text).search
    except re2.error:
        raise NotFast from None


def library(function: str, *, member: bool) -> Callable[..., Any]:
    found = implementation(function, member=member)
    if found is None:
        raise NotFast
    return found


def plain_number(value: Any) -> bool:
    """A literal that Python compares with any number as CEL does."""
    return type(value) in (int, float) and abs(value) < _EXACT_DOUBLES


__all__ = ["LONGEST_IN_LOOPS", "NotFast", "Writer", "is_bool", "library", "pattern", "plain_number"]
