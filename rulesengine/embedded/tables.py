"""Tables, the form in which kubectl asks for what it prints.

Custom kinds print the columns their CRD names, built-in ones those of `columns`.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from rulesengine.core import json
from rulesengine.core.clock import Clock
from rulesengine.core.json import Object
from rulesengine.embedded import cells, columns, versions
from rulesengine.embedded.calls import Call
from rulesengine.embedded.jsonpaths import find
from rulesengine.embedded.kinds import Column, Kind
from rulesengine.embedded.store import Entry, Key

_AS_TABLE = re.compile(r"application/json;[^,]*as=Table")


def wants_table(call: Call) -> bool:
    """Whether a table is the first thing the client accepts."""
    accept = call.headers.get("accept", "")
    return "as=Table" in accept and _AS_TABLE.match(accept.lstrip()) is not None


class Tables:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @staticmethod
    def entry(body: Object) -> Entry:
        """An object that is not stored (or not as it is shown) as a row's entry."""
        return Entry(Key(body["metadata"].get("namespace", ""), body["metadata"]["name"]), body, 0)

    def table(
        self,
        call: Call,
        kind: Kind,
        entries: list[Entry],
        version: str = "",
        *,
        meta: Object | None = None,
    ) -> Object:
        """The table of some objects of one kind."""
        now = self._clock.now()
        include = call.query.get("includeObject", "Metadata")
        rows = []
        for entry in entries:
            body = versions.served(kind, entry.object)
            row: Object = {"cells": self._cells(kind, body, now)}
            if include == "Object":
                row["object"] = body
            elif include != "None":
                row["object"] = {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": body["metadata"],
                }
            rows.append(row)
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta or {"resourceVersion": version},
            "columnDefinitions": self._definitions(kind),
            "rows": rows,
        }

    def _definitions(self, kind: Kind) -> list[Object]:
        if not kind.custom:
            return columns.definitions(kind.gvk.group, kind.gvk.kind)
        name = cells.definition("Name", "string", "name", 0)
        return [name, *(cells.definition(c.name, c.type, c.format, c.priority) for c in kind.columns)]

    def _cells(self, kind: Kind, body: Object, now: datetime) -> list[Any]:
        if not kind.custom:
            return columns.cells(kind.gvk.group, kind.gvk.kind, body, now)
        return [body["metadata"]["name"], *(_cell(column, body, now) for column in kind.columns)]


def _cell(column: Column, body: Object, now: datetime) -> Any:
    found = find(column.path, body)
    if not found or found[0] is None:
        return None
    value = found[0]
    if column.type == "date":
        return cells.age(value, now) if isinstance(value, str) else "<unknown>"
    if column.type == "string":
        if isinstance(value, str):
            return value
        return json.encode(value).decode()
    fits = {"integer": (int,), "number": (int, float), "boolean": (bool,)}.get(column.type, ())
    return value if isinstance(value, fits) else None
