"""What test_commands.py leaves: files that cannot be read, no cluster at all, the served API."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "team-baseline"
COMMAND = (sys.executable, "-m", "rulesengine.cli.main")


def run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """A command of a user who has no cluster: no kubeconfig, no pod around it."""
    away = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
    env = {name: value for name, value in os.environ.items() if name not in away}
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=home,
        env={**env, "HOME": str(home)},
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "this is a bug" not in done.stderr, done.stderr
    return done


def test_help_names_every_command(tmp_path: Path) -> None:
    """A newcomer finds the commands in one place."""
    done = run("--help", home=tmp_path)
    assert done.returncode == 0
    for command in (
        "run",
        "serve",
        "check",
        "diff",
        "test",
        "render",
        "graph",
        "status",
        "orphans",
        "crds",
        "demo",
    ):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "has no file that ends in .yaml"),
        (b"a: b\n\xff\n", "rule.yaml:2: the file is not UTF-8 text"),
    ],
    ids=["empty folder", "not UTF-8"],
)
def test_what_cannot_be_read_is_one_message(tmp_path: Path, content: bytes | None, words: str) -> None:
    """Exit 2 from check and diff alike, for rules and for state."""
    folder = tmp_path / "rules"
    folder.mkdir()
    if content is not None:
        (folder / "rule.yaml").write_bytes(content)
    rule = str(EXAMPLE / "rule.yaml")
    for arguments in (("check", str(folder)), ("diff", str(folder)), ("diff", rule, "--state", str(folder))):
        done = run(*arguments, home=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("run",), ("diff", str(EXAMPLE / "rule.yaml"))], ids=["run", "diff"])
def test_without_a_cluster_it_says_what_needs_none(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """One line, exit 2, and the way on."""
    done = run(*arguments, home=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "run --embedded" in done.stderr


def test_diff_tells_nothing_from_something(tmp_path: Path) -> None:
    """Exit 0 where no object matches, 1 where there is a difference, 2 where it cannot be known."""
    rule = str(EXAMPLE / "rule.yaml")
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}))
    assert run("diff", rule, "--state", str(other), home=tmp_path).returncode == 0
    assert run("diff", rule, "--state", str(EXAMPLE / "objects.yaml"), home=tmp_path).returncode == 1
    unknown = EXAMPLE.parent / "web-app" / "rule.yaml"
    done = run("diff", str(unknown), "--state", str(other), home=tmp_path)
    assert done.returncode == 2
    assert "WebApp" in done.stdout


def test_serve_answers_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """Its kubeconfig is the user's alone and leads to the objects of -f; SIGTERM ends it with 0."""
    config = tmp_path / "config"
    arguments = ("serve", "--write-kubeconfig", str(config), "-f", str(EXAMPLE / "objects.yaml"))
    process = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert "serving on" in process.stdout.readline()
        assert stat.S_IMODE(config.stat().st_mode) == 0o600
        server = json.loads(config.read_text())["clusters"][0]["cluster"]["server"]
        with urllib.request.urlopen(f"{server}/api/v1/namespaces/blue", timeout=10) as answer:
            assert json.load(answer)["metadata"]["labels"]["size"] == "large"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        process.stdout.close()
