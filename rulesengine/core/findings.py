"""What is wrong with a user's input: where, what was found, what was expected, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text. Lines and columns start at 1 and columns count code points.

    `text` is the line of the source itself, for the caret; `length` how much of it to mark.
    """

    file: str
    line: int
    column: int
    length: int = 1
    text: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem. `code` stands in core.codes; `path` is the field ("spec.for.kind")."""

    code: str
    message: str
    path: str = ""
    span: Span | None = None
    hint: str = ""
    severity: Severity = Severity.ERROR

    def render(self) -> str:
        """The finding as people read it: place, message, line with caret, hint."""
        where = f"{self.span.file}:{self.span.line}:{self.span.column}: " if self.span else ""
        at = f" ({self.path})" if self.path else ""
        lines = [f"{where}{self.severity.value} {self.code}: {self.message}{at}"]
        if self.span and self.span.text:
            shown = self.span.text.expandtabs(1)
            room = max(1, min(self.span.length, len(shown) - self.span.column + 1))
            lines += [f"  {shown}", "  " + " " * (self.span.column - 1) + "^" * room]
        if self.hint:
            lines.append(f"  = {self.hint}")
        return "\n".join(lines)
