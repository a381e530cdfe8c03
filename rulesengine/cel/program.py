"""An expression ready to be evaluated, and how a text becomes one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rulesengine.cel import exact, fast
from rulesengine.cel.check import Checked, Problem, check
from rulesengine.cel.growth import too_large
from rulesengine.cel.literals import impossible
from rulesengine.cel.parse import parse
from rulesengine.cel.paths import Path, References, reads, references
from rulesengine.cel.scope import Env
from rulesengine.cel.syntax import Node
from rulesengine.cel.tokens import SyntaxProblem
from rulesengine.cel.types import Type
from rulesengine.core.errors import EvaluationError, RulesEngineError

_TOO_DEEP = "the expression is nested too deep"


class CompileError(RulesEngineError):
    """The text is no expression for this environment; `problems` are all that is wrong."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problem.message for problem in problems))


class Program:
    """`reads` are paths from a declared name on; `type` is what the checker deduced; `cost` what
    evaluation costs at most, None where that depends on values.

    Immutable and shared: the same text in the same environment is one program.
    """

    __slots__ = ("_exact", "_fast", "cost", "node", "reads", "text", "type")

    def __init__(self, text: str, checked: Checked) -> None:
        self.text = text
        self.node = checked.node
        self.type = checked.type
        self.reads: frozenset[Path] = frozenset(reads(checked.node))
        self._fast, self.cost = fast.compiled(checked)
        self._exact = exact.compiled(checked)

    def references(self, root: str) -> References:
        """The second steps read below a name, plainly and observing."""
        found = set(references(self.node, root))
        return References(
            frozenset(name for name, plain in found if plain),
            frozenset(name for name, plain in found if not plain),
        )

    def reads_but(self, functions: frozenset[str]) -> frozenset[Path]:
        """As `reads`, without what only calls of these functions are given."""
        return frozenset(reads(self.node, functions))

    def evaluate(self, names: Mapping[str, Any]) -> Any:
        """The value; raises EvaluationError, and Waiting and Excluded from lazy names."""
        if self._fast is not None:
            try:
                return self._fast(names)
            except Exception:  # noqa: BLE001, S110 - whatever was unusual: the exact tier says what
                pass
        return self.measure(names)[0]

    def measure(self, names: Mapping[str, Any]) -> tuple[Any, int]:
        """The value and what it cost, as Kubernetes counts; always the exact tier."""
        try:
            return self._exact(names)
        except RecursionError:
            raise EvaluationError(_TOO_DEEP, reason="cost") from None

    def __repr__(self) -> str:
        return f"Program({self.text!r})"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Node | SyntaxProblem:
    try:
        return parse(text)
    except SyntaxProblem as problem:
        return problem
    except RecursionError:
        return SyntaxProblem(_TOO_DEEP, 0, 1, "RE206")


def compile(text: str, env: Env, *, expect: Type | None = None, check: bool = True) -> Program:  # noqa: A001 - CEL's own word
    """Parses and checks `text`; raises CompileError with every problem.

    `check` False: names and types are left to the evaluation, as the specification's tests want it.
    """
    found = _compiled(text, _Key(env), expect, check)
    if isinstance(found, Program):
        return found
    raise CompileError(found)


class _Key:
    """An environment, equal to another when every text means the same in both."""

    __slots__ = ("_hash", "env")

    def __init__(self, env: Env) -> None:
        self.env = env
        self._hash = hash(env.identity)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.env.identity == other.env.identity


@lru_cache(maxsize=4096)
def _compiled(text: str, key: _Key, expect: Type | None, checks: bool) -> Program | tuple[Problem, ...]:
    node = _parsed(text)
    if isinstance(node, SyntaxProblem):
        at = min(node.at, max(0, len(text) - 1))
        return (Problem(node.code, node.message, at, node.length, node.hint),)
    try:
        checked = check(node, key.env, expect)
        problems = (*checked.problems, *impossible(checked)) if checks else ()
        return problems or too_large(checked) or Program(text, checked)
    except RecursionError:
        return (Problem("RE206", _TOO_DEEP, 0),)
