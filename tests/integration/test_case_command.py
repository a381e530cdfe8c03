"""`rulesengine test` as a user runs it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.integration.test_commands import run

RULES = Path(__file__).parents[2] / "rules"
CASE = """\
steps:
- expect:
    changes: {created: 4}   # three, in truth
state: [{apiVersion: v1, kind: Namespace, metadata: {name: <&>, labels: {tenant: "true"}}}]
"""


def library(folder: Path, case: str) -> Path:
    """A rule's folder with a case that holds and one more."""
    cases = folder / "baseline" / "cases"
    cases.mkdir(parents=True)
    source = RULES / "tenancy" / "baseline"
    (folder / "baseline" / "rule.yaml").write_bytes((source / "rule.yaml").read_bytes())
    (cases / "open.yaml").write_bytes((source / "cases" / "open.yaml").read_bytes())
    (cases / "more.yaml").write_text(case)
    return cases / "more.yaml"


def test_all_ready_rules_hold() -> None:
    done = run("test", str(RULES))
    assert done.returncode == 0, done.stdout
    assert "cases, 0 failed" in done.stdout
    assert done.stderr == ""


def test_a_case_that_fails(tmp_path: Path) -> None:
    """Exit 1, and the same in every form; -k leaves it out."""
    file = library(tmp_path, CASE.replace("<&>", "blue"))
    done = run("test", str(tmp_path))
    assert done.returncode == 1
    assert "step 1, changes: created 3, expected 4" in done.stdout
    assert "create ResourceQuota blue/base" in done.stdout
    assert "2 cases, 1 failed" in done.stdout
    assert run("test", str(tmp_path), "-k", "open").returncode == 0
    data = json.loads(run("test", str(tmp_path), "-o", "json").stdout)
    assert (data["cases"], data["failed"]) == (2, 1)
    (failed,) = [result for result in data["results"] if not result["passed"]]
    assert failed["file"] == str(file)
    assert failed["problems"] == [{"path": "steps[0].expect.changes", "message": "created 3, expected 4"}]


def test_junit_is_xml_whatever_the_case_says(tmp_path: Path) -> None:
    file = library(tmp_path, CASE)  # no name for a namespace: the server's message is quoted
    done = run("test", str(tmp_path), "-o", "junit")
    assert done.returncode == 1
    root = ET.fromstring(done.stdout)
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failures = {case.get("file"): case.find("failure") for case in suite}
    assert failures[str(file.with_name("open.yaml"))] is None
    found = failures[str(file)]
    assert found is not None
    assert "<&>" in (found.text or "")


def test_update_corrects_the_file(tmp_path: Path) -> None:
    file = library(tmp_path, CASE.replace("<&>", "blue"))
    done = run("test", str(file), "--update")
    assert done.returncode == 0, done.stdout
    assert file.read_text() == CASE.replace("<&>", "blue").replace("4}   #", "3}   #")


def test_a_broken_case_is_one_message_with_its_place(tmp_path: Path) -> None:
    file = library(tmp_path, "steps: [{doo: []}]\n")
    done = run("test", str(file))
    assert done.returncode == 1
    assert f"{file}:1:10: error RE101: unknown field 'doo'" in done.stdout
    assert "did you mean do?" in done.stdout


def test_what_cannot_be_played_is_exit_2(tmp_path: Path) -> None:
    """Nothing there, no cases, a cluster that was not said to be one's own."""
    assert "no such file or folder" in run("test", str(tmp_path / "no.yaml")).stderr
    (tmp_path / "rule.yaml").write_text("kind: ClusterRule\n")
    done = run("test", str(tmp_path))
    assert (done.returncode, "no cases in" in done.stderr) == (2, True)
    done = run("test", str(RULES), "-k", "nothing-like-it")
    assert (done.returncode, "whose name has 'nothing-like-it'" in done.stderr) == (2, True)
    done = run("test", str(RULES), "--context", "some")
    assert (done.returncode, "--whole-cluster" in done.stderr) == (2, True)
    assert run("test", str(RULES), "--whole-cluster").returncode == 2
    assert run("test", "-").returncode == 2
