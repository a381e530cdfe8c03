"""Values of expressions on their way into a template: JSON, with what is dropped dropped."""

from __future__ import annotations

import math
from typing import Any, Never

from rulesengine import cel
from rulesengine.core.errors import EvaluationError
from rulesengine.core.json import Json

OMIT = cel.values.OMIT
_SCALARS = frozenset({int, bool, float})
_LEAVES = frozenset({str, int, bool})


def spliced(value: Any) -> Json:
    """The JSON of a value, OMIT for null, none and omit(); the same below it, at any depth.

    Containers are copied: what is spliced may be a part of the cache's objects.
    """
    kind = value.__class__
    if kind in _LEAVES:
        return value
    if value is None or value is OMIT:
        return OMIT
    if kind is float:
        if not math.isfinite(value):
            raise EvaluationError("JSON has no infinity and no NaN", reason="type")
        return value
    if kind is dict:
        result = {}
        for key, item in value.items():
            if item.__class__ in _LEAVES and key.__class__ is str:
                result[key] = item
            elif (below := spliced(item)) is not OMIT:
                result[key if key.__class__ is str else as_text(key)] = below
        return result
    if kind is list:
        return [
            below
            for item in value
            if (below := item if item.__class__ in _LEAVES else spliced(item)) is not OMIT
        ]
    converted = cel.to_json(value)
    if converted is OMIT or converted is None:
        return OMIT
    return converted if converted.__class__ in _LEAVES or converted.__class__ is float else spliced(converted)


def as_text(value: Any) -> str:
    """A value within text: as CEL's string() formats it; only scalars can stand there."""
    if value.__class__ is str:
        text: str = value
        return text
    if isinstance(value, cel.values.Optional):
        return as_text(value.value)  # of none: null
    if value is None or value is OMIT:
        raise EvaluationError("null cannot stand within text; use orValue() or a condition", reason="type")
    if value.__class__ in _SCALARS or isinstance(value, cel.values.UInt):
        return cel.to_text(value)
    raise EvaluationError("only string, int, uint, bool and double can stand within text", reason="type")


def repeated() -> Never:
    """Two keys that render alike."""
    raise EvaluationError("two keys of a mapping render alike", reason="argument")
