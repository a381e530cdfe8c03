"""Which files a command was given: folders are walked, - is standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rulesengine.core.errors import UsageError

SUFFIXES = {".yaml", ".yml", ".json"}
STDIN = "-"
CASES = "cases"  # folders of that name below a folder hold what `rulesengine test` plays


def texts(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each file's name and text. Raises UsageError for what is missing, unreadable or empty."""
    for name in names:
        if name == STDIN:
            yield "<stdin>", _decoded(sys.stdin.buffer.read(), "<stdin>")
            continue
        path = Path(name)
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            found = [p for p in found if CASES not in p.relative_to(path).parts[:-1]]
            if not found:
                raise UsageError(f"{name}: the folder has no file that ends in .yaml, .yml or .json")
            for each in found:
                yield str(each), _read(each)
        else:
            yield name, _read(path)


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file or folder") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return _decoded(data, str(path))


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageError(f"{name}:{line}: the file is not UTF-8 text") from error
