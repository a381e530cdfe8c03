"""CEL: text to checked programs over plain JSON values. The only door to celpy, lark and re2."""

from rulesengine.cel import types, values
from rulesengine.cel.check import Problem
from rulesengine.cel.codes import CODES
from rulesengine.cel.library import RESULTS as FUNCTION_RESULTS
from rulesengine.cel.moments import Moments
from rulesengine.cel.program import CompileError, Program, compile  # noqa: A004 - CEL's own word
from rulesengine.cel.scope import Env
from rulesengine.cel.types import Type
from rulesengine.cel.values import present, to_json, to_text

__all__ = [
    "CODES",
    "FUNCTION_RESULTS",
    "CompileError",
    "Env",
    "Moments",
    "Problem",
    "Program",
    "Type",
    "compile",
    "present",
    "to_json",
    "to_text",
    "types",
    "values",
]
