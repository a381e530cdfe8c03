"""The exact tier: closures with CEL's full semantics, errors with their place, and a budget.

Every closure takes a frame: the names, the macros' variables by slot, and what was spent.
Loops look at the budget in each round, so no expression can hang the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rulesengine.cel import costs
from rulesengine.cel.check import Checked
from rulesengine.cel.costs import LIMIT, OverBudget
from rulesengine.cel.library import OPERATORS
from rulesengine.cel.paths import Path, path_of, paths_of_slots
from rulesengine.cel.signatures import implementation
from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, Local, MapOf, Name, Node, Select
from rulesengine.cel.values import NONE, Optional, UInt, lookup, no_overload, with_entry
from rulesengine.core.errors import EvaluationError, Excluded, Waiting

CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"}
)
FAILURES = (EvaluationError, Waiting, Excluded)
_ATTRIBUTES = (Name, Local, Select, Index)
MOST_ITEMS = 1_000_000  # of one list that is built; Kubernetes' lists are not copied when they grow


class Frame:
    """One evaluation. `cost` grows; who loops compares it with the limit."""

    __slots__ = ("cost", "locals", "names")

    def __init__(self, names: Mapping[str, Any], slots: int) -> None:
        self.names = names
        self.locals: list[Any] = [None] * slots
        self.cost = 0


Run: TypeAlias = Callable[[Frame], Any]
Evaluate: TypeAlias = Callable[[Mapping[str, Any]], tuple[Any, int]]


def compiled(checked: Checked) -> Evaluate:
    """A function from names to the value of the expression and its cost."""
    run, slots = Closures(checked).run(checked.node), checked.slots

    def evaluate(names: Mapping[str, Any]) -> tuple[Any, int]:
        frame = Frame(names, slots)
        value = run(frame)
        if frame.cost > LIMIT:
            raise OverBudget
        return value, frame.cost

    return evaluate


def truth(run: Run, frame: Frame, node: Node) -> bool:
    """The value of a condition."""
    value = run(frame)
    if value is True or value is False:
        return value
    raise mismatch(node)


def mismatch(node: Node, path: Path = ()) -> EvaluationError:
    return EvaluationError("no such overload", reason="type", path=path, offset=node.at)


def worse(first: Exception, second: Exception) -> Exception:
    """Of two failures the one to report: waiting says more than an error."""
    return second if isinstance(second, Waiting) and not isinstance(first, Waiting) else first


def entered(found: dict[Any, Any], key: Any, value: Any, node: Node) -> dict[Any, Any]:
    """A map that is being built, with one more entry."""
    if type(key) not in (str, int, bool, UInt):
        raise EvaluationError("unsupported key type", reason="type", offset=node.at)
    if lookup(found, key)[0]:
        raise EvaluationError("duplicate key in map", reason="argument", offset=node.at)
    return with_entry(found, key, value)


def is_attribute(node: Node) -> bool:
    """What Kubernetes evaluates as one attribute: its base is paid once, each step 1."""
    return isinstance(node, _ATTRIBUTES) or (isinstance(node, Call) and node.function == "_?_:_")


def _has_base(node: Node) -> bool:
    """Whether a node is an attribute whose base is paid: not a presence test, not below a `?:`."""
    if not isinstance(node, _ATTRIBUTES) or (isinstance(node, Select) and node.test):
        return False
    while isinstance(node, Select | Index):
        node = node.operand
    return not (isinstance(node, Call) and node.function == "_?_:_")


class Closures:
    """Writes the closures of one expression."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.late: set[int] = set()  # slots whose value is computed when it is first read
        self._paths = paths_of_slots(checked.node)

    def path(self, node: Node) -> Path:
        """The static path that a failing read reports."""
        return path_of(node, self._paths) or ()

    def run(self, node: Node) -> Run:
        match node:
            case Literal(value=value):
                return lambda _: value
            case Name():
                return self._double(node, self._name(node))
            case Local():
                return self._double(node, _late(node) if node.slot in self.late else _local(node))
            case Select():
                return self._test(node) if node.test else self._double(node, self._select(node))
            case Index():
                return self._double(node, self._index(node))
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Call():
                return self._call(node)
            case Fold():
                from rulesengine.cel.loops import fold  # noqa: PLC0415 - the two need each other

                return fold(self, node)

    def constant(self, node: Node) -> bool:
        """What Kubernetes computes before evaluation and does not charge."""
        match node:
            case Literal():
                return True
            case ListOf(items=items):
                return all(not optional and self.constant(item) for item, optional in items)
            case MapOf(entries=entries):
                return all(not o and self.constant(k) and self.constant(v) for k, v, o in entries)
            case Call(function="@in", arguments=(_, ListOf(items=()))):
                return True
            case Call(function=function, target=None, arguments=(argument,)) if function in CONVERSIONS:
                return self.constant(argument)
            case _:
                return False

    def _double(self, node: Node, run: Run) -> Run:
        """Fields that a schema calls number are doubles, whichever way JSON wrote them."""
        kind = self.checked.types.get(id(node))
        if kind is None or kind.kind != "double":
            return run

        def read(frame: Frame) -> Any:
            value = run(frame)
            return float(value) if type(value) is int else value

        return read

    # --- names, fields, indexes ---

    def _name(self, node: Name) -> Run:
        name = node.name

        def read(frame: Frame) -> Any:
            frame.cost += 1
            try:
                return frame.names[name]
            except KeyError:
                raise EvaluationError(
                    f"no such attribute: {name}", reason="no_such_field", path=(name,), offset=node.at
                ) from None

        return read

    def _select(self, node: Select) -> Run:
        operand, field, path = self.run(node.operand), node.field, self.path(node)
        base, optional = 0 if is_attribute(node.operand) else 1, node.optional

        def select(frame: Frame) -> Any:
            value = operand(frame)
            frame.cost += base
            wrapped = optional
            if type(value) is Optional:
                if not value.has:
                    return NONE
                wrapped, value = True, value.value
            if isinstance(value, dict):
                if wrapped and field not in value:
                    return NONE
            elif isinstance(value, list):
                raise mismatch(node, path)
            elif optional:
                return NONE
            else:
                raise _missing(node, field, path)
            frame.cost += 1
            try:
                found = value[field]
            except KeyError:
                raise _missing(node, field, path) from None
            return Optional(found) if wrapped else found

        return select

    def _test(self, node: Select) -> Run:
        operand, field, path = self.run(node.operand), node.field, self.path(node)
        base = 0 if is_attribute(node.operand) else 1

        def test(frame: Frame) -> Any:
            try:
                value = operand(frame)
            except FAILURES:
                frame.cost -= 1 - base
                raise
            frame.cost += base
            if type(value) is Optional:
                if not value.has:
                    return False
                value = value.value
            if isinstance(value, dict):
                return field in value
            if isinstance(value, list):
                raise mismatch(node, path)
            return False  # as Kubernetes: what can have no fields has not this one

        return test

    def _index(self, node: Index) -> Run:
        operand, key_of, path = self.run(node.operand), self.run(node.key), self.path(node)
        base, optional = 0 if is_attribute(node.operand) else 1, node.optional
        step = 0 if isinstance(node.key, _ATTRIBUTES) else 1

        def index(frame: Frame) -> Any:
            value = operand(frame)
            frame.cost += base
            wrapped = optional
            if type(value) is Optional:
                if not value.has:
                    return NONE
                wrapped, value = True, value.value
            found, item = _looked_up(value, key_of(frame), node, path, ask=wrapped)
            if found:
                frame.cost += step
                return Optional(item) if wrapped else item
            if wrapped:
                frame.cost -= 1 - step
                return NONE
            if isinstance(value, list):
                raise EvaluationError("index out of bounds", reason="index", path=path, offset=node.at)
            name = node.key.value if isinstance(node.key, Literal) else ""
            raise _missing(node, name if isinstance(name, str) else "", path)

        return index

    # --- literals ---

    def _list(self, node: ListOf) -> Run:
        items = [(self.run(item), optional, item) for item, optional in node.items]
        cost = 0 if self.constant(node) else costs.LIST
        if not any(optional for _, optional, _ in items):
            runs = [run for run, _, _ in items]

            def plain(frame: Frame) -> Any:
                frame.cost += cost
                return [run(frame) for run in runs]

            return plain

        def build(frame: Frame) -> Any:
            frame.cost += cost
            found = []
            for run, optional, item in items:
                value = run(frame)
                if not optional:
                    found.append(value)
                elif type(value) is not Optional:
                    raise mismatch(item)
                elif value.has:
                    found.append(value.value)
            return found

        return build

    def _map(self, node: MapOf) -> Run:
        entries = [(self.run(key), self.run(value), optional) for key, value, optional in node.entries]
        cost = 0 if self.constant(node) else costs.MAP

        def build(frame: Frame) -> Any:
            frame.cost += cost
            found: dict[Any, Any] = {}
            for key_of, value_of, optional in entries:
                key, value = key_of(frame), value_of(frame)
                if optional:
                    if type(value) is not Optional:
                        raise mismatch(node)
                    if not value.has:
                        continue
                    value = value.value
                found = entered(found, key, value, node)
            return found

        return build

    # --- calls ---

    def _call(self, node: Call) -> Run:
        match node.function, node.target, node.arguments:
            case "_&&_" | "_||_", None, (left, right):
                return _logic(self.run(left), self.run(right), node, decides=node.function == "_||_")
            case "_?_:_", None, (condition, then, otherwise):
                return self._choice(condition, then, otherwise)
            case "!_", None, (operand,):
                return _not(self.run(operand), operand)
            case "or" | "orValue", target, (other,) if target is not None:
                return _or(self.run(target), self.run(other), node, value=node.function == "orValue")
            case "_+_", None, (left, right):
                return self._calling(node, _bounded_add(node))
            case "@in", None, (_, ListOf(items=())):
                return lambda _: False  # without a look at the item, as Kubernetes does
            case _:
                pass
        function = OPERATORS.get(node.function) if node.target is None else None
        function = function or implementation(node.function, member=node.target is not None) or _unknown
        return self._calling(node, function)

    def _calling(self, node: Call, function: Callable[..., Any]) -> Run:
        parts = node.arguments if node.target is None else (node.target, *node.arguments)
        runs = [self.run(each) for each in parts]
        cost_of = costs.of_call(node.function, self.checked.overloads.get(id(node)))
        if node.function == "@in" and self._is_set(node.arguments[1]):
            fixed = 0  # Kubernetes looks it up in a set that it made before
            cost_of = None
        else:
            fixed = 1 if cost_of is None else 0

        def call(frame: Frame) -> Any:
            values: list[Any] = []
            try:
                for run in runs:
                    values.append(run(frame))  # noqa: PERF401 - how many there are is asked below
            except OverBudget:
                raise
            except FAILURES:
                values += [None, *_wasted(runs[len(values) + 1 :], frame)]
                frame.cost += fixed if cost_of is None else cost_of(values, None)
                raise
            try:
                result = function(*values)
            except EvaluationError as error:
                frame.cost += 1
                raise _placed(error, node) from None
            except TypeError:  # the wrong number of arguments, where the checker was not asked
                raise mismatch(node) from None
            frame.cost += fixed if cost_of is None else cost_of(values, result)
            if frame.cost > LIMIT:
                raise OverBudget(node.at)
            return result

        return self._folded(node, call)

    def _folded(self, node: Call, call: Run) -> Run:
        """A conversion of a constant is computed once."""
        if not self.constant(node):
            return call
        try:
            value = call(Frame({}, 0))
        except EvaluationError:
            return call
        return lambda _: value

    def _is_set(self, node: Node) -> bool:
        if not isinstance(node, ListOf) or not self.constant(node):
            return False
        return all(isinstance(item, Literal) and type(item.value) in _PRIMITIVE for item, _ in node.items)

    def _choice(self, condition: Node, then: Node, otherwise: Node) -> Run:
        test, runs = self.run(condition), (self.run(otherwise), self.run(then))
        less = tuple(1 if _has_base(each) else 0 for each in (otherwise, then))

        def choose(frame: Frame) -> Any:
            chosen = truth(test, frame, condition)
            value = runs[chosen](frame)
            frame.cost -= less[chosen]  # the base of a branch that is an attribute is not paid
            return value

        return choose


