"""Literals that no value can come of: `duration('1 day')`, `x.matches('(')`.

Kubernetes refuses them when the expression is written, not when it is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator

from rulesengine.cel.check import Checked, Problem
from rulesengine.cel.signatures import implementation
from rulesengine.cel.syntax import Call, Literal, Node, children
from rulesengine.core.errors import EvaluationError

_EXAMPLES = {
    "duration": "write it as '90s', '1h30m' or '250ms'",
    "timestamp": "write it as '2030-01-31T12:00:00Z'",
    "matches": "the pattern is an RE2 regular expression",
}


def impossible(checked: Checked) -> Iterator[Problem]:
    """A problem for each of them."""
    return _below(checked.node)


def _below(node: Node) -> Iterator[Problem]:
    if isinstance(node, Call) and node.function in _EXAMPLES and node.arguments:
        literal = node.arguments[-1]
        if isinstance(literal, Literal) and isinstance(literal.value, str) and _fails(node, literal.value):
            message = f"invalid {'pattern' if node.function == 'matches' else node.function}"
            yield Problem("RE207", message, literal.at, literal.length, _EXAMPLES[node.function])
    for child in children(node):
        yield from _below(child)


def _fails(node: Call, value: str) -> bool:
    run = implementation(node.function, member=node.target is not None)
    if run is None:
        return False
    try:
        run("", value) if node.function == "matches" else run(value)
    except EvaluationError:
        return True
    return False
