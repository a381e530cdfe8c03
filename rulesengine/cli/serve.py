"""`rulesengine serve`: the embedded API server alone, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from rulesengine import embedded
from rulesengine.cli.state import load
from rulesengine.client import Client
from rulesengine.testing import in_process


def serve_api(port: int, kubeconfig: Path, files: Sequence[str]) -> int:
    """Serves until SIGTERM or Ctrl-C; 0 then."""
    asyncio.run(_serve(port, kubeconfig, files))
    return 0


async def _serve(port: int, kubeconfig: Path, files: Sequence[str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(port, kubeconfig, files):
        await stop.wait()


@asynccontextmanager
async def serving(port: int, kubeconfig: Path, files: Sequence[str]) -> AsyncIterator[Client]:
    """A server on 127.0.0.1 with the objects of the files, a connection to it, and what to type."""
    shown = Path.cwd() / kubeconfig
    async with (
        embedded.serve(port=port, kubeconfig=kubeconfig) as running,
        in_process(running.server) as cluster,
    ):
        await load(cluster, files)
        sys.stdout.write(f"serving on {running.url}; its data is in memory. Try:\n")
        sys.stdout.write(f"  export KUBECONFIG={shown}\n  kubectl get namespaces\n")
        sys.stdout.flush()
        yield cluster.connection
