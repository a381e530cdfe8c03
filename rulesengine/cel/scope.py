"""What an expression may name: declared variables, types and functions, and the macros' own.

Names are looked up as the specification says: the container's names first, from the inside
out, and a leading dot asks for the outermost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from rulesengine.cel import types
from rulesengine.cel.signatures import OVERLOADS, Overload
from rulesengine.cel.syntax import Name, Node, Select
from rulesengine.cel.types import Type

_TYPES = (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES, types.NULL,
          types.TIMESTAMP, types.DURATION, types.TYPE)  # fmt: skip
TYPE_NAMES: Mapping[str, Type] = MappingProxyType(
    {str(each): each for each in _TYPES}
    | {
        "list": types.list_of(types.DYN),
        "map": types.map_of(types.DYN, types.DYN),
        "optional_type": types.optional_of(types.DYN),
        "net.IP": types.opaque("net.IP"),
        "net.CIDR": types.opaque("net.CIDR"),
    }
)
Locals: TypeAlias = Mapping[str, tuple[int, Type]]  # the macros' variables: slot and type


@dataclass(frozen=True)
class Env:
    """The names an expression may use, with their types.

    `container` is the namespace that names resolve in; `functions` are declared in addition to
    the library's, for checking only.
    """

    variables: Mapping[str, Type]
    container: str = ""
    functions: tuple[Overload, ...] = field(default=())

    @cached_property
    def identity(self) -> object:
        """Equal for environments in which every text means the same."""
        return tuple(self.variables.items()), self.container, self.functions

    @cached_property
    def overloads(self) -> Mapping[str, tuple[Overload, ...]]:
        own: dict[str, tuple[Overload, ...]] = {}
        for each in self.functions:
            own[each.name] = (*own.get(each.name, OVERLOADS.get(each.name, ())), each)
        return {**OVERLOADS, **own} if own else OVERLOADS

    @cached_property
    def qualified(self) -> frozenset[str]:
        """The first parts of names that have a dot, and of those behind the container."""
        dotted = [name for name in (*self.variables, *TYPE_NAMES) if "." in name]
        prefix = f"{self.container}."
        inner = [name.removeprefix(prefix) for name in dotted if name.startswith(prefix)]
        return frozenset(name.split(".")[0] for name in (*dotted, *inner))

    def candidates(self, name: str) -> Iterable[str]:
        """What a name may stand for, in order."""
        if name.startswith("."):
            yield name[1:]
            return
        parts = self.container.split(".") if self.container else []
        for count in range(len(parts), 0, -1):
            yield ".".join([*parts[:count], name])
        yield name

    def variable(self, name: str) -> tuple[str, Type, bool] | None:
        """(full name, type, whether it is the name of a type)."""
        for full in self.candidates(name):
            if full in self.variables:
                return full, self.variables[full], False
            if full in TYPE_NAMES:
                return full, types.type_of(TYPE_NAMES[full]), True
        return None

    def function(self, name: str) -> str | None:
        """The full name of a function; None where there is none of that name."""
        return next((full for full in self.candidates(name) if full in self.overloads), None)


def qualified_name(node: Node) -> str | None:
    """`a.b.c` where a node is nothing but that."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.optional and not node.test:
        parts.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(parts)]) if isinstance(node, Name) else None
