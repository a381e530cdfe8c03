"""`rulesengine status`: how far the rules of a cluster are, and what keeps them from being further."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulesengine import api, client, runtime
from rulesengine.cli.diff import KINDS
from rulesengine.cli.forecasts import source_states
from rulesengine.cli.output import print_data
from rulesengine.client import APIError, NotFound
from rulesengine.core import json
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType

READY, NOT_READY = 0, 1
COLUMNS = ("RULE", "MODE", "READY", "MATCHED", "CONVERGED", "WAITING", "FAILED")
GOOD = {"Accepted": "True", "Ready": "True"}
RESOURCES = tuple(
    ResourceType(GroupVersionKind.parse(api.API_VERSION, kind), plural, namespaced=kind == "Rule")
    for kind, plural in (("ClusterRule", "clusterrules"), ("Rule", "rules"))
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; see `status --help`."""

    names: tuple[str, ...]
    output: str
    every_source: bool
    kubeconfig: Path | None
    context: str | None
    namespace: str


def show_status(options: Options) -> int:
    """Prints every rule, or those named; 0 when all of them are ready, else 1."""
    return asyncio.run(_show(options))


async def _show(options: Options) -> int:
    async with await client.connect(kubeconfig=options.kubeconfig, context=options.context) as connection:
        try:
            bodies = _chosen(await _rules(connection), options.names)
            sources = await _sources(connection, bodies, options) if options.every_source else {}
        except APIError as error:
            raise UsageError(f"the cluster could not be asked: {error}") from error
    if options.output == "text":
        sys.stdout.write("".join(f"{line}\n" for line in _text(bodies, sources)))
    else:
        print_data([_data(body, sources) for body in bodies], options.output)
    return READY if all(_is_ready(body) for body in bodies) else NOT_READY


async def _rules(connection: client.Client) -> list[Object]:
    found: list[Object] = []
    for resource in RESOURCES:
        try:
            listed = json.decode_object(await connection.list(resource))
        except NotFound:
            raise UsageError(
                "the cluster does not know rules yet: rulesengine crds | kubectl apply -f -"
            ) from None
        kind: Object = {"apiVersion": api.API_VERSION, "kind": resource.gvk.kind}
        found += [kind | item for item in listed["items"]]
    return found


def _chosen(bodies: list[Object], names: Sequence[str]) -> list[Object]:
    """Those named as clusterrule/NAME, rule/NAMESPACE/NAME, NAMESPACE/NAME or NAME; all without names."""
    chosen: list[Object] = []
    for name in names:
        kind, _, rest = name.partition("/")
        wanted = (KINDS[kind.lower()], rest) if kind.lower() in KINDS and rest else (None, name)
        found = [b for b in bodies if wanted[0] in (None, b["kind"]) and wanted[1] in (_name(b), _last(b))]
        if not found:
            known = ", ".join(sorted(_name(body) for body in bodies)) or "none"
            raise UsageError(f"there is no rule {name}; there are: {known}")
        chosen += found
    return chosen if names else bodies


def _last(body: Object) -> str:
    return str(body["metadata"]["name"])


def _name(body: Object) -> str:
    space = body["metadata"].get("namespace")
    return f"{space}/{_last(body)}" if space else _last(body)


def _status(body: Object) -> dict[str, Any]:
    status = body.get("status")
    return status if isinstance(status, dict) else {}


def _condition(body: Object, kind: str) -> dict[str, Any]:
    return next((c for c in _status(body).get("conditions") or () if c.get("type") == kind), {})


def _is_ready(body: Object) -> bool:
    """Ready, and said of the generation that is there. A suspended rule does all it shall."""
    if body["spec"].get("mode") == "Suspended":
        return True
    condition = _condition(body, "Ready")
    current = condition.get("observedGeneration") == body["metadata"].get("generation")
    return condition.get("status") == "True" and current


async def _sources(
    connection: client.Client, bodies: Sequence[Object], options: Options
) -> dict[str, list[dict[str, str]]]:
    """Each source of each rule as it would come out now, worked out here with the caller's rights."""
    models = []
    for body in bodies:
        try:
            models.append(api.rule_from_object(body))
        except FindingsError:
            continue  # its status says what is wrong
    settings = runtime.Settings(namespace=options.namespace)
    forecasts = await runtime.forecast(connection, models, settings) if models else ()
    return {str(forecast.key): source_states(forecast) for forecast in forecasts}


def _text(bodies: Sequence[Object], sources: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    rows = [COLUMNS, *(_row(body) for body in bodies)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for number, row in enumerate(rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        if number:
            body = bodies[number - 1]
            yield from (f"  {line}" for line in _details(body))
            for source in sources.get(f"{body['kind']} {_name(body)}", ()):
                said = f": {source['message']}" if source["message"] else ""
                yield f"  {source['state']:9} {source['source']}{said}"
    if not bodies:
        yield "(no rules)"


def _row(body: Object) -> tuple[str, ...]:
    status = _status(body)
    counts = [str(status.get(name, 0)) for name in ("matched", "converged", "waiting", "failed")]
    ready = _condition(body, "Ready").get("status", "Unknown") if status else "Unknown"
    return (f"{body['kind']} {_name(body)}", body["spec"].get("mode", "Enforce"), ready, *counts)


def _details(body: Object) -> Iterator[str]:
    """What is not as it should be: conditions, failures, pending changes, orphans."""
    status = _status(body)
    if not status:
        yield "no status yet: is an engine running?"
    for condition in status.get("conditions") or ():
        if condition.get("status") != GOOD.get(condition.get("type"), "False"):
            said = f"{condition['type']}={condition['status']} {condition.get('reason', '')}"
            message = condition.get("message")
            yield f"{said}: {message}" if message else said
    for failure in status.get("failures") or ():
        where = f"{failure.get('source', '')} {failure.get('resource', '')}".strip()
        yield f"failed {where}: {failure.get('reason')}: {failure.get('message', '')}"
    for pending in status.get("pending") or ():
        fields = f" ({', '.join(pending['fields'])})" if pending.get("fields") else ""
        yield f"would {pending.get('operation')} {pending.get('object')}{fields}"
    if status.get("orphans"):
        yield f"{status['orphans']} orphans: see rulesengine orphans"


def _data(body: Object, sources: dict[str, list[dict[str, str]]]) -> dict[str, Any]:
    found = {
        "kind": body["kind"],
        "name": _name(body),
        "ready": _is_ready(body),
        "mode": body["spec"].get("mode", "Enforce"),
        "status": _status(body),
    }
    about = sources.get(f"{body['kind']} {_name(body)}")
    return found if about is None else found | {"sources": about}
