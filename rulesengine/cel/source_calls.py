"""Operators and functions in the fast tier's source."""

from __future__ import annotations

from rulesengine.cel import costs
from rulesengine.cel.source import NotFast, Writer, library, pattern, plain_number
from rulesengine.cel.syntax import Call, ListOf, Literal, Node

_COMPARED = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARITHMETIC = {"_-_": "subtract", "_*_": "multiply", "_/_": "divide", "_%_": "modulo"}


def call(writer: Writer, node: Call) -> str:
    """An expression for the value of a call."""
    if node.target is not None:
        return _member(writer, node, node.target)
    match node.function, node.arguments:
        case "_&&_" | "_||_", (left, right):
            return _logic(writer, left, right, "and" if node.function == "_&&_" else "or")
        case "_?_:_", (condition, then, otherwise):
            return _choice(writer, condition, then, otherwise)
        case "!_", (operand,):
            writer.charge(1)
            return f"(not {writer.truth(operand)})"
        case "_==_", (left, right):
            return _equal(writer, left, right)
        case "_!=_", (left, right):
            return f"(not {_equal(writer, left, right)})"
        case "@in", (left, right):
            return _in(writer, left, right)
        case "_+_", (left, right):
            return _add(writer, node, left, right)
        case "size", (operand,):
            writer.charge(1)
            return f"size({writer.value(operand)})"
        case "string", (operand,) if writer.type(operand).kind in ("string", "int", "dyn"):
            writer.charge(1)
            return f"text({writer.value(operand)})"
        case "-_", (operand,):
            writer.charge(1)
            return f"negate({writer.value(operand)})"
        case function, (left, right) if function in _COMPARED:
            return _compare(writer, _COMPARED[function], left, right)
        case function, (left, right) if function in _ARITHMETIC:
            writer.charge(1)
            return f"{_ARITHMETIC[function]}({writer.value(left)}, {writer.value(right)})"
        case _:
            return _library(writer, node)


def _branch(writer: Writer, result: str, condition: str, node: Node, *, truth: bool) -> None:
    writer.emit(f"if {condition}:")
    with writer.block():
        writer.emit(f"{result} = {writer.truth(node) if truth else writer.value(node)}")


def _logic(writer: Writer, left: Node, right: Node, word: str) -> str:
    result = writer.fresh()
    writer.emit(f"{result} = {writer.truth(left)}")
    _branch(writer, result, result if word == "and" else f"not {result}", right, truth=True)
    return result


def _choice(writer: Writer, condition: Node, then: Node, otherwise: Node) -> str:
    result, chosen = writer.fresh(), writer.truth(condition)
    if isinstance(then, Literal) and isinstance(otherwise, Literal):
        return f"({writer.value(then)} if {chosen} else {writer.value(otherwise)})"
    _branch(writer, result, chosen, then, truth=False)
    writer.emit("else:")
    with writer.block():
        writer.emit(f"{result} = {writer.value(otherwise)}")
    return result


# --- comparisons ---


def _equal(writer: Writer, left: Node, right: Node) -> str:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        left, right = right, left
    if isinstance(right, Literal):
        found = _equal_literal(writer, left, right)
        if found:
            return found
    longest = writer.longest()
    writer.charge(costs.tenth(longest))
    return f"equal({writer.value(left)}, {writer.value(right)}, {longest})"


def _equal_literal(writer: Writer, left: Node, right: Literal) -> str:
    """Python's own comparison with a literal, where it cannot confuse types; "" where it can."""
    value = right.value
    if value is None or type(value) is bool:
        writer.charge(1)
        return f"({writer.atom(writer.value(left))} is {value!r})"
    if type(value) in (str, bytes):
        writer.charge(costs.tenth(len(value)))
        return f"({writer.value(left)} == {value!r})"
    if not plain_number(value):
        return ""
    writer.charge(1)
    if value in (0, 1):
        name = writer.atom(writer.value(left))
        return f"({name} == {value!r} and {name} is not {bool(value)!r})"
    return f"({writer.value(left)} == ({value!r}))"


