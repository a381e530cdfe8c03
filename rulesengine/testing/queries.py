"""The CEL of a case: one expression over all objects, with `find` to name one of them.

`find(apiVersion, kind, namespace, name)` is that object; where there is none, the expression
cannot be evaluated, and so does not hold. It stands for a filter over `objects`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rulesengine import cel
from rulesengine.cel.check import check
from rulesengine.cel.parse import parse
from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, MapOf, Name, Node, Select
from rulesengine.cel.tokens import SyntaxProblem
from rulesengine.core.errors import EvaluationError
from rulesengine.core.json import Object

ENV = cel.Env({"objects": cel.types.DYN})
_PATHS = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))


def holds(text: str, objects: Sequence[Object]) -> str:
    """Why the expression is not true of these objects; empty when it is."""
    try:
        checked = check(_spelled_out(parse(text)), ENV)
    except SyntaxProblem as problem:
        return f"{problem}"
    if checked.problems:
        return "; ".join(problem.message for problem in checked.problems)
    try:
        value = cel.Program(text, checked).evaluate({"objects": list(objects)})
    except EvaluationError as error:
        return f"cannot be evaluated: {error}"
    if value is True:
        return ""
    return "is false" if value is False else f"yields {type(value).__name__}, not true"


def _spelled_out(node: Node) -> Node:
    """The same with every `find(…)` written as what it means."""
    match node:
        case Call(function="find", target=None, arguments=(_, _, _, _) as given):
            return _finding(node, tuple(map(_spelled_out, given)))
        case Call(target=target, arguments=arguments):
            inner = None if target is None else _spelled_out(target)
            return replace(node, target=inner, arguments=tuple(map(_spelled_out, arguments)))
        case Select(operand=operand):
            return replace(node, operand=_spelled_out(operand))
        case Index(operand=operand, key=key):
            return replace(node, operand=_spelled_out(operand), key=_spelled_out(key))
        case ListOf(items=items):
            return replace(node, items=tuple((_spelled_out(item), maybe) for item, maybe in items))
        case MapOf(entries=entries):
            spelled = tuple((_spelled_out(k), _spelled_out(v), maybe) for k, v, maybe in entries)
            return replace(node, entries=spelled)
        case Fold(range=over, condition=condition, body=body):
            kept = None if condition is None else _spelled_out(condition)
            return replace(node, range=_spelled_out(over), condition=kept, body=_spelled_out(body))
        case _:
            return node


def _finding(call: Call, wanted: tuple[Node, ...]) -> Node:
    """objects.filter(o, o.?apiVersion.orValue('') == … && …)[0]"""
    at, length = call.at, call.length

    def same(path: tuple[str, ...], value: Node) -> Node:
        found: Node = Name("found__", at, length)
        for step in path:
            found = Select(found, step, at, length, optional=True)
        there = Call("orValue", found, (Literal("", at, length),), at, length)
        return Call("_==_", None, (there, value), at, length)

    first, *others = (same(path, value) for path, value in zip(_PATHS, wanted, strict=True))
    for other in others:
        first = Call("_&&_", None, (first, other), at, length)
    listed = Fold("filter", Name("objects", at, length), ("found__",), None, first, at, length)
    return Index(listed, Literal(0, at, length), at, length)
