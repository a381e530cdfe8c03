"""Plays a script of kubectl commands on a server and writes down what came out, made comparable.

Run as a program it records the expectations from a real API server (with the garbage
collector and namespace controllers only, as tests/cluster starts it):

    python tests/integration/kubectl_player.py KUBECONFIG
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "kubectl"
SCRIPTS = ("everyday", "corners")
MINOR = "1.37"
TIMEOUT = 60

_COMPARABLE = (
    (r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", "UID"),
    (r'(resourceVersion"?: )"\d+"', r'\1"N"'),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"(Creation ?Timestamp:\s+|Time:\s+).*", r"\1TIME"),
    (r"(Created on:\s+).*", r"\1TIME"),
    (r"\b\d+(m\d+s|s|m)\b(?=\s|$)", "AGE"),
    (r"10\.0\.0\.\d+", "IP"),
    (r"nodePort: \d+", "nodePort: N"),
    (r"some-[a-z0-9]{5}", "some-XXXXX"),
    (r"https?://127\.0\.0\.1:\d+", "URL"),
    (r"Resource Version:\s+\d+", "Resource Version: N"),
    (r"\S*kubectl-edit-\S+", "EDITED"),
    (r"/tmp/(LIVE|MERGED)-\S+", "TMP"),
    (r"(?m)[ \t]+$", ""),
    (r"[ \t]{2,}", "  "),
)


@dataclass(frozen=True)
class Outcome:
    """What one command did."""

    command: str
    code: int
    out: str
    err: str

    def text(self) -> str:
        parts = [f"$ {self.command}", f"exit {self.code}", *self.out.splitlines()]
        parts += [f"! {line}" for line in self.err.splitlines()]
        return "\n".join(parts) + "\n"


def commands(script: str) -> list[str]:
    lines = (FOLDER / f"{script}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def expected(script: str) -> dict[int, str]:
    """Outcomes as a real server gave them, by the number of the command."""
    text = (FOLDER / f"{script}.expected").read_text()
    return {number: f"$ {part}" for number, part in enumerate(text.removeprefix("$ ").split("\n$ "))}


def find_kubectl() -> list[str] | None:
    """kubectl of the recorded minor version: the control plane's own, or one on the PATH."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rulesengine"
    built = sorted(cache.glob("*controlplane-*"))
    candidates = [[str(path), "kubectl"] for path in built if os.access(path, os.X_OK)]
    if found := shutil.which("kubectl"):
        candidates.append([found])
    for candidate in candidates:
        done = subprocess.run(
            [*candidate, "version", "--client"], capture_output=True, text=True, check=False
        )
        if f"v{MINOR}." in done.stdout:
            return candidate
    return None


class Player:
    """One kubectl on one server, with a home of its own."""

    def __init__(self, kubectl: list[str], kubeconfig: Path, home: Path) -> None:
        self._kubectl = kubectl
        self._environ = {"PATH": os.environ["PATH"], "KUBECONFIG": str(kubeconfig), "HOME": str(home)}

    def play(self, line: str) -> Outcome:
        environ, stdin, text = dict(self._environ), b"", line
        if text.startswith("EDITOR="):
            editor, text = text.removeprefix("EDITOR=").split(" ", 1)
            environ["KUBE_EDITOR"] = str(FOLDER / editor) if editor.endswith(".sh") else editor
        if " < " in text:
            text, name = text.rsplit(" < ", 1)
            stdin = self._filled((FOLDER / name).read_text()).encode()
        words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", text)]
        done = subprocess.run(
            [*self._kubectl, *words],
            cwd=FOLDER, env=environ, input=stdin, capture_output=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        return Outcome(line, done.returncode, comparable(done.stdout), comparable(done.stderr))

    def _filled(self, text: str) -> str:
        """Replaces {{…}} by the uid of the object that it names for `kubectl get`."""

        def uid(match: re.Match[str]) -> str:
            words = ["get", *match[1].split(), "-o", "jsonpath={.metadata.uid}"]
            done = subprocess.run(
                [*self._kubectl, *words], env=self._environ, capture_output=True, text=True, check=True
            )
            return done.stdout

        return re.sub(r"\{\{(.*?)\}\}", uid, text)


def comparable(output: bytes) -> str:
    text = output.decode()
    for pattern, replacement in _COMPARABLE:
        text = re.sub(pattern, replacement, text)
    return text


def record(kubeconfig: Path) -> None:
    kubectl = find_kubectl()
    if kubectl is None:
        sys.exit(f"there is no kubectl {MINOR}")
    for script in SCRIPTS:
        with tempfile.TemporaryDirectory() as home:
            player = Player(kubectl, kubeconfig, Path(home))
            outcomes = []
            for line in commands(script):
                outcomes.append(player.play(line).text())
                if "Established" in line:
                    time.sleep(5)  # a real server publishes a new kind's schema some seconds later
            text = "".join(outcomes)
        (FOLDER / f"{script}.expected").write_text(text)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
