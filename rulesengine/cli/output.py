"""How results reach the terminal: data as JSON or YAML, text with colour only where one looks on."""

from __future__ import annotations

import os
import sys
from typing import Any

from rulesengine import api
from rulesengine.core import json


def print_data(value: Any, output: str) -> None:
    """Writes `value` to standard output as "json" or "yaml"."""
    if output == "json":
        import json as standard  # noqa: PLC0415  (msgspec has no indentation with key order kept)

        sys.stdout.write(standard.dumps(value, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(api.dump(json.decode(json.encode(value))))


def wants_colour() -> bool:
    """A terminal that did not say NO_COLOR."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def coloured_diff(text: str) -> str:
    """A unified diff with green and red lines, where colour is wanted."""
    if not wants_colour():
        return text
    paint = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
    lines = []
    for line in text.splitlines(keepends=True):
        colour = paint.get(line[:1])
        lines.append(f"{colour}{line.rstrip(chr(10))}\x1b[0m\n" if colour else line)
    return "".join(lines)
