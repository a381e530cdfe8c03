"""Words that no variable can have as its name."""

from __future__ import annotations

from typing import Final

RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"}
    | {"namespace", "return", "var", "void", "while"}
)
