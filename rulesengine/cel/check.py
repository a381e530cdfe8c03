"""Types before values: undeclared names, unknown fields, operators that fit no types.

Where a type is not known (`dyn`) nothing is said here and the value decides. All problems of
an expression are found at once. The outcome is the resolved tree with the type of every node;
it is the same walk whether problems matter or not, since resolving names needs the types.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rulesengine.cel import types
from rulesengine.cel.scope import Env, Locals, qualified_name
from rulesengine.cel.signatures import Overload
from rulesengine.cel.syntax import (
    BINDING,
    Call,
    Fold,
    Index,
    ListOf,
    Literal,
    Local,
    MapOf,
    Name,
    Node,
    Select,
)
from rulesengine.cel.types import BOOL, DYN, ERROR, INT, STRING, Type, list_of, map_of, optional_of
from rulesengine.cel.unify import Unifier
from rulesengine.cel.values import TypeValue, UInt

Typed = tuple[Node, Type]
_CONDITIONS = frozenset({"all", "exists", "exists_one", "filter"})
_LOGIC = frozenset({"_&&_", "_||_"})
_LITERALS: dict[type, Type] = {
    bool: BOOL, int: INT, UInt: types.UINT, float: types.DOUBLE, str: STRING, bytes: types.BYTES,
    type(None): types.NULL,
}  # fmt: skip
_WORDS = {"_[_]": "[]", "_[?_]": "[?]"}
_TEXTABLE = frozenset({"string", "int", "double", "uint", "bool"})


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, where in the text (code points), and what to do."""

    code: str
    message: str
    offset: int
    length: int = 1
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """The resolved tree, its type, the types of its nodes and the one overload of its calls (by id)."""

    node: Node
    type: Type
    types: dict[int, Type]
    overloads: dict[int, Overload]
    slots: int
    problems: tuple[Problem, ...]


def check(node: Node, env: Env, expect: Type | None = None) -> Checked:
    """Never raises for what is wrong with the expression: `problems` say it."""
    walk = _Walk(env)
    resolved, kind = walk.visit(node, {})
    final = {key: walk.unifier.resolved(each, closed=True) for key, each in walk.types.items()}
    found = walk.unifier.resolved(kind, closed=True)
    if expect is not None and not walk.unifier.assignable((found, expect)):
        hint = "compare it with something" if expect.kind == "bool" else ""
        walk.find("RE205", f"the expression yields {found}, expected {expect}", node, hint)
    problems = tuple(sorted(walk.problems, key=lambda problem: problem.offset))
    return Checked(resolved, found, final, walk.overloads, walk.slots, problems)


