"""The engine as a user runs it: a process, stopped, killed and started again by tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.plane import Plane

UPKEEP = {"events", "clusterrules", "rules"}  # the engine's own accounts, not what rules want
OWN_NAMESPACE = "rulesengine-system"


def eventually(check: Callable[[], object], seconds: float = 20.0) -> Any:
    """Waits for `check` to return something true; raises what it last raised when time is up."""
    end = time.monotonic() + seconds
    while True:
        try:
            if value := check():
                return value
            problem: Exception = AssertionError(f"not within {seconds} s: {check.__name__}")
        except (AssertionError, KeyError, IndexError, StopIteration) as error:
            problem = error
        if time.monotonic() > end:
            raise problem
        time.sleep(0.05)


@dataclass
class Engine:
    """`rulesengine run` against a plane, with a token of its own so that the audit log tells."""

    plane: Plane
    who: str = "engine"
    arguments: tuple[str, ...] = ("--no-leader-elect",)  # else its renewals would be counted as requests
    program: tuple[str, ...] = ("-m", "rulesengine.cli.main")
    config: Path | None = None
    process: subprocess.Popen[bytes] | None = None
    seen: int = 0
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.plane.folder / f"{self.who}.log"

    def start(self) -> None:
        config = self.config or self.plane.folder / f"{self.who}.kubeconfig"
        command = [sys.executable, *self.program, "run", "--kubeconfig", str(config), *self.arguments]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env={**os.environ}
            )

    def stop(self, how: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        code = self.process.wait(40)
        self.process = None
        return code

    def mark(self) -> None:
        """From here on `requests` counts anew."""
        self.quiet()
        _, self.seen = self.plane.requests(0)

    def requests(self) -> list[dict[str, Any]]:
        """What the engine asked the server since the mark, watches once each at their start."""
        records, _ = self.plane.requests(self.seen)
        return [r for r in records if (r["stage"] == "ResponseStarted") == (r["verb"] == "watch")]

    def quiet(self, still: float = 1.0, limit: float = 60.0) -> None:
        """Waits until the engine sent nothing but watches for `still` seconds."""
        end = time.monotonic() + limit
        count, since = -1, time.monotonic()
        while time.monotonic() < end:
            records, _ = self.plane.requests(0)
            now = sum(1 for r in records if r["verb"] != "watch")
            if now != count:
                count, since = now, time.monotonic()
            elif time.monotonic() - since > still:
                return
            time.sleep(0.05)
        raise AssertionError(f"the engine is not quiet; its log is {self.log}")

    def changes(self) -> dict[str, int]:
        """Writes since the mark to what rules want: created, updated, deleted."""
        counts = {"created": 0, "updated": 0, "deleted": 0}
        for record in self.requests():
            about = record.get("objectRef", {})
            if (
                about.get("resource") in UPKEEP
                or about.get("subresource")
                or "dryRun" in record["requestURI"]
            ):
                continue
            if OWN_NAMESPACE in (about.get("namespace"), about.get("name")):
                continue
            code = record.get("responseStatus", {}).get("code", 0)
            if code >= 400:
                continue
            if record["verb"] in ("patch", "create", "update"):
                counts["created" if code == 201 else "updated"] += 1
            elif record["verb"] == "delete":
                counts["deleted"] += 1
        return counts
