"""Rule models to frozen compiled rules."""

from rulesengine.compiler.codes import CODES
from rulesengine.compiler.compile import compile_rule
from rulesengine.compiler.rule import CompiledRule, Expression, FieldPath, Template

__all__ = ["CODES", "CompiledRule", "Expression", "FieldPath", "Template", "compile_rule"]
