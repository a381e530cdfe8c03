"""The exact tier: closures with CEL's full semantics, errors with their place, and a budget.

Every closure takes a frame: the names, and what is left of the budget. Loops pay for each
round, so no expression can hang the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rulesengine.cel.frames import BUDGET, FAILURES, Frame, Run, enter, truth, worse
from rulesengine.cel.library import FUNCTIONS, OPERATORS
from rulesengine.cel.loops import LOOPS
from rulesengine.cel.paths import Path, Scope, path_of
from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, MapOf, Name, Node, Select
from rulesengine.cel.values import NONE, Optional, TypeValue, UInt, lookup, no_overload
from rulesengine.core.errors import EvaluationError

TYPE_NAMES = frozenset(
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"]
)


def compiled(node: Node) -> Callable[[Mapping[str, Any]], Any]:
    """A function from names to the value of the expression."""
    run = _run(node, {})

    def evaluate(names: Mapping[str, Any]) -> Any:
        return run(Frame(names, {}, [BUDGET]))

    return evaluate


def _fail(error: EvaluationError, node: Node) -> EvaluationError:
    return (
        error
        if error.offset
        else EvaluationError(str(error), reason=error.reason, path=error.path, offset=node.at)
    )


def _run(node: Node, scope: Scope) -> Run:
    match node:
        case Literal(value=value):
            return lambda _: value
        case Name(name=name):
            return _name(node, name, scope)
        case Select():
            return _test(node, scope) if node.test else _select(node, scope)
        case Index():
            return _index(node, scope)
        case Call():
            return _call(node, scope)
        case ListOf(items=items):
            return _list([(_run(item, scope), optional) for item, optional in items])
        case MapOf(entries=entries):
            return _map([(_run(k, scope), _run(v, scope), o) for k, v, o in entries], node)
        case Fold():
            return _fold(node, scope)


def _name(node: Name, name: str, scope: Scope) -> Run:
    if name in scope:
        return lambda frame: frame.own[name]

    def read(frame: Frame) -> Any:
        try:
            return frame.names[name]
        except KeyError:
            if name in TYPE_NAMES:
                return TypeValue(name)
            raise EvaluationError(
                "no such attribute", reason="no_such_field", path=(name,), offset=node.at
            ) from None

    return read


def _missing(node: Node, path: tuple[str, ...]) -> EvaluationError:
    return EvaluationError("no such key", reason="no_such_field", path=path, offset=node.at)


def _select(node: Select, scope: Scope) -> Run:
    operand, field, path = _run(node.operand, scope), node.field, path_of(node, scope) or ()

    def select(frame: Frame) -> Any:
        value = operand(frame)
        frame.spend(1)
        wrapped = node.optional or type(value) is Optional
        if type(value) is Optional:
            if not value.has:
                return NONE
            value = value.value
        if not isinstance(value, dict):
            raise EvaluationError("no such overload", reason="type", path=path, offset=node.at)
        if wrapped and field not in value:
            return NONE
        try:
            found = value[field]
        except KeyError:
            raise _missing(node, path) from None
        return Optional(found) if wrapped else found

    return select


def _test(node: Select, scope: Scope) -> Run:
    operand, field = _run(node.operand, scope), node.field

    def test(frame: Frame) -> Any:
        value = operand(frame)
        frame.spend(1)
        if type(value) is Optional:
            return value.has and field in value.value
        if not isinstance(value, dict):
            raise EvaluationError("no such overload", reason="type", offset=node.at)
        return field in value

    return test


def _index(node: Index, scope: Scope) -> Run:
    operand, key_of, path = _run(node.operand, scope), _run(node.key, scope), path_of(node, scope) or ()

    def index(frame: Frame) -> Any:
        value, key = operand(frame), key_of(frame)
        frame.spend(1)
        wrapped = node.optional or type(value) is Optional
        if type(value) is Optional:
            if not value.has:
                return NONE
            value = value.value
        if isinstance(value, list):
            found, item = _item(value, key, node)
        elif type(key) is str and isinstance(value, dict):
            found = key in value
            item = None
            if found or not wrapped:
                try:
                    found, item = True, value[key]
                except KeyError:
                    found = False
        elif isinstance(value, dict) and type(key) in (int, bool, UInt, float):
            found, item = lookup(value, key)
        else:
            raise EvaluationError("no such overload", reason="type", path=path, offset=node.at)
        if wrapped:
            return Optional(item) if found else NONE
        if not found:
            if isinstance(value, list):
                raise EvaluationError("index out of bounds", reason="index", path=path, offset=node.at)
            raise _missing(node, path)
        return item

    return index


def _item(value: list[Any], key: Any, node: Node) -> tuple[bool, Any]:
    if type(key) is UInt:
        key = key.value
    elif type(key) is float and key.is_integer():
        key = int(key)
    if type(key) is not int:
        raise EvaluationError("no such overload", reason="type", offset=node.at)
    return (True, value[key]) if 0 <= key < len(value) else (False, None)


def _list(items: list[tuple[Run, bool]]) -> Run:
    def build(frame: Frame) -> Any:
        frame.spend(10)
        found = []
        for item, optional in items:
            value = item(frame)
            if not optional:
                found.append(value)
            elif type(value) is not Optional:
                raise no_overload()
            elif value.has:
                found.append(value.value)
        return found

    return build


def _map(entries: list[tuple[Run, Run, bool]], node: Node) -> Run:
    def build(frame: Frame) -> Any:
        frame.spend(30)
        found: dict[Any, Any] = {}
        for key_of, value_of, optional in entries:
            key, value = key_of(frame), value_of(frame)
            if optional:
                if type(value) is not Optional:
                    raise no_overload()
                if not value.has:
                    continue
                value = value.value
            enter(found, key, value, node)
        return found

    return build


# --- calls ---


def _call(node: Call, scope: Scope) -> Run:
    arguments = [_run(each, scope) for each in node.arguments]
    match node.function:
        case "_&&_":
            return _logic(arguments[0], arguments[1], node, decides=False)
        case "_||_":
            return _logic(arguments[0], arguments[1], node, decides=True)
        case "_?_:_":
            return _choice(arguments[0], arguments[1], arguments[2], node)
        case "!_":
            return _not(arguments[0], node)
        case "or" | "orValue" if node.target is not None and len(arguments) == 1:
            return _or(_run(node.target, scope), arguments[0], node, value=node.function == "orValue")
    run: Callable[..., Any]
    if node.target is not None:
        arguments = [_run(node.target, scope), *arguments]
        run = FUNCTIONS.get("." + node.function, _unknown)
    else:
        run = OPERATORS.get(node.function) or FUNCTIONS.get(node.function, _unknown)

    def call(frame: Frame) -> Any:
        values = [argument(frame) for argument in arguments]
        frame.spend(1 + _length(values))
        try:
            return run(*values)
        except EvaluationError as error:
            raise _fail(error, node) from None
        except TypeError:
            raise EvaluationError("no such overload", reason="type", offset=node.at) from None

    return call


_SIZED = (str, bytes, list, dict)


def _unknown(*_: Any) -> Any:
    """In place of a function that there is not, where the checker was not asked."""
    raise no_overload()


def _length(values: list[Any]) -> int:
    """A tenth of what is looked at: a unit of cost stands for ten characters or items."""
    return sum(len(value) // 10 for value in values if isinstance(value, _SIZED))


def _logic(left: Run, right: Run, node: Node, *, decides: bool) -> Run:
    def logic(frame: Frame) -> bool:
        try:
            if truth(left, frame, node) is decides:
                return decides
        except FAILURES as failure:
            if isinstance(failure, EvaluationError) and failure.reason == "cost":
                raise
            try:
                if truth(right, frame, node) is decides:
                    return decides
            except FAILURES as other:
                raise worse(failure, other) from None
            raise
        return truth(right, frame, node)

    return logic


def _not(operand: Run, node: Node) -> Run:
    return lambda frame: not truth(operand, frame, node)


def _choice(condition: Run, then: Run, otherwise: Run, node: Node) -> Run:
    return lambda frame: then(frame) if truth(condition, frame, node) else otherwise(frame)


def _or(target: Run, other: Run, node: Node, *, value: bool) -> Run:
    def either(frame: Frame) -> Any:
        found = target(frame)
        if type(found) is not Optional:
            raise EvaluationError("no such overload", reason="type", offset=node.at)
        if not found.has:
            return other(frame)
        return found.value if value else found

    return either


# --- macros ---


def _fold(node: Fold, scope: Scope) -> Run:
    over = _run(node.range, scope)
    base = path_of(node.range, scope)
    below: dict[str, Path] = dict.fromkeys(node.names, ())
    if node.kind in ("bind", "optMap", "optFlatMap"):
        below[node.names[0]] = base or ()
    elif base:
        below[node.names[-1]] = (*base, "*")
    inner = {**scope, **below}
    body = _run(node.body, inner)
    condition = _run(node.condition, inner) if node.condition is not None else None
    match node.kind:
        case "bind":
            return lambda frame: body(_with(frame, node.names, (over(frame),)))
        case "optMap" | "optFlatMap":
            return _optional_map(over, body, node)
        case _:
            return _loop(over, condition, body, node)


def _with(frame: Frame, names: tuple[str, ...], values: tuple[Any, ...]) -> Frame:
    return Frame(frame.names, {**frame.own, **dict(zip(names, values, strict=True))}, frame.left)


def _optional_map(over: Run, body: Run, node: Fold) -> Run:
    def apply(frame: Frame) -> Any:
        found = over(frame)
        if type(found) is not Optional:
            raise EvaluationError("no such overload", reason="type", offset=node.at)
        if not found.has:
            return NONE
        value = body(_with(frame, node.names, (found.value,)))
        return Optional(value) if node.kind == "optMap" else value

    return apply


def _rounds(value: Any, node: Fold) -> list[tuple[Any, ...]]:
    two = len(node.names) == 2
    if isinstance(value, list):
        return list(enumerate(value)) if two else [(each,) for each in value]
    if isinstance(value, dict):
        return [(key, value[key]) for key in value] if two else [(key,) for key in value]
    raise EvaluationError("no such overload", reason="type", offset=node.at)


def _loop(over: Run, condition: Run | None, body: Run, node: Fold) -> Run:
    finish = LOOPS[node.kind]

    def loop(frame: Frame) -> Any:
        rounds = _rounds(over(frame), node)

        def frames() -> Any:
            for values in rounds:
                frame.spend(3)
                inner = _with(frame, node.names, values)
                if condition is None or truth(condition, inner, node):
                    yield inner, values

        return finish(frames(), body, node)

    return loop
