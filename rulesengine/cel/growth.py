"""Expressions whose values would double and double again: `x.map(i, [i, i]).map(j, [j, j])…`.

Parts of values are shared, so that costs little while it is evaluated, as Kubernetes counts;
but comparing, writing or sending such a value would never end. How often a value can hold
what it was made of is known from the expression alone.
"""

from __future__ import annotations

from rulesengine.cel.check import Checked, Problem
from rulesengine.cel.syntax import BINDING, Call, Fold, Local, Node, Select, children

MOST_COPIES = 10_000
_SCALAR = frozenset({"bool", "int", "uint", "double", "timestamp", "duration", "null", "type"})


def too_large(checked: Checked) -> tuple[Problem, ...]:
    """The problem, if it is one."""
    if _Copies(checked).worst(checked.node) <= MOST_COPIES:
        return ()
    message = "the value holds its parts too many times over"
    return (Problem("RE206", message, checked.node.at, checked.node.length),)


class _Copies:
    """How many times the value of a node can hold one of the names it was computed from."""

    def __init__(self, checked: Checked) -> None:
        self._types = checked.types
        self._slots: dict[int, int] = {}
        self._worst = 1

    def worst(self, node: Node) -> int:
        """The most of any node of a tree."""
        self._of(node)
        return self._worst

    def _of(self, node: Node) -> int:
        found = min(self._copies(node), MOST_COPIES + 1)
        self._worst = max(self._worst, found)
        kind = self._types.get(id(node))
        return 1 if kind is not None and kind.kind in _SCALAR else found

    def _copies(self, node: Node) -> int:
        match node:
            case Local(slot=slot):
                return self._slots.get(slot, 1)
            case Fold():
                return self._fold(node)
            case Call(function="_?_:_", arguments=(_, *_)):
                return max(map(self._of, children(node)))
            case Select(operand=operand):
                return self._of(operand)
            case _:
                return max(1, sum(map(self._of, children(node))))

    def _fold(self, node: Fold) -> int:
        over = self._of(node.range)
        for slot in node.slots:
            self._slots[slot] = over
        if node.condition is not None:
            self._of(node.condition)
        body = self._of(node.body)
        return body if node.kind in BINDING else max(over, body)
