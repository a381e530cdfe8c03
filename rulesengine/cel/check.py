"""Types before values: undeclared names, unknown fields, operators that fit no types.

Where a type is not known (`dyn`) nothing is said here and the value decides. All problems of
an expression are found at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rulesengine.cel import types
from rulesengine.cel.exact import TYPE_NAMES
from rulesengine.cel.library import FUNCTIONS, OPERATORS, RESULTS
from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, MapOf, Name, Node, Select
from rulesengine.cel.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    Type,
    field_names,
    field_of,
    list_of,
    map_of,
    optional_of,
)
from rulesengine.cel.values import UInt

_SIMPLE = {
    t.kind: t
    for t in (
        types.BOOL,
        types.INT,
        types.UINT,
        types.DOUBLE,
        types.STRING,
        types.BYTES,
        types.TIMESTAMP,
        types.DURATION,
    )
}
_ORDERED = {"_<_", "_<=_", "_>_", "_>=_"}
_LOGIC = {"_&&_", "_||_"}
_WORDS = {
    "_+_": "+",
    "_-_": "-",
    "_*_": "*",
    "_/_": "/",
    "_%_": "%",
    "_<_": "<",
    "_<=_": "<=",
    "_>_": ">",
    "_>=_": ">=",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, where in the text (code points), and what to do."""

    code: str
    message: str
    offset: int
    length: int = 1
    hint: str = ""