_PRIMITIVE = frozenset({str, int, float, bool, UInt})


def _local(node: Local) -> Run:
    slot = node.slot

    def read(frame: Frame) -> Any:
        frame.cost += 1
        return frame.locals[slot]

    return read


class Late:
    """The value of a binding that nobody has read yet."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run = run


def _late(node: Local) -> Run:
    slot = node.slot

    def read(frame: Frame) -> Any:
        frame.cost += 1
        value = frame.locals[slot]
        if type(value) is Late:
            value = frame.locals[slot] = value.run(frame)
        return value

    return read


def _missing(node: Node, key: str, path: Path) -> EvaluationError:
    """`key` stands in the expression's text; keys that come from data are not said."""
    message = f"no such key: {key}" if key else "no such key"
    return EvaluationError(message, reason="no_such_field", path=path, offset=node.at)


def _looked_up(value: Any, key: Any, node: Node, path: Path, *, ask: bool) -> tuple[bool, Any]:
    """Whether there is an item, and which. `ask`: a lazy map is asked before it is read."""
    if isinstance(value, list):
        return _item(value, key, node, path)
    if not isinstance(value, dict):
        if ask:
            return False, None
        raise mismatch(node, path)
    if type(key) is str:
        if ask and key not in value:
            return False, None
        try:
            return True, value[key]
        except KeyError:
            return False, None
    if type(key) in (int, bool, UInt, float):
        return lookup(value, key)
    raise mismatch(node, path)


