"""What can be wrong with an expression: one table, published in the docs."""

from __future__ import annotations

CODES: dict[str, tuple[str, str]] = {
    "RE201": ("syntax", "The text is not a CEL expression."),
    "RE202": ("undeclared name", "The expression uses a name that is not declared here."),
    "RE203": ("unknown field", "The schema of the kind has no such field."),
    "RE204": ("no overload", "An operator or function is used with types that it does not take."),
    "RE205": ("wrong type", "The expression yields another type than is needed here."),
    "RE206": ("too large", "The expression is nested too deep or too long."),
    "RE207": ("impossible literal", "A duration, time or pattern is written that can never be one."),
}