@dataclass(slots=True)
class _Walk:
    env: Env
    unifier: Unifier = field(default_factory=Unifier)
    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, Overload] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    slots: int = 0

    def find(self, code: str, message: str, node: Node, hint: str = "", length: int = 0) -> None:
        self.problems.append(Problem(code, message, node.at, length or node.length, hint))

    def visit(self, node: Node, scope: Locals) -> Typed:
        match node:
            case Literal(value=value):
                typed: Typed = node, _LITERALS.get(type(value), types.TYPE)
            case Name():
                typed = self._name(node, scope)
            case Local():
                typed = node, DYN
            case Select():
                typed = self._select(node, scope)
            case Index():
                typed = self._index(node, scope)
            case ListOf():
                typed = self._list(node, scope)
            case MapOf():
                typed = self._map(node, scope)
            case Call():
                typed = self._call(node, scope)
            case Fold():
                typed = self._fold(node, scope)
        self.types[id(typed[0])] = typed[1]
        return typed

    def _resolved(self, kind: Type) -> Type:
        return self.unifier.resolved(kind)

    # --- names and fields ---

    def _name(self, node: Name, scope: Locals) -> Typed:
        if node.name in scope:
            slot, kind = scope[node.name]
            return Local(node.name, slot, node.at, node.length), kind
        found = self._variable(node, node.name)
        if found is not None:
            return found
        hint = nearest(node.name, [*self.env.variables, *scope])
        self.find("RE202", f"undeclared reference to '{node.name}'", node, hint)
        return node, ERROR

    def _variable(self, node: Node, name: str) -> Typed | None:
        found = self.env.variable(name)
        if found is None:
            return None
        full, kind, is_type = found
        if is_type:
            return Literal(TypeValue(full), node.at, node.length), kind
        return Name(full, node.at, node.length), kind

    def _select(self, node: Select, scope: Locals) -> Typed:
        if not node.optional and not node.test and self.env.qualified:
            name = qualified_name(node)
            root = (name or "").split(".")[1 if name and name.startswith(".") else 0]
            if name and root in self.env.qualified and root not in (() if name.startswith(".") else scope):
                found = self._variable(node, name)
                if found is not None:
                    return found
        operand, kind = self.visit(node.operand, scope)
        kind = self._resolved(kind)
        base = kind.params[0] if kind.kind == "optional" else kind
        name, found_type = self._field(node, base)
        resolved = replace(node, operand=operand, field=name)
        if node.test:
            return resolved, BOOL
        return resolved, optional_of(found_type) if node.optional or kind.kind == "optional" else found_type

    def _field(self, node: Select, base: Type) -> tuple[str, Type]:
        """The real name of a field and its type."""
        found = types.field_of(base, node.field)
        if found is not None:
            return node.field, found
        if base.kind not in ("object", "record"):
            self.find("RE204", f"type {base} has no fields", node)
            return node.field, DYN
        plain = types.unescaped(node.field)
        found = types.field_of(base, plain) if plain != node.field else None
        if found is not None:
            return plain, found
        self._unknown_field(node, node.field, base)
        return node.field, DYN

    def _unknown_field(self, node: Node, name: str, base: Type) -> None:
        hint = nearest(name, types.field_names(base))
        self.find("RE203", f"undefined field '{name}'", node, hint)

    def _index(self, node: Index, scope: Locals) -> Typed:
        operand, kind = self.visit(node.operand, scope)
        key, key_type = self.visit(node.key, scope)
        resolved = replace(node, operand=operand, key=key)
        kind = self._resolved(kind)
        base = kind.params[0] if kind.kind == "optional" else kind
        if base.kind in ("object", "record"):
            found = self._key_of_object(node, base)
            return resolved, optional_of(found) if node.optional or kind.kind == "optional" else found
        function = "_[?_]" if node.optional else "_[_]"
        return resolved, self._overload(resolved, function, False, [kind, key_type])

    def _key_of_object(self, node: Index, base: Type) -> Type:
        name = node.key.value if isinstance(node.key, Literal) else None
        if not isinstance(name, str):
            return DYN
        found = types.field_of(base, name)
        if found is None:
            self._unknown_field(node, name, base)
        return found or DYN

    # --- literals ---

    def _item(self, node: Node, optional: bool, scope: Locals) -> Typed:
        resolved, kind = self.visit(node, scope)
        kind = self._resolved(kind)
        if not optional:
            return resolved, kind
        if kind.kind == "optional":
            return resolved, kind.params[0]
        if kind.kind not in ("dyn", "error"):
            self.find("RE204", f"expected type optional_type({kind}) but found {kind}", node, "remove the ?")
        return resolved, kind

    def _list(self, node: ListOf, scope: Locals) -> Typed:
        typed = [self._item(item, optional, scope) for item, optional in node.items]
        items = tuple((item, optional) for (item, _), (_, optional) in zip(typed, node.items, strict=True))
        return replace(node, items=items), list_of(self.unifier.joined([kind for _, kind in typed]))

    def _map(self, node: MapOf, scope: Locals) -> Typed:
        entries: list[tuple[Node, Node, bool]] = []
        keys: list[Type] = []
        values: list[Type] = []
        for key, value, optional in node.entries:
            new_key, key_type = self.visit(key, scope)
            new_value, value_type = self._item(value, optional, scope)
            entries.append((new_key, new_value, optional))
            keys.append(key_type)
            values.append(value_type)
        kind = map_of(self.unifier.joined(keys), self.unifier.joined(values))
        return replace(node, entries=tuple(entries)), kind

    # --- calls ---

    def _call(self, node: Call, scope: Locals) -> Typed:
        typed = [self.visit(each, scope) for each in node.arguments]
        arguments = tuple(each for each, _ in typed)
        kinds = [kind for _, kind in typed]
        name, target, member = node.function, None, False
        if node.target is not None:
            full = self._namespaced(node, scope)
            if full is None:
                target, kind = self.visit(node.target, scope)
                kinds, member = [kind, *kinds], True
            name = full or name
        resolved = Call(self.env.function(name) or name, target, arguments, node.at, node.length)
        if self.env.function(name) is None or not self._has_style(resolved.function, member):
            known = [n for n, each in self.env.overloads.items() if each[0].member is member]
            hint = nearest(name, (n for n in known if n[0].isalpha()))
            self.find("RE202", f"undeclared reference to '{name}'", node, hint, len(node.function))
            return resolved, ERROR
        if resolved.function in _LOGIC:
            return resolved, self._logic(resolved, kinds)
        return resolved, self._overload(resolved, resolved.function, member, kinds)

    def _has_style(self, function: str, member: bool) -> bool:
        return any(each.member is member for each in self.env.overloads[function])

    def _namespaced(self, node: Call, scope: Locals) -> str | None:
        """The full name of `math.ceil` and its like, where no variable stands before the dot."""
        assert node.target is not None
        prefix = qualified_name(node.target)
        if prefix is None or prefix.split(".")[0] in scope:
            return None
        return self.env.function(f"{prefix}.{node.function}")

    def _logic(self, node: Call, kinds: list[Type]) -> Type:
        for argument, kind in zip(node.arguments, kinds, strict=True):
            self._condition(argument, kind)
        return BOOL

    def _condition(self, node: Node, kind: Type) -> None:
        if not self.unifier.assignable((kind, BOOL)):
            message = f"found no matching overload: a condition is bool, not {self._shown(kind)}"
            self.find("RE204", message, node)

    def _overload(self, node: Call | Index | Fold, function: str, member: bool, kinds: list[Type]) -> Type:
        """The type that a call yields; what it could be is kept, where that is one overload."""
        result: Type | None = None
        fitting: list[Overload] = []
        for each in self.env.overloads[function]:
            if each.member is not member or not each.takes(len(kinds)):
                continue
            params = each.params + each.params[-1:] * (len(kinds) - len(each.params))
            declared, *wanted = self.unifier.instance(each.result, *params)
            if not self.unifier.assignable(*zip(kinds, wanted, strict=True)):
                continue
            fitting.append(each)
            found = self._resolved(declared)
            if result is None:
                result = found
            elif result.kind != "dyn" and found != result:
                result = DYN
        if len(fitting) == 1:
            self.overloads[id(node)] = fitting[0]
        if result is None:
            return self._no_overload(node, function, member, kinds)
        return result

    def _no_overload(self, node: Node, function: str, member: bool, kinds: list[Type]) -> Type:
        shown = [self._shown(kind) for kind in kinds]
        if function == "_?_:_" and len(kinds) == 3:
            return self._branches(node, shown, kinds)
        hint = ""
        if function == "_+_" and {"string"} < {self._resolved(kind).kind for kind in kinds} <= _TEXTABLE:
            hint = "write string(…) around what is no string"
        if any(each.startswith("optional_type") for each in shown):
            hint = "unwrap the optional first: .orValue(…) or .value()"
        if function in ("orValue", "or") and not shown[0].startswith("optional_type"):
            hint = "write .?field or [?key] before it"
        word = _WORDS.get(function) or function.strip("_@") or function
        listed = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
        self.find("RE204", f"found no matching overload for {word} of {listed}", node, hint)
        return ERROR

    def _branches(self, node: Node, shown: list[str], kinds: list[Type]) -> Type:
        """`c ? x : null` is allowed here: null drops a template's key."""
        if self.unifier.assignable((kinds[0], BOOL)):
            if any(self._resolved(kind).kind == "null" for kind in kinds[1:]):
                return DYN
            message = f"found no matching overload: the branches of ?: are {shown[1]} and {shown[2]}"
            self.find("RE204", message, node, "write dyn(…) around one of them")
        else:
            message = f"found no matching overload: a condition is bool, not {shown[0]}"
            self.find("RE204", message, node)
        return ERROR

    def _shown(self, kind: Type) -> str:
        return str(self.unifier.resolved(kind, closed=True))

    # --- macros ---

    def _fold(self, node: Fold, scope: Locals) -> Typed:
        over, over_type = self.visit(node.range, scope)
        over_type = self._resolved(over_type)
        kinds = self._bound(node, over_type) if node.kind in BINDING else self._items(node, over_type)
        slots = tuple(range(self.slots, self.slots + len(node.names)))
        self.slots += len(slots)
        inner = {**scope, **dict(zip(node.names, zip(slots, kinds, strict=True), strict=True))}
        condition = None
        if node.condition is not None:
            condition, condition_type = self.visit(node.condition, inner)
            self._condition(condition, condition_type)
        body, body_type = self.visit(node.body, inner)
        if node.kind in _CONDITIONS:
            self._condition(body, body_type)
        resolved = replace(node, range=over, condition=condition, body=body, slots=slots)
        return resolved, self._yielded(resolved, over_type, kinds, self._resolved(body_type))

    def _bound(self, node: Fold, over: Type) -> tuple[Type, ...]:
        if node.kind == "bind":
            return (over,)
        inner = self.unifier.fresh()
        if not self.unifier.assignable((over, optional_of(inner))):
            message = f"found no matching overload for {node.kind} of {self._shown(over)}"
            self.find("RE204", message, node, "write .?field or [?key] before it", len(node.kind))
            return (ERROR,)
        return (self._resolved(inner),)

    def _items(self, node: Fold, over: Type) -> tuple[Type, ...]:
        """The types of a loop's variables."""
        two = len(node.names) == 2
        match over.kind:
            case "list":
                return (INT, over.params[0]) if two else over.params
            case "map":
                return over.params if two else over.params[:1]
            case "object" | "record":
                return (STRING, DYN) if two else (STRING,)
            case "dyn" | "error" | "param":
                self.unifier.assignable((DYN, over))
                return (DYN,) * len(node.names)
            case _:
                self.find("RE204", f"{node.kind}() goes over a list or map, not {over}", node)
                return (ERROR,) * len(node.names)

    def _yielded(self, node: Fold, over: Type, kinds: tuple[Type, ...], body: Type) -> Type:
        match node.kind:
            case "all" | "exists" | "exists_one":
                return BOOL
            case "filter":
                return list_of(kinds[0])
            case "map" | "transformList":
                return list_of(body)
            case "transformMap":
                return map_of(kinds[0], body)
            case "transformMapEntry":
                entries = map_of(self.unifier.fresh(), self.unifier.fresh())
                if not self.unifier.assignable((body, entries)):
                    self.find("RE204", f"transformMapEntry() takes maps, not {self._shown(body)}", node.body)
                return self._resolved(entries)
            case "sortBy":
                return self._overload(node, "@sortBy", False, [over, list_of(body)])
            case "optMap":
                return optional_of(body)
            case "optFlatMap":
                result, none = self.unifier.fresh(), optional_of(self.unifier.fresh())
                if not self.unifier.assignable((body, result), (none, result)):
                    message = f"optFlatMap() takes an optional, not {self._shown(body)}"
                    self.find("RE204", message, node.body, "use optMap()")
                return self._resolved(result)
            case _:
                return body


def nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"did you mean {close[0]}?" if close else ""
