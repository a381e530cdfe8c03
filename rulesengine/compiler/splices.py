"""Text with `${…}` to its parts. CEL has braces and quotes of its own, so the end is not just `}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

_OPEN = re.compile(r"\$\$\{|\$\{")
# What can stand in CEL between two braces: strings of all kinds, names in back-ticks, comments.
_TOKEN = re.compile(
    r"""(?:[rR][bB]?|[bB][rR])(?P<raw>'''|\"\"\"|'|")"""
    r"""|[bB]?(?P<quote>'''|\"\"\"|'|")"""
    r"""|(?P<name>`[^`\n]*`)|(?P<comment>//[^\n]*)|(?P<brace>[{}])|(?P<word>[A-Za-z0-9_]+)"""
)


@dataclass(frozen=True, slots=True)
class Splice:
    """An expression in a text: what stands between the braces, and where that begins."""

    text: str
    offset: int


Parts: TypeAlias = tuple[str | Splice, ...]


class Unclosed(ValueError):
    """A `${` at `offset` without its end."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        super().__init__("a ${ is not closed")


def parts_of(text: str) -> Parts:
    """The literal pieces and expressions of `text`, in order. Raises Unclosed."""
    parts: list[str | Splice] = []
    literal = ""
    at = 0
    while match := _OPEN.search(text, at):
        literal += text[at : match.start()]
        if match.group() == "$${":
            literal += "${"
            at = match.end()
            continue
        end = _end(text, match.end())
        if end is None:
            raise Unclosed(match.start())
        if literal:
            parts.append(literal)
            literal = ""
        parts.append(Splice(text[match.end() : end], match.end()))
        at = end + 1
    literal += text[at:]
    if literal or not parts:
        parts.append(literal)
    return tuple(parts)


def _end(text: str, at: int) -> int | None:
    """The index of the brace that closes an expression which begins at `at`."""
    depth = 0
    while match := _TOKEN.search(text, at):
        at = match.end()
        if match["brace"] == "{":
            depth += 1
        elif match["brace"] == "}":
            if depth == 0:
                return match.start()
            depth -= 1
        elif quote := match["raw"] or match["quote"]:
            closed = _string_end(text, at, quote, raw=bool(match["raw"]))
            if closed is None:
                return None
            at = closed
    return None


def _string_end(text: str, at: int, quote: str, *, raw: bool) -> int | None:
    while True:
        found = text.find(quote, at)
        if found < 0:
            return None
        escape = -1 if raw else text.find("\\", at, found)
        if escape < 0:
            return found + len(quote)
        at = escape + 2
