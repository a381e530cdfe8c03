"""A real Kubernetes control plane on 127.0.0.1 for tests: built once, started per session.

The programs are Kubernetes' own, linked into one binary by the Go module beside this file
(about 10 minutes and 2 GB of Go build cache the first time on 2 cores; kept in the user's
cache folder under the hash of its sources). Run as a script it builds and prints the path.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).parent / "controlplane"
VERSION = "1.37.2"
ENGINES = ("engine", "engine-a", "engine-b", "engine-c", "engine-d")  # whose requests are audited
SERVICE_ACCOUNT = "system:serviceaccount:rulesengine-system:rulesengine"
CONTROLLERS = ",".join(
    f"{name}-controller"
    for name in (
        "garbage-collector",
        "namespace",
        "persistentvolumeclaim-protection",
        "clusterrole-aggregation",
    )
)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rulesengine"


def binary() -> Path:
    names = ("main.go", "cel.go", "go.mod", "go.sum")
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in names))
    return cache_folder() / f"test-controlplane-{digest.hexdigest()[:16]}"


def build() -> Path:
    """The binary's path, after building it where it is not there yet."""
    out = binary()
    if out.exists():
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    major, minor, _ = VERSION.split(".")
    stamp = {"gitVersion": f"v{VERSION}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    flags = "-s -w " + " ".join(f"-X k8s.io/component-base/version.{k}={v}" for k, v in stamp.items())
    partial = out.with_suffix(f".{os.getpid()}")
    subprocess.run(
        ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(partial), "."],
        cwd=SOURCES,
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"},
        check=True,
    )
    partial.rename(out)
    return out


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def answers(url: str) -> bool:
    """Whether `url` answers 200. The server's certificate is its own; the address is 127.0.0.1."""
    context = ssl._create_unverified_context()
    handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(url, headers={"Authorization": "Bearer admin-token"})
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


@dataclass
class Plane:
    """One running control plane; its state and logs are in `folder`."""

    folder: Path
    exe: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    etcd_port: int = field(default_factory=free_port)
    api_port: int = field(default_factory=free_port)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def audit(self) -> Path:
        return self.folder / "audit.log"

    def start(self, *, controllers: str = CONTROLLERS) -> None:
        """Starts all of it; takes about 5 s. `controllers` "" starts no controller manager."""
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([self.exe, "keys", self.folder], check=True)
        masters = ("admin", *ENGINES)
        tokens = [f"{who}-token,{who},{who},system:masters" for who in masters]
        limited = ("alice-token,alice,alice", "kcm-token,system:kube-controller-manager,kcm")
        (self.folder / "tokens.csv").write_text("\n".join((*tokens, *limited)) + "\n")
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata", "users": [*ENGINES, SERVICE_ACCOUNT]}, {"level": "None"}],
        }
        (self.folder / "audit.json").write_text(json.dumps(policy))
        self._run("etcd", str(self.folder / "etcd"), f"http://127.0.0.1:{self.etcd_port}")
        self._wait(f"http://127.0.0.1:{self.etcd_port}/health", 30)
        self.start_server()
        for who in (*masters, "alice", "kcm"):
            name = "kubeconfig" if who == "admin" else f"{who}.kubeconfig"
            (self.folder / name).write_text(json.dumps(self._config(f"{who}-token")))
        if controllers:
            self._start_controllers(controllers)

    def start_server(self) -> None:
        """Starts kube-apiserver (again, on the same port and data)."""
        f = self.folder
        self._run(
            "apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.api_port}",
            f"--cert-dir={f / 'certs'}",
            f"--token-auth-file={f / 'tokens.csv'}",
            f"--audit-policy-file={f / 'audit.json'}",
            f"--audit-log-path={self.audit}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={f / 'sa.key'}",
            f"--service-account-signing-key-file={f / 'sa.key'}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--endpoint-reconciler-type=none",
            "--disable-admission-plugins=ServiceAccount",
            f"--requestheader-client-ca-file={f / 'front.crt'}",
            f"--client-ca-file={f / 'client.crt'}",
            "--requestheader-username-headers=X-Remote-User",
        )
        self._wait(f"https://127.0.0.1:{self.api_port}/readyz", 90)

    def _start_controllers(self, controllers: str) -> None:
        config = self.folder / "kcm.kubeconfig"
        self._run(
            "controller-manager",
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--cert-dir={self.folder / 'certs'}",
            f"--service-account-private-key-file={self.folder / 'sa.key'}",
            f"--controllers={controllers}",
        )

    def stop(self, name: str | None = None) -> None:
        """Ends one program, or all of them in reverse order; only what this Plane started."""
        for each in [name] if name else list(reversed(self.running)):
            process = self.running.pop(each)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """What kubectl prints; with `check` a failure raises with what it said."""
        done = subprocess.run(
            [self.exe, "kubectl", "--kubeconfig", str(self.kubeconfig), *arguments],
            capture_output=True,
            text=True,
            input=stdin,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout if check else done.stdout + done.stderr

    def requests(self, since: int = 0) -> tuple[list[dict[str, object]], int]:
        """The engine's audit records from a byte offset on, and the offset after them."""
        with contextlib.suppress(FileNotFoundError), self.audit.open("rb") as log:
            log.seek(since)
            data = log.read()
            data = data[: data.rfind(b"\n") + 1]
            return [json.loads(line) for line in data.splitlines()], since + len(data)
        return [], since

    def _run(self, name: str, *arguments: str) -> None:
        logs = self.folder / "log"
        logs.mkdir(exist_ok=True)
        with (logs / f"{name}.log").open("ab") as out:
            self.running[name] = subprocess.Popen(
                [self.exe, name, *arguments],
                cwd=self.folder,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _wait(self, url: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not answers(url):
            dead = [name for name, process in self.running.items() if process.poll() is not None]
            if dead or time.monotonic() > end:
                self.stop()
                raise RuntimeError(f"{dead or url}: not ready; logs in {self.folder / 'log'}")
            time.sleep(0.05)

    def _config(self, token: str) -> dict[str, object]:
        cluster = {
            "server": f"https://127.0.0.1:{self.api_port}",
            "certificate-authority": str(self.folder / "certs/apiserver.crt"),
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }


def why_not() -> str:
    """Why no control plane can be started here, "" when one can."""
    if binary().exists() or shutil.which("go"):
        return ""
    return "no Go on the PATH, so the real control plane cannot be built"


if __name__ == "__main__":
    if why_not():
        sys.exit(why_not())
    print(build())
