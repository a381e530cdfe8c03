"""Settings: one table; flags and file of the same names, bounds in both, one message for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulesengine import api
from rulesengine.cli.run import settled
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.settings import TABLE, Settings
from tests.integration.test_commands import run


def read(text: str) -> dict[str, object]:
    return api.read_settings(text, "settings.yaml", TABLE)


def test_every_setting_says_what_why_and_its_unit() -> None:
    """What a table without reasons would lose first."""
    for row in TABLE:
        assert row.what.endswith("."), row.name
        assert row.why.endswith("."), row.name
        if row.type in (int, float):
            assert row.unit, row.name
            bounds = (row.least, row.default, row.most)
            assert None not in bounds, row.name
            assert list(bounds) == sorted(bounds), row.name


def test_a_flag_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    """Each setting on its own."""
    file = tmp_path / "settings.yaml"
    file.write_text("workers: 3\ndrain: 7\nlog-format: json\nverbose: true\n")
    found = settled(file, {"workers": 4, "verbose": False})
    assert (found.workers, found.drain, found.log_format, found.verbose) == (4, 7.0, "json", False)
    assert found.rounds == Settings().rounds
    assert isinstance(found.drain, float)


def test_an_empty_file_sets_nothing() -> None:
    """Nor does a name without a value."""
    assert read("") == {}
    assert read("# nothing\n") == {}
    assert read("workers:\n") == {}


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        ("worker: 3\n", "RE101", 1, "did you mean workers?"),
        ("drain: 3\nworkers: many\n", "RE103", 2, "expected an integer, found text"),
        ("workers: 0\n", "RE105", 1, "at least 1"),
        ("workers: 1000\n", "RE105", 1, "at most 256"),
        ("log-format: xml\n", "RE104", 1, "expected text or json"),
        ("verbose: 1\n", "RE103", 1, "expected true or false"),
        ("drain: .inf\n", "RE009", 1, ""),
        ("drain: 1\ndrain: 2\n", "RE003", 2, ""),
        ("- workers\n", "RE103", 1, "expected settings"),
        ("workers: 1\n---\ndrain: 1\n", "RE103", 3, "expected one document"),
    ],
)
def test_a_mistake_in_the_file_is_one_message_with_its_place(
    text: str, code: str, line: int, words: str
) -> None:
    """As in rules: code, line, what was found, what to do."""
    with pytest.raises(FindingsError) as caught:
        read(text)
    (finding,) = caught.value.findings
    assert finding.code == code
    assert finding.span is not None
    assert finding.span.line == line
    assert words in finding.render()


def test_all_mistakes_are_told_at_once() -> None:
    """Not one per start."""
    with pytest.raises(FindingsError) as caught:
        read("worker: 3\nrounds: x\ndrain: -1\n")
    assert sorted(f.code for f in caught.value.findings) == ["RE101", "RE103", "RE105"]


def test_settings_that_contradict_each_other_are_refused() -> None:
    """Whatever they come from."""
    with pytest.raises(UsageError, match="backoff-first must not be above backoff-longest"):
        Settings(backoff_first=10.0, backoff_longest=5.0)


def test_help_has_a_flag_with_default_and_reason_for_each() -> None:
    """The same words as the reference page."""
    shown = " ".join(run("run", "--help").stdout.split())
    for row in TABLE:
        assert f"--{row.name}" in shown
        assert f"Default: {row.shown}." in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--workers", "0"), "--workers"),
        (("--drain", "nan"), "--drain"),
        (("--drain", "inf"), "--drain"),
        (("--log-format", "xml"), "--log-format"),
        (("--config", "nowhere.yaml"), "nowhere.yaml: no such file"),
        (("--backoff-first", "2000"), "backoff-first must not be above"),
        (("--namespace", ""), "namespace must not be empty"),
    ],
)
def test_a_wrong_flag_is_one_message(arguments: tuple[str, ...], words: str) -> None:
    """Exit 2, before anything is connected to."""
    done = run("run", "--embedded", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
