"""pydantic's errors to findings: what was found, what was expected, what to do.

Values are never quoted, except the words of fields that have a fixed set.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from rulesengine.api.documents import named
from rulesengine.api.models.base import FORMS
from rulesengine.api.not_yet import written
from rulesengine.api.places import Path
from rulesengine.api.shape import Locate, nearest
from rulesengine.core.findings import Finding

_TYPES = {
    "string_type": "text",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def findings_of(error: ValidationError, locate: Locate) -> list[Finding]:
    """One finding per error; unknown fields are left to the walk that knows their neighbours."""
    items = error.errors(include_url=False)
    return [_finding(item, locate) for item in items if item["type"] != "extra_forbidden"]


def _finding(item: Any, locate: Locate) -> Finding:
    path: Path = tuple(step for step in item["loc"] if step != "[key]")
    kind, context = item["type"], item.get("ctx", {})
    if kind == "missing":
        field, parent = path[-1], path[:-1]
        where = f" in {written(parent)}" if parent else ""
        span = locate(parent, True)
        return Finding("RE102", f"field {field} is missing{where}", written(path), span, "add it")
    code, message, hint = _described(kind, context, item.get("input"))
    return Finding(code, message, written(path), locate(path, False), hint)


def _described(kind: str, context: dict[str, Any], value: Any) -> tuple[str, str, str]:
    if kind in _TYPES:
        return "RE103", f"expected {_TYPES[kind]}, found {named(value)}", _type_hint(kind, value)
    match kind:
        case "literal_error":
            words = str(context["expected"]).replace("'", "")
            if not isinstance(value, str):
                return "RE103", f"expected {words}, found {named(value)}", _type_hint("string_type", value)
            known = words.replace(" or ", ", ").split(", ")
            return "RE104", f"expected {words}, found {_short(value)!r}", nearest(value, known)
        case "string_too_short" if context["min_length"] == 1:
            return "RE105", "the text must not be empty", "write something, or remove the field"
        case "string_too_short":
            return "RE105", f"the text must have at least {context['min_length']} characters", ""
        case "string_too_long":
            return "RE105", f"the text is longer than {context['max_length']} characters", "shorten it"
        case "too_short":
            return "RE105", "the list must not be empty", "add an entry, or remove the field"
        case "too_long":
            what = "fields" if isinstance(value, dict) else "entries"
            return "RE105", f"{context['actual_length']} {what} are more than {context['max_length']}", ""
        case "greater_than_equal":
            return "RE105", f"the number must be at least {context['ge']}", ""
        case "less_than_equal":
            return "RE105", f"the number must be at most {context['le']}", ""
        case "string_pattern_mismatch":
            return "RE106", *_form(str(context["pattern"]), value)
        case "form":
            return "RE103", f"expected {_custom(context)}, found {named(value)}", ""
        case _:
            return "RE106", "the value does not fit the field", ""


def _custom(context: dict[str, Any]) -> str:
    return str(context.get("expected", "another value"))


def _form(pattern: str, value: Any) -> tuple[str, str]:
    form = FORMS.get(pattern, f"text that matches {pattern}")
    if isinstance(value, str) and "${" in value:
        return f"expected {form}, found an expression", "this field is literal; write its value out"
    return f"expected {form}", "correct it"


def _type_hint(kind: str, value: Any) -> str:
    if kind == "string_type" and isinstance(value, bool | int | float):
        return "YAML reads it as another type: put it in quotes"
    if kind in ("bool_type", "int_type") and isinstance(value, str):
        return "remove the quotes"
    if kind == "list_type":
        return "begin each entry with '- '"
    return ""


def _short(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:60]}…"