def _compare(writer: Writer, word: str, left: Node, right: Node) -> str:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        left, right, word = right, left, _MIRRORED[word]
    one = writer.atom(writer.value(left))
    if isinstance(right, Literal):
        value = right.value
        if type(value) is int and plain_number(value):
            writer.charge(1)
            writer.check(("number", one), f"if {one}.__class__ is not int: is_number({one})")
            return f"({one} {word} ({value!r}))"
        if type(value) is str:
            writer.charge(costs.tenth(len(value)) + 1)
            writer.check(("text", one), f"if {one}.__class__ is not str: raise U")
            return f"({one} {word} {value!r})"
    other = writer.atom(writer.value(right))
    longest = writer.longest()
    writer.charge(costs.tenth(longest))
    writer.emit(f"ordered({one}, {other}, {longest})")
    return f"({one} {word} {other})"


def _in(writer: Writer, left: Node, right: Node) -> str:
    if isinstance(right, ListOf) and right.items:
        literals = [each.value for each, _ in right.items if isinstance(each, Literal)]
        if len(literals) == len(right.items) and all(type(each) is str for each in literals):
            writer.charge(costs.LIST + len(literals))
            return f"({writer.value(left)} in {{{', '.join(map(repr, literals))}}})"
    longest = writer.longest()
    item, within = writer.value(left), writer.value(right)
    if writer.type(right).kind in ("map", "object", "record"):
        writer.charge(1)
        if isinstance(left, Literal) and type(left.value) is str:
            name = writer.atom(within)
            writer.map(name)
            return f"({item} in {name})"
    elif writer.loops():
        within, longest = writer.atom(within), costs.LIMIT
        writer.count(f"len({within}) if {within}.__class__ is list else 1")
    else:
        writer.charge(longest)
    return f"contains({item}, {within}, {longest})"


def _add(writer: Writer, node: Call, left: Node, right: Node) -> str:
    one, other = writer.value(left), writer.value(right)
    longest = writer.longest()
    writer.charge(1 if writer.type(node).kind in ("int", "double") else costs.tenth(longest))
    return f"add({one}, {other}, {longest})"


# --- functions ---


def _member(writer: Writer, node: Call, target: Node) -> str:
    match node.function, node.arguments:
        case "orValue", (other,):
            return writer.or_value(target, other)
        case "or", (_,):
            return f"closed({writer.optional(node)})"
        case "hasValue", ():
            writer.charge(1)
            return f"({writer.optional(target)} is not A)"
        case "size", ():
            writer.charge(1)
            return f"size({writer.value(target)})"
        case "startsWith" | "endsWith", (Literal(value=str() as part),):
            writer.charge(costs.tenth(len(part)) + 1)
            return f"{writer.atom(writer.value(target))}.{node.function.lower()}({part!r})"
        case "contains", (Literal(value=str() as part),):
            return _contains(writer, target, part)
        case "matches", (Literal(value=str() as part),):
            return _matches(writer, target, part)
        case _:
            return _library(writer, node)


def _contains(writer: Writer, target: Node, part: str) -> str:
    longest = writer.longest()
    if costs.tenth(len(part)) > 1:
        longest = min(longest, 1000)
    name = writer.atom(writer.value(target))
    writer.charge(costs.tenth(longest) * costs.tenth(len(part)))
    writer.emit(f"if {name}.__class__ is not str or len({name}) > {longest}: raise U")
    return f"({part!r} in {name})"


def _matches(writer: Writer, target: Node, part: str) -> str:
    longest = min(writer.longest(), 1000)
    name = writer.atom(writer.value(target))
    writer.charge(costs.matching(["x" * longest, part], True))
    writer.emit(f"if {name}.__class__ is not str or len({name}) > {longest}: raise U")
    return f"({writer.constant(pattern(part))}({name}) is not None)"


_LAZY = frozenset({"or", "orValue", "_[_]", "_[?_]"})


def _library(writer: Writer, node: Call) -> str:
    """A function of the library: it checks what it is given, here as in the exact tier."""
    if node.function in _LAZY:
        raise NotFast
    function = writer.constant(library(node.function, member=node.target is not None))
    parts = node.arguments if node.target is None else (node.target, *node.arguments)
    values = [writer.value(each) for each in parts]
    cost = costs.of_call(node.function, writer.overload(node))
    if cost is None:
        writer.charge(1)
        return f"{function}({', '.join(values)})"
    names = [writer.atom(each) for each in values]
    result = writer.atom(f"{function}({', '.join(names)})")
    writer.count(f"{writer.constant(cost)}([{', '.join(names)}], {result})")
    return result
