"""`rulesengine diff`: what rules would change, before anything changes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rulesengine import api, client, runtime
from rulesengine.cli.files import texts
from rulesengine.cli.forecasts import as_data, as_text, has_changes, has_failures
from rulesengine.cli.output import coloured_diff, print_data
from rulesengine.client import APIError
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.findings import Finding
from rulesengine.core.keys import RuleKey

NOTHING, DIFFERENCES, FAILED = 0, 1, 2
KINDS = {
    **dict.fromkeys(("clusterrule", "clusterrules", "crule"), "ClusterRule"),
    **dict.fromkeys(("rule", "rules", "rrule"), "Rule"),
}


@dataclass(frozen=True, slots=True)
class Where:
    """Against what: a cluster, or with `state` files of objects in place of one."""

    kubeconfig: Path | None
    context: str | None
    namespace: str
    state: tuple[str, ...] | None


def diff_files(names: Sequence[str], output: str, where: Where) -> int:
    """Prints what would change: 0 nothing, 1 something, 2 where that could not be found out."""
    try:
        return asyncio.run(_diff(names, output, where))
    except FindingsError as error:
        for finding in error.findings:
            print(finding.render(), file=sys.stderr)
        return FAILED


async def _diff(names: Sequence[str], output: str, where: Where) -> int:
    stored = [key for name in names if (key := _stored(name)) is not None]
    models, findings = _models([name for name in names if _stored(name) is None])
    if findings:
        raise FindingsError(findings)
    if not models and not stored:
        raise UsageError("no rules in what was given: expected documents of kind ClusterRule or Rule")
    async with _connection(where) as connection:
        try:
            models += [await runtime.stored_rule(connection, key) for key in stored]
            settings = runtime.Settings(namespace=where.namespace)
            forecasts = await runtime.forecast(connection, models, settings)
        except APIError as error:
            raise UsageError(f"the cluster could not be asked: {error}") from error
    if output == "text":
        sys.stdout.write(coloured_diff(as_text(forecasts)))
    else:
        print_data(as_data(forecasts), output)
    if has_failures(forecasts):
        return FAILED
    return DIFFERENCES if has_changes(forecasts) else NOTHING


def _models(names: Sequence[str]) -> tuple[list[api.RuleModel], list[Finding]]:
    models: list[api.RuleModel] = []
    findings: list[Finding] = []
    for name, text in texts(names):
        found, problems = api.rules_from(text, name)
        models += found
        findings += problems
    return models, findings


def _stored(name: str) -> RuleKey | None:
    """The rule that `clusterrule/NAME` or `rule/NAMESPACE/NAME` means, where that is no file."""
    kind, _, rest = name.partition("/")
    if kind.lower() not in KINDS or not rest or Path(name).exists():
        return None
    space, _, rule = rest.rpartition("/")
    if KINDS[kind.lower()] == "Rule" and not space:
        raise UsageError(f"{name}: a Rule is named rule/NAMESPACE/NAME")
    if KINDS[kind.lower()] == "ClusterRule" and space:
        raise UsageError(f"{name}: a ClusterRule is named clusterrule/NAME")
    return RuleKey(KINDS[kind.lower()], space, rule)


@asynccontextmanager
async def _connection(where: Where) -> AsyncIterator[client.Client]:
    if where.state is None:
        async with await client.connect(kubeconfig=where.kubeconfig, context=where.context) as connection:
            yield connection
        return
    if where.kubeconfig or where.context:
        raise UsageError("--state stands in place of a cluster: leave out --kubeconfig and --context")
    from rulesengine.cli.state import holding  # noqa: PLC0415 - the server is not loaded for clusters

    async with holding(where.state) as connection:
        yield connection
