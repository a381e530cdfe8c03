"""`rulesengine test`: plays cases, on API servers in this process or on a cluster that is one's own."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rulesengine import client, runtime
from rulesengine.cli.files import STDIN, SUFFIXES, texts
from rulesengine.cli.verdicts import as_data, as_junit, as_text, summary
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.testing import (
    Case,
    Problem,
    Verdict,
    embedded_stage,
    may_be_case,
    play,
    read_case,
    real_stage,
)
from rulesengine.testing.player import Stage
from rulesengine.testing.updating import updated

PASSED, FAILED = 0, 1


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; see `test --help`."""

    pattern: str
    output: str
    update: bool
    kubeconfig: Path | None
    context: str | None
    whole_cluster: bool
    verbose: bool

    @property
    def remote(self) -> bool:
        return self.kubeconfig is not None or self.context is not None


def play_paths(paths: Sequence[str], options: Options) -> int:
    """Plays every case below `paths` that the pattern selects; 0 when all of them hold, else 1."""
    if options.remote and not options.whole_cluster:
        raise UsageError(
            "cases create and delete objects anywhere in a cluster, and their rules meet what is there "
            "already: say --whole-cluster where the cluster is yours alone"
        )
    if options.whole_cluster and not options.remote:
        raise UsageError("--whole-cluster goes with --context or --kubeconfig")
    files = [(name, text) for name, text in _files(paths) if options.pattern in name]
    if not files:
        chosen = f" whose name has {options.pattern!r} in it" if options.pattern else ""
        raise UsageError(
            f"no cases{chosen} in {', '.join(paths)}: a case is a YAML file with steps or rejects"
        )
    runtime.configure(json_lines=False, verbose=options.verbose)
    if not options.verbose:
        logging.getLogger("rulesengine").setLevel(logging.CRITICAL)  # what matters is in the verdicts
    verdicts = asyncio.run(_play(files, options))
    if options.output in ("text", "junit"):
        sys.stdout.write(as_junit(verdicts) if options.output == "junit" else summary(verdicts))
    else:
        from rulesengine.cli.output import print_data  # noqa: PLC0415

        print_data(as_data(verdicts), options.output)
    return PASSED if all(verdict.passed for verdict in verdicts) else FAILED


def _files(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Files that were named, and those in folders that hold a case (rules and CRDs lie beside them)."""
    found: dict[str, str] = {}
    for path in paths:
        if path == STDIN:
            raise UsageError("cases name other files by their own place and cannot come from standard input")
        if not Path(path).is_dir():
            found |= dict(texts([path]))
            continue
        below = sorted(p for p in Path(path).rglob("*") if p.suffix in SUFFIXES and p.is_file())
        found |= {name: text for name, text in texts([str(p) for p in below]) if may_be_case(text, name)}
    return list(found.items())


async def _play(files: Sequence[tuple[str, str]], options: Options) -> list[Verdict]:
    verdicts: list[Verdict] = []
    async with _stages(options) as stage:
        for name, text in files:
            verdict = await _one(name, text, options, stage)
            verdicts.append(verdict)
            if options.output == "text":
                sys.stdout.write(as_text(verdict))
                sys.stdout.flush()
    return verdicts


class _Stages:
    def __init__(self, connection: client.Client | None) -> None:
        self._connection = connection

    def __call__(self, case: Case) -> AbstractAsyncContextManager[Stage]:
        return embedded_stage(case) if self._connection is None else real_stage(self._connection, case)


@asynccontextmanager
async def _stages(options: Options) -> AsyncIterator[_Stages]:
    if not options.remote:
        yield _Stages(None)
        return
    async with await client.connect(kubeconfig=options.kubeconfig, context=options.context) as connection:
        yield _Stages(connection)


async def _one(name: str, text: str, options: Options, stages: _Stages) -> Verdict:
    try:
        case = read_case(text, name)
    except FindingsError as error:
        broken = "\n".join(finding.render() for finding in error.findings)
        return Verdict(name, 0.0, (Problem((), "the case cannot be read", broken),))
    async with stages(case) as stage:
        verdict = await play(case, stage, all_steps=options.update)
    if not options.update or not verdict.corrections:
        return verdict
    corrected = updated(text, verdict.corrections)
    _write(Path(name), corrected)
    case = read_case(corrected, name)
    async with stages(case) as stage:
        return await play(case, stage)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from error
