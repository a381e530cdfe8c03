"""The reference pages, generated from the code: `python -m rulesengine.cli.reference docs/reference`.

One table in the code is one page here; a test holds them together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rulesengine import api, cel, compiler
from rulesengine.apply import answers
from rulesengine.core.reasons import Reason
from rulesengine.core.settings import TABLE, Setting


def pages() -> dict[str, str]:
    """Name and text of every page."""
    return {
        "codes.md": api.markdown(api.CODES, cel.CODES, compiler.CODES),
        "reasons.md": "\n".join(_reasons()) + "\n",
        "answers.md": "\n".join(_answers()) + "\n",
        "functions.md": "\n".join(_functions()) + "\n",
        "settings.md": "\n".join(_settings()) + "\n",
    }


def _reasons() -> Iterator[str]:
    yield "# Reasons"
    yield ""
    yield "The words in `status.failures`, events, `diff` and the log."
    yield ""
    yield "| reason | meaning |"
    yield "|---|---|"
    for reason in Reason:
        yield f"| `{reason.word}` | {reason.sentence} |"


def _answers() -> Iterator[str]:
    yield "# What the server says, and what the engine does"
    yield ""
    yield "Rows are tried in order; the first that recognises the answer decides."
    yield ""
    yield "| the server says | the engine does |"
    yield "|---|---|"
    for row in answers.TABLE:
        yield f"| {row.says} | {row.then} |"


def _functions() -> Iterator[str]:
    yield "# CEL functions"
    yield ""
    yield "Besides CEL's operators and macros (`has`, `all`, `exists`, `exists_one`, `map`, `filter`, their"
    yield "two-variable forms, `transformList`, `transformMap`, `transformMapEntry`, `sortBy`, `cel.bind`,"
    yield "`optMap`, `optFlatMap`, `or`, `orValue`). A leading dot marks functions of a value: `.size` is"
    yield "called `x.size()`."
    yield ""
    yield "| function | yields |"
    yield "|---|---|"
    for name, result in sorted(cel.FUNCTION_RESULTS.items()):
        yield f"| `{name}` | {result} |"


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "Of `rulesengine run`: each is a flag (`--workers 4`) and a line of the file that `--config` names"
    yield "(`workers: 4`). A flag wins over the file, the file over the default."
    yield ""
    yield "| setting | default | what | why this default | bounds |"
    yield "|---|---|---|---|---|"
    for row in TABLE:
        yield f"| `{row.name}` | {row.shown} | {row.what} | {row.why} | {_bounds(row)} |"


def _bounds(row: Setting) -> str:
    if row.choices:
        return ", ".join(row.choices)
    if row.type is bool:
        return "on, off"
    if row.least is None or row.most is None:
        return "text"
    return f"{row.least:g} to {row.most:g}"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference"))
