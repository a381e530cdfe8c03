"""`rulesengine run`: the engine against a cluster, or against an API server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rulesengine import api, client, runtime
from rulesengine.cli.files import texts
from rulesengine.core.errors import UsageError
from rulesengine.core.settings import TABLE, Value


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; see `run --help`. `given` are the settings among it."""

    kubeconfig: Path | None
    context: str | None
    config: Path | None
    embedded: bool
    files: tuple[str, ...]
    given: Mapping[str, Value]


def run_engine(options: Options) -> int:
    """Runs until SIGTERM or Ctrl-C; 0 then."""
    if options.files and not options.embedded:
        raise UsageError("-f goes with --embedded; in a cluster rules are applied with kubectl apply -f")
    if options.embedded and (options.kubeconfig or options.context):
        raise UsageError("--embedded needs no --kubeconfig and no --context: its server is in this process")
    settings = settled(options.config, options.given)
    runtime.configure(json_lines=settings.log_format == "json", verbose=settings.verbose)
    asyncio.run(_run(options, settings))
    return 0


def settled(config: Path | None, given: Mapping[str, Value]) -> runtime.Settings:
    """The settings that hold: a flag's, else the file's, else the default.

    Raises FindingsError, UsageError.
    """
    found: dict[str, Value] = {}
    if config is not None:
        if config.is_dir():
            raise UsageError(f"{config}: expected a file with settings, found a folder")
        ((name, text),) = texts([str(config)])
        found = api.read_settings(text, name, TABLE)
    return runtime.Settings(**(found | dict(given)))  # type: ignore[arg-type]  # the table has checked each


async def _run(options: Options, settings: runtime.Settings) -> None:
    elector = None
    if settings.leader_elect and not options.embedded:
        elector = runtime.Elector(settings, lambda: client.connect(options.kubeconfig, options.context))
    async with _connection(options, settings, elector) as connection:
        await runtime.Manager(connection, settings, elector).run(signals=True)


@asynccontextmanager
async def _connection(
    options: Options, settings: runtime.Settings, elector: runtime.Elector | None
) -> AsyncIterator[client.Client]:
    if not options.embedded:
        connection = await client.connect(
            options.kubeconfig,
            options.context,
            connections=settings.connections,
            fence=elector.seconds_left if elector is not None else None,
        )
        async with connection:
            yield connection
        return
    from rulesengine.cli.serve import serving  # noqa: PLC0415 - the server is not loaded for real clusters

    async with serving(0, Path("rulesengine.kubeconfig"), options.files) as connection:
        yield connection
