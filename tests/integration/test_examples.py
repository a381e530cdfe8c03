"""Every example says what it says in its expected.txt, without a cluster."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

from rulesengine.cli.check import check_files
from rulesengine.cli.diff import DIFFERENCES, Where, diff_files

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/rule.yaml"))
VARYING = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r'"?UID"?'), "UID"),  # YAML quotes some of them
)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_does_what_it_says(folder: Path) -> None:
    """`check` finds nothing, `diff` prints expected.txt (UPDATE_EXAMPLES=1 writes it)."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert check_files([str(folder / "rule.yaml")], "text", None, [str(folder / "objects.yaml")]) == 0
    out = io.StringIO()
    where = Where(None, None, "rulesengine-system", (str(folder / "objects.yaml"),))
    with contextlib.redirect_stdout(out):
        assert diff_files([str(folder / "rule.yaml")], "text", where) == DIFFERENCES
    text = out.getvalue()
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    expected = folder / "expected.txt"
    if os.environ.get("UPDATE_EXAMPLES"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
