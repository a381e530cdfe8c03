"""The codes of findings that reading and checking rules can give: one table, printed in the docs.

RE0xx: the text is no usable YAML. RE1xx: the YAML is no usable rule. A code never changes its
meaning; one that goes out of use is not given again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Codes: TypeAlias = Mapping[str, tuple[str, str]]

CODES: Codes = {
    "RE001": ("not text", "The file is not UTF-8 text, or has characters that YAML does not allow."),
    "RE002": ("not YAML", "The text breaks YAML's syntax; the rest of its document cannot be read."),
    "RE003": ("key given twice", "A mapping has the same key twice; only one of the values could count."),
    "RE004": ("unusable key", "A key of a mapping is null, a list or a mapping. Keys are text."),
    "RE005": ("too deep", "The document nests deeper than any Kubernetes object does."),
    "RE006": ("too large", "The file, or what its aliases expand to, is too large to be meant."),
    "RE007": ("unusable alias", "An alias names no anchor, or the very value that it stands in."),
    "RE008": ("unusable tag", "A YAML tag that has no meaning in JSON, or does not fit its value."),
    "RE009": ("unusable number", "Infinity and not-a-number do not exist in JSON."),
    "RE010": ("not an object", "A document is a Kubernetes object: a mapping with apiVersion and kind."),
    "RE101": ("unknown field", "The field does not exist there. The API server would drop it in silence."),
    "RE102": ("missing field", "A required field is not there."),
    "RE103": ("wrong type", "The value is of another type than the field."),
    "RE104": ("unknown value", "The field has a fixed set of values, and this is none of them."),
    "RE105": ("value out of bounds", "The value is too long, too short, too many or too large."),
    "RE106": ("malformed value", "The text does not have the form that the field needs."),
    "RE107": ("exactly one of", "Of a set of fields exactly one must be given."),
    "RE108": ("fields exclude each other", "Fields were given that make no sense together."),
    "RE109": ("name given twice", "Entries of a list are told apart by a field, and two have the same."),
    "RE110": ("not supported yet", "The field is part of the language, but not of this version."),
    "RE111": ("unknown kind of rule", "The document is of this project's group, but of no kind that it has."),
    "RE112": ("out of reach", "A Rule stays within its own namespace and has no namespace fields."),
}


def markdown(*tables: Codes) -> str:
    """The codes of all `tables` in order, as a table for the reference documentation."""
    rows = sorted({code: row for table in tables for code, row in table.items()}.items())
    lines = ["| code | what | explanation |", "|---|---|---|"]
    lines += [f"| {code} | {title} | {text} |" for code, (title, text) in rows]
    return "\n".join(lines) + "\n"
