"""`rulesengine run`: the engine against a cluster, or against an API server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rulesengine import client, runtime
from rulesengine.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; see `run --help`."""

    kubeconfig: Path | None
    context: str | None
    namespace: str
    embedded: bool
    files: tuple[str, ...]
    workers: int
    json_logs: bool
    verbose: bool


def run_engine(options: Options) -> int:
    """Runs until SIGTERM or Ctrl-C; 0 then."""
    if options.files and not options.embedded:
        raise UsageError("-f goes with --embedded; in a cluster rules are applied with kubectl apply -f")
    if options.embedded and (options.kubeconfig or options.context):
        raise UsageError("--embedded needs no --kubeconfig and no --context: its server is in this process")
    runtime.configure(json_lines=options.json_logs, verbose=options.verbose)
    asyncio.run(_run(options))
    return 0


async def _run(options: Options) -> None:
    settings = runtime.Settings(namespace=options.namespace, workers=options.workers)
    async with _connection(options) as connection:
        await runtime.Engine(connection, settings).run(signals=True)


@asynccontextmanager
async def _connection(options: Options) -> AsyncIterator[client.Client]:
    if not options.embedded:
        connection = await client.connect(kubeconfig=options.kubeconfig, context=options.context)
        async with connection:
            yield connection
        return
    from rulesengine.cli.serve import serving  # noqa: PLC0415 - the server is not loaded for real clusters

    async with serving(0, Path("rulesengine.kubeconfig"), options.files) as connection:
        yield connection
