"""Calls that are macros: their arguments are not values but a variable and what to do with it."""

from __future__ import annotations

from rulesengine.cel.syntax import Call, Fold, Name, Node, Select
from rulesengine.cel.tokens import SyntaxProblem

# (macro, number of arguments) → (kind, number of variables); `map` with three arguments filters first.
_FOLDS: dict[tuple[str, int], tuple[str, int]] = {
    **{(kind, 2): (kind, 1) for kind in ("all", "exists", "map", "filter", "optMap", "optFlatMap", "sortBy")},
    **{
        (kind, 3): (kind, 2)
        for kind in ("all", "exists", "transformList", "transformMap", "transformMapEntry")
    },
    **{(kind, 4): (kind, 2) for kind in ("transformList", "transformMap", "transformMapEntry")},
    **{(name, n + 1): ("exists_one", n) for name in ("exists_one", "existsOne") for n in (1, 2)},
    ("map", 3): ("map", 1),
}
MACROS = tuple(sorted({"has", "cel.bind", *(name for name, _ in _FOLDS)}))


def expanded(call: Call) -> Node:
    """What a macro stands for; any other call as it is. Raises SyntaxProblem for a misshapen one."""
    if call.target is None:
        return _has(call) if call.function == "has" and len(call.arguments) == 1 else call
    arguments = call.arguments
    if call.function == "bind" and len(arguments) == 3 and _is_name(call.target, "cel"):
        names = _variables(arguments[:1])
        return Fold("bind", arguments[1], names, None, arguments[2], call.at, call.length)
    found = _FOLDS.get((call.function, len(arguments)))
    if found is None:
        return call
    kind, count = found
    names, rest = _variables(arguments[:count]), arguments[count:]
    condition = rest[0] if len(rest) == 2 else None
    return Fold(kind, call.target, names, condition, rest[-1], call.at, call.length)


def _has(call: Call) -> Node:
    field = call.arguments[0]
    if not isinstance(field, Select) or field.optional or field.test:
        raise SyntaxProblem("has() takes a field: has(object.spec.x)", call.at, call.length)
    return Select(field.operand, field.field, field.at, field.length, test=True)


def _is_name(node: Node, name: str) -> bool:
    return isinstance(node, Name) and node.name == name


def _variables(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    names: list[str] = []
    for node in nodes:
        if not isinstance(node, Name) or node.name.startswith("."):
            raise SyntaxProblem("the variable of a macro must be a simple name", node.at, node.length)
        if node.name in names:
            raise SyntaxProblem(f"the macro has two variables {node.name!r}", node.at, node.length)
        names.append(node.name)
    return tuple(names)
