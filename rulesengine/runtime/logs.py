"""How log lines look: a constant message and keys, on stderr, as text or JSON.

Whatever a record carries beyond what logging itself puts there (`extra={"rule": …}`) is a key.
Keys name things; values of objects are never logged.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from rulesengine.core import json

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_ROOT = "rulesengine"


def keys_of(record: logging.LogRecord) -> dict[str, str]:
    """The keys of a record, in the order they were given."""
    return {name: str(value) for name, value in vars(record).items() if name not in _PLAIN}


class TextFormatter(logging.Formatter):
    """`2026-01-05T08:00:00.000Z INFO message key=value`; values with spaces are quoted."""

    def format(self, record: logging.LogRecord) -> str:
        words = [_time(record), record.levelname, record.getMessage()]
        words += [f"{name}={_quoted(value)}" for name, value in keys_of(record).items()]
        line = " ".join(words)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JSONFormatter(logging.Formatter):
    """One JSON object a line; an exception's traceback is one of its values."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname, "logger": record.name}
        line |= {"message": record.getMessage()} | keys_of(record)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.encode(line).decode()


def configure(*, json_lines: bool = False, verbose: bool = False, stream: TextIO | None = None) -> None:
    """Sends this package's log to `stream` (stderr), and nothing of other libraries'."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JSONFormatter() if json_lines else TextFormatter())
    logger = logging.getLogger(_ROOT)
    logger.handlers[:] = [handler]
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _quoted(value: str) -> str:
    if value and not any(c.isspace() or c in '"=' for c in value):
        return value
    return json.encode(value).decode()
