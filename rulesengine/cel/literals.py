"""Literals that no value can come of: `duration('1 day')`, `x.matches('(')`.

Kubernetes refuses them when the expression is written, not when it is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator

from rulesengine.cel.check import Checked, Problem
from rulesengine.cel.exact import CONVERSIONS, Closures, Frame
from rulesengine.cel.library.strings import is_pattern
from rulesengine.cel.syntax import Call, Literal, Node, children
from rulesengine.core.errors import EvaluationError

_EXAMPLES = {
    "duration": "write it as '90s', '1h30m' or '250ms'",
    "timestamp": "write it as '2030-01-31T12:00:00Z'",
    "matches": "the pattern is an RE2 regular expression",
}


def impossible(checked: Checked) -> Iterator[Problem]:
    """A problem for each of them."""
    yield from _below(checked.node, Closures(checked))


def _below(node: Node, closures: Closures) -> Iterator[Problem]:
    for child in children(node):
        yield from _below(child, closures)
    if not isinstance(node, Call) or not node.arguments:
        return
    literal = node.arguments[-1]
    if node.function == "matches" and isinstance(literal, Literal) and isinstance(literal.value, str):
        if not is_pattern(literal.value):
            yield Problem("RE207", "invalid pattern", literal.at, literal.length, _EXAMPLES["matches"])
    elif node.function in CONVERSIONS and closures.constant(node):
        try:
            closures.run(node)(Frame({}, 0))
        except EvaluationError:
            hint = _EXAMPLES.get(node.function, "")
            yield Problem("RE207", f"invalid {node.function}", literal.at, literal.length, hint)
