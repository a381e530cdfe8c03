"""Log lines: a constant message and keys."""

from __future__ import annotations

import ast
import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import rulesengine
from rulesengine.core import json
from rulesengine.core.keys import RuleKey
from rulesengine.runtime.logs import configure

LEVELS = ("debug", "info", "warning", "error", "exception", "critical")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    root = logging.getLogger("rulesengine")
    before = root.handlers[:], root.level, root.propagate
    yield logging.getLogger("rulesengine.test")
    root.handlers[:], root.propagate = before[0], before[2]
    root.setLevel(before[1])


def test_text_lines_name_level_message_and_keys(logger: logging.Logger) -> None:
    """Values with spaces are quoted, so that lines can be taken apart."""
    out = io.StringIO()
    configure(stream=out)
    logger.info("a rule is in effect", extra={"rule": RuleKey("Rule", "a", "b"), "count": 3})
    time, _, rest = out.getvalue().rstrip("\n").partition(" ")
    assert time.endswith("Z")
    assert rest == 'INFO a rule is in effect rule="Rule a/b" count=3'


def test_json_lines_are_objects(logger: logging.Logger) -> None:
    """With the same keys, and a traceback as a value."""
    out = io.StringIO()
    configure(json_lines=True, stream=out)
    try:
        int("no number")
    except ValueError:
        logger.exception("a listener failed", extra={"kind": "v1 ConfigMap"})
    (line,) = out.getvalue().splitlines()
    found = json.decode(line)
    assert (found["level"], found["message"], found["kind"]) == ("ERROR", "a listener failed", "v1 ConfigMap")
    assert "ValueError" in found["traceback"]


def test_debug_lines_come_only_when_asked_for(logger: logging.Logger) -> None:
    """A busy engine logs no pass by default."""
    out = io.StringIO()
    configure(stream=out)
    logger.debug("a pass")
    assert out.getvalue() == ""
    configure(stream=out, verbose=True)
    logger.debug("a pass")
    assert "a pass" in out.getvalue()


def test_configuring_twice_says_everything_once(logger: logging.Logger) -> None:
    """Handlers do not add up."""
    out = io.StringIO()
    configure(stream=out)
    configure(stream=out)
    logger.info("once")
    assert out.getvalue().count("once") == 1


def test_every_message_is_constant_and_says_more_in_keys() -> None:
    """Anywhere in the package: one literal text and `extra`, so that lines can be counted and searched."""
    found = 0
    for file in Path(rulesengine.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"), attr=level)) if level in LEVELS:
                    found += 1
                    where = f"{file.name}:{node.lineno}"
                    (message,) = node.args
                    assert isinstance(message, ast.Constant), where
                    assert "%" not in str(message.value), where
                    assert {keyword.arg for keyword in node.keywords} <= {"extra", "exc_info"}, where
    assert found > 30
