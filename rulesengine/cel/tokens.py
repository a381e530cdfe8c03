"""Text to tokens. Raises SyntaxProblem at the character that fits nothing."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from rulesengine.cel.values import UInt

INT_MAX, UINT_MAX = 2**63 - 1, 2**64 - 1
_MANY = 100  # digits; more are not worth reading


class SyntaxProblem(Exception):
    """Leaves the parser, never this package: compile makes a Problem of it."""

    def __init__(self, message: str, at: int, length: int = 1, code: str = "RE201", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.at, self.length, self.code, self.hint = message, at, length, code, hint


class Token(NamedTuple):
    """`kind`: number, text, name, quoted, op, end. `value` is the decoded one of texts."""

    kind: str
    text: str
    at: int
    value: Any = None


_STRING = r'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n\r]|\\.)*"|\'(?:[^\'\\\n\r]|\\.)*\''
_RAW = r'"""(?:.)*?"""|\'\'\'(?:.)*?\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\''
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<number>(?:0[xX][0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d+[uU]?))
    |(?P<raw>[bB]?[rR](?:{_RAW}))
    |(?P<text>[bB]?(?:{_STRING}))
    |(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<op>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{{}}])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPES = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{c: c for c in "\\?\"'`"},
}
_ESCAPE = re.compile(
    r"\\(?:(?P<one>[abfnrtv\\?\"'`])|[xX](?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})"
    r"|U(?P<U>[0-9a-fA-F]{8})|(?P<o>[0-3][0-7]{2}))"
)


def tokens(text: str) -> list[Token]:
    """All tokens, the last one of kind "end"."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SyntaxProblem(*_unfit(text, at))
        kind, part = str(match.lastgroup), match.group()
        if kind == "number":
            found.append(Token(kind, part, at, part))
        elif kind in ("raw", "text"):
            found.append(Token("text", part, at, _decoded(part, at)))
        elif kind != "space":
            found.append(Token(kind, part, at))
        at = match.end()
    found.append(Token("end", "", len(text)))
    return found


def _unfit(text: str, at: int) -> tuple[str, int, int]:
    char = text[at]
    if char in "\"'":
        return "the text that begins here does not end", at, 1
    if char in "&|=":
        return f"found {char!r}; operators are &&, || and ==", at, 1
    return f"the character {char!r} has no meaning here", at, 1


def number(text: str, at: int, *, negative: bool = False) -> int | float | UInt:
    """The value of a number token; int and uint must fit into 64 bits."""
    bare = text.rstrip("uU")
    based = bare[:2] in ("0x", "0X")
    if not based and not bare.isdigit():
        double = float(bare)
        if math.isinf(double):
            raise SyntaxProblem("the double is too large", at, len(text))
        return -double if negative else double
    digits = bare[2:] if based else bare
    value = int(digits, 16 if based else 10) if len(digits) < _MANY else UINT_MAX + 1
    if bare != text:
        if negative or value > UINT_MAX:
            raise SyntaxProblem("the uint does not fit into 64 bits", at, len(text))
        return UInt(value)
    value = -value if negative else value
    if not -INT_MAX - 1 <= value <= INT_MAX:
        raise SyntaxProblem("the int does not fit into 64 bits", at, len(text))
    return value


def _decoded(part: str, at: int) -> str | bytes:
    quote = min(i for i in (part.find('"'), part.find("'")) if i >= 0)
    prefix, body = part[:quote].lower(), part[quote:]
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    body = body[width:-width]
    if "r" in prefix:
        return body.encode() if "b" in prefix else body
    return _bytes(body, at) if "b" in prefix else _text(body, at)


def _pieces(body: str, at: int) -> list[tuple[str, str]]:
    """(kind, value) of each piece: kind "" for plain text, else the escape's group."""
    found: list[tuple[str, str]] = []
    here = 0
    while (there := body.find("\\", here)) >= 0:
        match = _ESCAPE.match(body, there)
        if match is None:
            raise SyntaxProblem("unknown escape in the text", at + 1 + there, 2)
        found += [("", body[here:there]), (str(match.lastgroup), match[str(match.lastgroup)])]
        here = match.end()
    return [*found, ("", body[here:])]


def _text(body: str, at: int) -> str:
    out: list[str] = []
    for kind, value in _pieces(body, at):
        if not kind:
            out.append(value)
        elif kind == "one":
            out.append(_ESCAPES[value])
        else:
            point = int(value, 8 if kind == "o" else 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise SyntaxProblem("the escape is no Unicode character", at)
            out.append(chr(point))
    return "".join(out)


def _bytes(body: str, at: int) -> bytes:
    out: list[bytes] = []
    for kind, value in _pieces(body, at):
        if not kind:
            out.append(value.encode())
        elif kind == "one":
            out.append(_ESCAPES[value].encode())
        elif kind in ("x", "o"):
            out.append(bytes([int(value, 8 if kind == "o" else 16)]))
        else:
            raise SyntaxProblem("bytes have no Unicode escapes", at)
    return b"".join(out)
