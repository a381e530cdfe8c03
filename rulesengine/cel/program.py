"""An expression ready to be evaluated, and how a text becomes one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rulesengine.cel import exact, fast
from rulesengine.cel.check import Checker, Problem
from rulesengine.cel.parse import parse
from rulesengine.cel.paths import Path, References, reads, references
from rulesengine.cel.syntax import Node
from rulesengine.cel.tokens import SyntaxProblem
from rulesengine.cel.types import DYN, Type
from rulesengine.core.errors import EvaluationError, Excluded, RulesEngineError, Waiting


class CompileError(RulesEngineError):
    """The text is no expression for this environment; `problems` are all that is wrong."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problem.message for problem in problems))


@dataclass(frozen=True, slots=True)
class Env:
    """The names an expression may use, with their types."""

    variables: Mapping[str, Type]


class Program:
    """`reads` are paths from a declared name on; `type` is what the checker deduced."""

    __slots__ = ("_exact", "_fast", "node", "reads", "text", "type")

    def __init__(self, text: str, node: Node, kind: Type) -> None:
        self.text = text
        self.node = node
        self.type = kind
        self.reads: frozenset[Path] = frozenset(reads(node))
        self._fast = fast.compiled(node)
        self._exact = exact.compiled(node)

    def references(self, root: str) -> References:
        """The second steps read below a name, plainly and observing."""
        found = set(references(self.node, root))
        return References(
            frozenset(name for name, plain in found if plain),
            frozenset(name for name, plain in found if not plain),
        )

    def evaluate(self, names: Mapping[str, Any]) -> Any:
        """The value; raises EvaluationError, and Waiting and Excluded from lazy names."""
        if self._fast is not None:
            try:
                return self._fast(names)
            except Exception:  # noqa: BLE001, S110 - whatever was unusual: the exact tier says what
                pass
        try:
            return self._exact(names)
        except RecursionError:
            raise EvaluationError("the expression is nested too deep", reason="cost") from None

    def __repr__(self) -> str:
        return f"Program({self.text!r})"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Node | SyntaxProblem:
    try:
        return parse(text)
    except SyntaxProblem as problem:
        return problem
    except RecursionError:
        return SyntaxProblem("the expression is nested too deep", 0, 1, "RE206")


def compile(text: str, env: Env, *, expect: Type | None = None, check: bool = True) -> Program:  # noqa: A001 - CEL's own word
    """Parses and checks `text`; raises CompileError with every problem.

    `check` False: names and types are left to the evaluation, as the specification's tests want it.
    """
    node = _parsed(text)
    if isinstance(node, SyntaxProblem):
        at = min(node.at, max(0, len(text) - 1))
        raise CompileError((Problem(node.code, node.message, at, node.length, node.hint),))
    checker = Checker(env.variables)
    try:
        kind = checker.check(node, expect) if check else DYN
        if checker.problems:
            raise CompileError(tuple(sorted(checker.problems, key=lambda p: p.offset)))
        return Program(text, node, kind)
    except RecursionError:
        raise CompileError((Problem("RE206", "the expression is nested too deep", 0),)) from None


__all__ = ["CompileError", "Env", "Excluded", "Program", "Waiting", "compile"]