@dataclass(slots=True)
class Checker:
    variables: Mapping[str, Type]
    problems: list[Problem] = field(default_factory=list)

    def check(self, node: Node, expect: Type | None) -> Type:
        found = self.type_of(node, self.variables)
        if expect is not None and found.kind not in ("dyn", expect.kind):
            hint = "compare it with something" if expect.kind == "bool" else ""
            self._find(
                "RE205", f"the expression yields {found}, expected {expect}", node.at, node.length, hint
            )
        return found

    def _find(self, code: str, message: str, at: int, length: int = 1, hint: str = "") -> None:
        self.problems.append(Problem(code, message, at, length, hint))

    def type_of(self, node: Node, names: Mapping[str, Type]) -> Type:
        match node:
            case Literal(value=value):
                return _literal(value)
            case Name(name=name):
                return self._name(node, name, names)
            case Select():
                return self._select(node, names)
            case Index():
                return self._index(node, names)
            case ListOf(items=items):
                kinds = [self._unwrapped(self.type_of(item, names), optional) for item, optional in items]
                return list_of(_common(kinds))
            case MapOf(entries=entries):
                keys = [self.type_of(key, names) for key, _, _ in entries]
                values = [self._unwrapped(self.type_of(v, names), optional) for _, v, optional in entries]
                return map_of(_common(keys), _common(values))
            case Call():
                return self._call(node, names)
            case Fold():
                return self._fold(node, names)

    def _unwrapped(self, kind: Type, optional: bool) -> Type:
        return kind.params[0] if optional and kind.kind == "optional" else DYN if optional else kind

    def _name(self, node: Name, name: str, names: Mapping[str, Type]) -> Type:
        if name in names:
            return names[name]
        if name in TYPE_NAMES:
            return types.TYPE
        self._find("RE202", f"undeclared reference to '{name}'", node.at, node.length, _nearest(name, names))
        return DYN

    def _select(self, node: Select, names: Mapping[str, Type]) -> Type:
        operand = self.type_of(node.operand, names)
        wrapped = node.optional or operand.kind == "optional"
        base = operand.params[0] if operand.kind == "optional" else operand
        found = field_of(base, node.field)
        if found is None:
            if base.kind in ("object", "record"):
                hint = _nearest(node.field, field_names(base))
                self._find("RE203", f"undefined field '{node.field}'", node.at, node.length, hint)
            else:
                self._find("RE204", f"type {base} has no fields", node.at, node.length)
            found = DYN
        if node.test:
            return BOOL
        return optional_of(found) if wrapped else found

    def _index(self, node: Index, names: Mapping[str, Type]) -> Type:
        operand, key = self.type_of(node.operand, names), self.type_of(node.key, names)
        wrapped = node.optional or operand.kind == "optional"
        base = operand.params[0] if operand.kind == "optional" else operand
        match base.kind:
            case "list":
                found = base.params[0]
                if key.kind not in ("int", "uint", "double", "dyn"):
                    self._find("RE204", f"a list has no index of type {key}", node.at, node.length)
            case "map":
                found = base.params[1]
            case "object" | "record":
                literal = node.key.value if isinstance(node.key, Literal) else None
                known = field_of(base, literal) if isinstance(literal, str) else DYN
                found = known or DYN
            case "dyn":
                found = DYN
            case _:
                self._find("RE204", f"type {base} has no index", node.at, node.length)
                found = DYN
        return optional_of(found) if wrapped else found

    # --- calls ---

    def _call(self, node: Call, names: Mapping[str, Type]) -> Type:
        kinds = [self.type_of(each, names) for each in node.arguments]
        function = node.function
        if node.target is not None:
            return self._member(node, self.type_of(node.target, names), kinds)
        if function in _LOGIC or function == "!_":
            for kind, argument in zip(kinds, node.arguments, strict=True):
                if kind.kind not in ("bool", "dyn"):
                    self._find(
                        "RE204",
                        f"found no matching overload: a condition is bool, not {kind}",
                        argument.at,
                        argument.length,
                    )
            return BOOL
        if function == "_?_:_":
            if kinds[0].kind not in ("bool", "dyn"):
                self._find(
                    "RE204",
                    f"found no matching overload: a condition is bool, not {kinds[0]}",
                    node.at,
                    node.length,
                )
            return _common(kinds[1:])
        if function in OPERATORS:
            return self._operator(node, kinds)
        if function not in FUNCTIONS:
            self._unknown(node, function, [n for n in FUNCTIONS if not n.startswith(".")])
            return DYN
        return _result(RESULTS.get(function, "dyn"))

    def _unknown(self, node: Call, function: str, known: Iterable[str]) -> None:
        message = f"undeclared reference to '{function}'"
        self._find("RE202", message, node.at, len(function), _nearest(function, known))

    def _member(self, node: Call, target: Type, kinds: list[Type]) -> Type:
        name = node.function
        if name in ("or", "orValue") and len(kinds) == 1:
            if target.kind not in ("optional", "dyn"):
                hint = "write .?field or [?key] before it"
                self._find(
                    "RE204",
                    f"found no matching overload: {name}() is of optionals, not {target}",
                    node.at,
                    node.length,
                    hint,
                )
                return DYN
            inner = target.params[0] if target.kind == "optional" else DYN
            return target if name == "or" else _common([inner, kinds[0]])
        if "." + name not in FUNCTIONS:
            self._unknown(node, name, [n[1:] for n in FUNCTIONS if n.startswith(".")])
            return DYN
        if name == "value" and target.kind == "optional":
            return target.params[0]
        text = name in _OF_STRINGS
        if text and target.kind not in ("string", "dyn"):
            self._find(
                "RE204",
                f"found no matching overload: {name}() is of string, not {target}",
                node.at,
                node.length,
            )
        return _result(RESULTS.get("." + name, "dyn"))

    def _operator(self, node: Call, kinds: list[Type]) -> Type:
        function = node.function
        if function in ("_==_", "_!=_", "@in"):
            if function == "@in" and kinds[1].kind not in ("list", "map", "dyn", "object", "record"):
                self._find(
                    "RE204",
                    f"found no matching overload: in takes a list or map, not {kinds[1]}",
                    node.at,
                    node.length,
                )
            if function != "@in" and not _comparable(kinds[0], kinds[1]):
                self._find(
                    "RE204",
                    f"found no matching overload: {kinds[0]} and {kinds[1]} are never equal",
                    node.at,
                    node.length,
                )
            return BOOL
        if any(kind.kind == "dyn" for kind in kinds):
            return BOOL if function in _ORDERED else DYN
        names = tuple(kind.kind for kind in kinds)
        if function in _ORDERED:
            if not (names[0] == names[1] and names[0] in _ORDER) and not set(names) <= types.NUMBERS:
                self._no_overload(node, kinds)
            return BOOL
        found = _arithmetic(function, names, kinds)
        if found is None:
            self._no_overload(node, kinds)
            return DYN
        return found

    def _no_overload(self, node: Call, kinds: list[Type]) -> None:
        word = _WORDS.get(node.function, node.function.strip("_"))
        shown = ", ".join(map(str, kinds))
        hint = ""
        if word == "+" and {kind.kind for kind in kinds} <= {"string", "int", "double", "uint", "bool"}:
            hint = "write string(…) around what is no string"
        self._find("RE204", f"found no matching overload for {word} of ({shown})", node.at, node.length, hint)

    # --- macros ---

    def _fold(self, node: Fold, names: Mapping[str, Type]) -> Type:
        over = self.type_of(node.range, names)
        inner = {**names, **dict(zip(node.names, _variables(node, over), strict=True))}
        if node.kind not in ("bind", "optMap", "optFlatMap") and over.kind not in (
            "list",
            "map",
            "dyn",
            "object",
            "record",
        ):
            self._find("RE204", f"{node.kind}() goes over a list or map, not {over}", node.at, node.length)
        if node.condition is not None:
            self._bool(node.condition, inner)
        if node.kind in ("all", "exists", "exists_one", "filter"):
            self._bool(node.body, inner)
            return (
                BOOL
                if node.kind != "filter"
                else over
                if over.kind == "list"
                else list_of(_variables(node, over)[0])
            )
        body = self.type_of(node.body, inner)
        match node.kind:
            case "map" | "transformList":
                return list_of(body)
            case "transformMap":
                return map_of(_variables(node, over)[0], body)
            case "optMap":
                return optional_of(body)
            case "sortBy":
                return over
            case "transformMapEntry":
                return body if body.kind == "map" else DYN
            case _:
                return body

    def _bool(self, node: Node, names: Mapping[str, Type]) -> None:
        kind = self.type_of(node, names)
        if kind.kind not in ("bool", "dyn"):
            self._find(
                "RE204", f"found no matching overload: a condition is bool, not {kind}", node.at, node.length
            )


