"""A file's text: decoded, split into documents, and its lines for carets.

Documents are split before YAML is parsed, at lines that begin with `---`, as kubectl does:
one broken document does not hide the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rulesengine.api.nodes import Place
from rulesengine.core.findings import Finding, Span

MAX_TEXT = 32 * 1024 * 1024  # code points; etcd takes 1.5 MB per object

MAX_SHOWN = 400  # characters of a line
BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_SEPARATOR = re.compile(r"(?m)^---(?=[ \t\r\n]|$)")
_NOTHING = re.compile(r"[ \t]*(?:#.*)?|%(?:YAML|TAG) .*|\.\.\.")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one document and where it begins in the file."""

    text: str
    origin: Place

    @property
    def is_empty(self) -> bool:
        """Nothing but blank lines, comments, directives and end marks, all of which mean nothing."""
        return all(_NOTHING.fullmatch(line) for line in BREAK.split(self.text))


class Source:
    """One file: its name and its lines."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._lines: list[str] | None = None

    def line(self, number: int) -> str:
        """The line with that number (from 0), without its break."""
        if self._lines is None:
            self._lines = BREAK.split(self.text)
        return self._lines[number] if 0 <= number < len(self._lines) else ""

    def span(self, start: Place, end: Place | None = None) -> Span:
        """The place from `start` to `end`, or to the end of its line where it goes on.

        Very long lines (JSON, often) are not shown.
        """
        text = self.line(start.line)
        if end is None:
            length = 1
        elif end.line == start.line:
            length = end.column - start.column
        else:
            length = len(text.rstrip()) - start.column
        shown = text if len(text) <= MAX_SHOWN else ""
        return Span(self.file, start.line + 1, start.column + 1, max(1, length), shown)

    def pieces(self) -> Iterator[Piece]:
        """The documents, empty ones too."""
        begin, origin = 0, Place(0, 0)
        for match in _SEPARATOR.finditer(self.text):
            yield Piece(self.text[begin : match.start()], origin)
            line = origin.line + len(BREAK.findall(self.text, begin, match.start()))
            begin, origin = match.end(), Place(line, len("---"))
        yield Piece(self.text[begin:], origin)


def decoded(data: str | bytes, file: str) -> tuple[Source | None, list[Finding]]:
    """The text of a file, or a finding that says why it is none."""
    if isinstance(data, bytes):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n")
            message = f"the file is not UTF-8 text: byte 0x{data[error.start]:02x}"
            return None, [Finding("RE001", message, span=Span(file, line + 1, 1), hint="save it as UTF-8")]
    else:
        text = data
    source = Source(file, text.removeprefix("\ufeff"))
    if len(text) > MAX_TEXT:
        return None, [
            Finding(
                "RE006", f"the file has more than {MAX_TEXT >> 20} million characters", span=Span(file, 1, 1)
            )
        ]
    if match := _FORBIDDEN.search(source.text):
        before = source.text[: match.start()]
        breaks = list(BREAK.finditer(before))
        place = Place(len(breaks), match.start() - (breaks[-1].end() if breaks else 0))
        message = f"character U+{ord(match.group()):04X} is not allowed in YAML"
        finding = Finding("RE001", message, span=_printable(source.span(place)), hint="remove it")
        return None, [finding]
    return source, []


def _printable(span: Span) -> Span:
    """Terminals must not get control characters back."""
    return Span(
        span.file, span.line, span.column, span.length, _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", span.text)
    )