def _item(value: list[Any], key: Any, node: Node, path: Path) -> tuple[bool, Any]:
    if type(key) is UInt:
        key = key.value
    elif type(key) is float and key.is_integer():
        key = int(key)
    if type(key) is not int:
        raise mismatch(node, path)
    return (True, value[key]) if 0 <= key < len(value) else (False, None)


def _placed(error: EvaluationError, node: Node) -> EvaluationError:
    error.offset = node.at
    return error


def _wasted(rest: list[Run], frame: Frame) -> list[Any]:
    """Kubernetes evaluates the other arguments, too, and charges the call that it cannot make."""
    values: list[Any] = []
    for run in rest:
        try:
            values.append(run(frame))
        except OverBudget:
            raise
        except FAILURES:
            values.append(None)
    return values


def _unknown(*_: Any) -> Any:
    """In place of a function that there is not, where the checker was not asked."""
    raise no_overload()


def _bounded_add(node: Node) -> Callable[[Any, Any], Any]:
    add = OPERATORS["_+_"]

    def bounded(left: Any, right: Any) -> Any:
        if type(left) in (str, bytes, list) and type(left) is type(right):
            most = MOST_ITEMS if type(left) is list else LIMIT * 10
            if len(left) + len(right) > most:
                raise OverBudget(node.at)
        return add(left, right)

    return bounded


def _logic(left: Run, right: Run, node: Call, *, decides: bool) -> Run:
    first, second = node.arguments

    def logic(frame: Frame) -> bool:
        try:
            if truth(left, frame, first) is decides:
                return decides
        except OverBudget:
            raise
        except FAILURES as failure:
            try:
                if truth(right, frame, second) is decides:
                    return decides
            except OverBudget:
                raise
            except FAILURES as other:
                raise worse(failure, other) from None
            raise
        return truth(right, frame, second)

    return logic


def _not(operand: Run, node: Node) -> Run:
    def negate(frame: Frame) -> bool:
        try:
            return not truth(operand, frame, node)
        finally:
            frame.cost += 1

    return negate


def _or(target: Run, other: Run, node: Call, *, value: bool) -> Run:
    def either(frame: Frame) -> Any:
        found = target(frame)
        if type(found) is not Optional:
            raise mismatch(node)
        if not found.has:
            return other(frame)
        return found.value if value else found

    return either
