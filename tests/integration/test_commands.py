"""The commands as a user runs them: exit codes, one clear message, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from rulesengine import api

CRDS = Path(__file__).parents[2] / "crds"
EXAMPLE = Path(__file__).parents[2] / "examples" / "team-baseline"
BROKEN = EXAMPLE.joinpath("rule.yaml").read_text().replace("object.metadata.name", "objct.metadata.name")
SECRET_RULE = """\
apiVersion: rulesengine.dev/v1alpha1
kind: ClusterRule
metadata: {name: copy}
spec:
  for: {apiVersion: v1, kind: Secret, namespaces: [a]}
  resources:
  - name: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${object.metadata.name}-copy"}
      data: "${object.data}"
  - name: settings
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: settings, annotations: {first: "${object.data.k}"}}
"""
SECRET = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "a"},
        "stringData": {"k": "hunter2"},
    }
)


def run(
    *arguments: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "rulesengine.cli.main", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **(env or {})},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_crds_are_the_files_of_the_project() -> None:
    """What is printed is what kubectl gets from crds/."""
    printed = api.load_objects(run("crds").stdout, "stdout")
    files = [api.load_objects(f.read_text(), f.name)[0] for f in sorted(CRDS.glob("*.yaml"))]
    assert sorted(printed, key=str) == sorted(files, key=str)


def test_check_says_where_and_what_to_do() -> None:
    """0 without findings, 1 with them: file, line, column, caret, hint."""
    assert run("check", str(EXAMPLE / "rule.yaml")).returncode == 0
    done = run("check", "-", stdin=BROKEN)
    assert done.returncode == 1
    assert "<stdin>:" in done.stderr
    assert "^" in done.stderr
    assert "did you mean object?" in done.stderr
    found = json.loads(run("check", "-", "-o", "json", stdin=BROKEN).stdout)["findings"]
    assert found[0]["code"] == "RE202"
    assert found[0]["line"] > 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (("check", "nowhere.yaml"), "", "no such file"),
        (("check", "-"), "", "no rules"),
        (("check", "-"), "kind: Nothing\napiVersion: v1\nmetadata: {name: x}\n", "no rules"),
        (("diff", "clusterrule/a/b"), "", "clusterrule/NAME"),
        (("run", "--embedded", "--context", "x"), "", "--embedded needs no"),
        (("run", "-f", "x.yaml"), "", "--embedded"),
        (("run", "--kubeconfig", "nowhere"), "", "no kubeconfig at nowhere"),
    ],
)
def test_wrong_usage_is_one_message(arguments: tuple[str, ...], stdin: str, words: str) -> None:
    """Exit 2 and what to do."""
    done = run(*arguments, stdin=stdin)
    assert done.returncode == 2
    assert words in done.stderr


def test_no_cluster_is_one_message(tmp_path: Path) -> None:
    """A server that does not answer: which one, and from where that is known."""
    config = tmp_path / "kubeconfig"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "c", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            }
        )
    )
    for command in (("diff", str(EXAMPLE / "rule.yaml")), ("run",)):
        done = run(*command, "--kubeconfig", str(config))
        assert done.returncode == 2
        assert "http://127.0.0.1:1" in done.stderr
        assert str(config) in done.stderr


def test_values_of_secrets_are_never_shown(tmp_path: Path) -> None:
    """Nor what was computed from them, in any output."""
    state = tmp_path / "state.json"
    state.write_text(SECRET)
    for output in ("text", "json", "yaml"):
        done = run("diff", "-", "--state", str(state), "-o", output, stdin=SECRET_RULE)
        assert done.returncode == 1
        assert "s-copy" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr
        assert "aHVudGVyMg==" not in done.stdout + done.stderr  # in metadata neither
        assert "aHVudGVyMg==" not in done.stdout + done.stderr


def test_run_ends_cleanly_when_it_is_told_to(tmp_path: Path) -> None:
    """`run --embedded` serves, works, and exits 0 on SIGTERM; its kubeconfig is the user's alone."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rulesengine.cli.main", "run", "--embedded", "-f", str(EXAMPLE)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    config = tmp_path / "rulesengine.kubeconfig"
    try:
        assert process.stdout is not None
        assert "serving on" in process.stdout.readline()
        assert stat.S_IMODE(config.stat().st_mode) == 0o600
        server = json.loads(config.read_text())["clusters"][0]["cluster"]["server"]
        quota = f"{server}/api/v1/namespaces/blue/resourcequotas/base"
        end = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(quota, timeout=5) as answer:
                    assert json.load(answer)["spec"]["hard"] == {"requests.cpu": "16"}
                    break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(40) == 0
        process.stdout.close()


def test_the_demo_comes_true() -> None:
    """Every step of it, exit 0."""
    assert run("demo").returncode == 0