_ORDER = frozenset({"bool", "string", "bytes", "timestamp", "duration", *types.NUMBERS})
_OF_STRINGS = frozenset(
    [
        "startsWith",
        "endsWith",
        "matches",
        "charAt",
        "lowerAscii",
        "upperAscii",
        "replace",
        "split",
        "substring",
        "trim",
    ]
)


def _variables(node: Fold, over: Type) -> tuple[Type, ...]:
    if node.kind == "bind":
        return (over,)
    if node.kind in ("optMap", "optFlatMap"):
        return (over.params[0] if over.kind == "optional" else DYN,)
    match over.kind:
        case "list":
            key, value = INT, over.params[0]
        case "map":
            key, value = over.params
        case "object" | "record":
            key, value = STRING, DYN
        case _:
            key, value = DYN, DYN
    if len(node.names) == 2:
        return key, value
    return (value if over.kind in ("list", "dyn") else key,)


def _arithmetic(function: str, names: tuple[str, ...], kinds: list[Type]) -> Type | None:
    if len(names) == 1:
        return kinds[0] if names[0] in ("int", "double", "duration") else None
    a, b = names
    if a == b and a in types.NUMBERS and not (a == "double" and function == "_%_"):
        return kinds[0]
    if function == "_+_":
        if a == b and a in ("string", "bytes", "list", "duration"):
            return kinds[0] if a != "list" else list_of(_common([kinds[0].params[0], kinds[1].params[0]]))
        if {a, b} == {"timestamp", "duration"}:
            return types.TIMESTAMP
    if function == "_-_":
        if a == b and a in ("timestamp", "duration"):
            return types.DURATION
        if (a, b) == ("timestamp", "duration"):
            return types.TIMESTAMP
    return None


def _comparable(a: Type, b: Type) -> bool:
    if "dyn" in (a.kind, b.kind) or "null" in (a.kind, b.kind) or a.kind == b.kind:
        return True
    return {a.kind, b.kind} <= types.NUMBERS or {a.kind, b.kind} <= {"map", "object", "record"}


def _literal(value: object) -> Type:
    kinds: dict[type, Type] = {
        bool: BOOL, int: INT, UInt: types.UINT, float: types.DOUBLE, str: STRING, bytes: types.BYTES,
    }  # fmt: skip
    return kinds.get(type(value), types.NULL)


def _result(text: str) -> Type:
    return _SIMPLE.get(text) or (list_of(_SIMPLE[text[5:-1]]) if text.startswith("list(") else DYN)


def _common(kinds: Iterable[Type]) -> Type:
    found = list(kinds)
    first = found[0] if found else DYN
    return first if all(kind == first for kind in found) else DYN


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"did you mean {close[0]}?" if close else ""
