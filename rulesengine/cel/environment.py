"""The door to celpy: its Environment with our parser and our runner behind it.

celpy is the CEL package of this project, and whoever knows it finds its way here:

    env = Environment(runner_class=Runner)
    program = env.program(env.compile("object.spec.replicas > 1"))
    program.evaluate({"object": {...}})

Values are plain JSON in and out, never celtypes. celpy's own evaluators are not used: they
answer `string(true)` with "True" and `[1, 2][-1]` with 2 (see docs/decisions/0010).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import celpy

from rulesengine.cel.program import Program, compile  # noqa: A004 - CEL's own word
from rulesengine.cel.scope import Env
from rulesengine.cel.types import DYN


class Runner(celpy.Runner):  # type: ignore[misc]  # celpy is not followed by mypy
    """Evaluates what `Environment.compile` made."""

    def evaluate(self, activation: Mapping[str, Any]) -> Any:
        """The value of the expression; raises core.errors.EvaluationError."""
        program: Program = self.ast
        return program.evaluate(activation)


class Environment(celpy.Environment):  # type: ignore[misc]  # celpy is not followed by mypy
    """celpy's environment over plain values. `annotations` name the variables; their types are dyn."""

    def __init__(
        self,
        package: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        runner_class: type[celpy.Runner] = Runner,
    ) -> None:
        super().__init__(package=package, annotations={}, runner_class=runner_class)
        self._names = dict.fromkeys(annotations, DYN) if annotations is not None else None

    def compile(self, text: str) -> Program:
        """Raises CompileError. Without annotations every name is left to the evaluation."""
        return compile(text, Env(self._names or {}), check=self._names is not None)
