"""What came of cases, for people, for CI servers (JUnit's XML), and for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from rulesengine.cli.output import coloured_diff, wants_colour
from rulesengine.testing import Problem, Verdict

GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 lacks


def as_text(verdict: Verdict) -> str:
    """One line where it holds; else what was otherwise, what the engine did, and why."""
    word = _painted("ok", GREEN) if verdict.passed else _painted("FAILED", RED)
    head = f"{word} {verdict.file} ({verdict.seconds:.2f} s)\n"
    return head + "".join(f"  {line}\n" if line else "\n" for line in _told(verdict))


def _told(verdict: Verdict) -> list[str]:
    lines: list[str] = []
    for problem in verdict.problems:
        lines += [f"{_where(problem)}{line}" for line in problem.message.splitlines()[:1]]
        lines += [f"  {line}" for line in problem.message.splitlines()[1:]]
        lines += [f"  {line}" for line in coloured_diff(problem.detail).splitlines()]
    if verdict.step is not None or verdict.did:
        lines.append("what the engine did in this step:" + ("" if verdict.did else " nothing"))
        lines += [f"  {line}" for line in verdict.did]
    if verdict.why:
        lines.append("how the rules are now:")
        lines += [f"  {line}" for line in verdict.why]
    return lines


def _where(problem: Problem) -> str:
    """`step 2, objects[0]: `, in the words of the file; steps are counted from 1."""
    path = problem.path
    if not path:
        return ""
    if path[0] != "steps" or len(path) < 2 or not isinstance(path[1], int):
        return f"{_field(path)}: "
    rest = path[3:] if path[2:3] == ("expect",) else path[2:]
    return f"step {path[1] + 1}, {_field(rest)}: " if rest else f"step {path[1] + 1}: "


def _field(path: Sequence[str | int]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _painted(word: str, colour: str) -> str:
    return f"{colour}{word}{PLAIN}" if wants_colour() else word


def summary(verdicts: Sequence[Verdict]) -> str:
    failed = sum(1 for verdict in verdicts if not verdict.passed)
    seconds = sum(verdict.seconds for verdict in verdicts)
    return f"{len(verdicts)} cases, {failed} failed, {seconds:.1f} s\n"


def as_data(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The same as lists and maps: `cases`, `failed`, and one entry for each file."""
    return {
        "cases": len(verdicts),
        "failed": sum(1 for verdict in verdicts if not verdict.passed),
        "results": [
            {
                "file": verdict.file,
                "passed": verdict.passed,
                "seconds": round(verdict.seconds, 3),
                **({} if verdict.passed else _failure(verdict)),
            }
            for verdict in verdicts
        ],
    }


def _failure(verdict: Verdict) -> dict[str, Any]:
    problems = [
        {"path": _field(p.path), "message": p.message, **({"detail": p.detail} if p.detail else {})}
        for p in verdict.problems
    ]
    return {"problems": problems, "did": list(verdict.did), "why": list(verdict.why)}


def as_junit(verdicts: Sequence[Verdict]) -> str:
    """One test suite for each folder, one test case for each file."""
    folders: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        folders.setdefault(str(Path(verdict.file).parent), []).append(verdict)
    suites = "".join(_suite(folder, found) for folder, found in folders.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{suites}</testsuites>\n'


def _suite(folder: str, verdicts: Sequence[Verdict]) -> str:
    failed = sum(1 for verdict in verdicts if not verdict.passed)
    seconds = sum(verdict.seconds for verdict in verdicts)
    head = f'name={_quoted(folder)} tests="{len(verdicts)}" failures="{failed}" time="{seconds:.3f}"'
    return f"<testsuite {head}>\n{''.join(_testcase(folder, v) for v in verdicts)}</testsuite>\n"


def _testcase(folder: str, verdict: Verdict) -> str:
    name = _quoted(Path(verdict.file).stem)
    head = (
        f'name={name} classname={_quoted(folder)} file={_quoted(verdict.file)} time="{verdict.seconds:.3f}"'
    )
    if verdict.passed:
        return f"<testcase {head}/>\n"
    message = _quoted(verdict.problems[0].message.splitlines()[0])
    told = escape(_UNPRINTABLE.sub("\ufffd", "\n".join(_told(verdict))))
    return f"<testcase {head}>\n<failure message={message}>{told}</failure>\n</testcase>\n"


def _quoted(text: str) -> str:
    return quoteattr(_UNPRINTABLE.sub("\ufffd", text))
