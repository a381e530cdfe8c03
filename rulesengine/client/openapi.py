"""Schemas of kinds from the server's OpenAPI v3, one document per group-version.

A document of the core group is over a megabyte and describes a hundred kinds of which a
rule names three. So the kinds of a document are kept for a short while (several are usually
asked for at once) and then only those that somebody asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rulesengine.client.client import Client
from rulesengine.client.errors import APIError, NotFound
from rulesengine.core import json
from rulesengine.core.clock import Clock, SystemClock
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, openapi

KEEP = 30.0  # seconds that a whole document's kinds stay
LOOK_AGAIN = 5.0  # seconds between two looks for a document that is missing


class OpenAPI:
    """`known` is what has been fetched; `schema` fetches."""

    def __init__(self, client: Client, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._schemas: dict[GroupVersionKind, Schema] = {}
        self._documents: dict[str, tuple[float, Mapping[GroupVersionKind, Schema]]] = {}
        self._index: Mapping[str, str] | None = None
        self._missing: dict[str, float] = {}
        self._asking = asyncio.Lock()

    def known(self, gvk: GroupVersionKind) -> Schema | None:
        return self._schemas.get(gvk)

    async def schema(self, gvk: GroupVersionKind) -> Schema | None:
        """A kind's schema; None when the server publishes none. Raises APIError when it cannot say."""
        if (found := self._schemas.get(gvk)) is not None:
            return found
        async with self._asking:
            self._drop_old()
            kinds = await self._kinds(f"apis/{gvk.api_version}" if gvk.group else f"api/{gvk.version}")
            if (found := kinds.get(gvk)) is not None:
                self._schemas[gvk] = found
            return found

    def invalidate(self, group: str) -> None:
        """Forgets a group's schemas: a CRD or an aggregated API of it changed."""
        prefix = f"apis/{group}/" if group else "api/"
        self._index = None
        for gvk in [gvk for gvk in self._schemas if gvk.group == group]:
            del self._schemas[gvk]
        for name in [name for name in self._documents if name.startswith(prefix)]:
            del self._documents[name]
        for name in [name for name in self._missing if name.startswith(prefix)]:
            del self._missing[name]

    async def _kinds(self, name: str) -> Mapping[GroupVersionKind, Schema]:
        held = self._documents.get(name)
        if held is not None:
            return held[1]
        now = self._clock.monotonic()
        if now - self._missing.get(name, float("-inf")) < LOOK_AGAIN:
            return {}
        path = await self._path(name)
        document = await self._read(path) if path else None
        if document is None:
            self._index = None
            self._missing[name] = now
            return {}
        kinds = openapi.kinds(document)
        self._documents[name] = (now, kinds)
        asyncio.get_running_loop().call_later(KEEP, self._drop_old)
        return kinds

    async def _path(self, name: str) -> str:
        if self._index is None:
            document = await self._read("/openapi/v3") or {}
            paths = document.get("paths", {})
            self._index = {key: str(entry.get("serverRelativeURL", "")) for key, entry in paths.items()}
        return self._index.get(name, "")

    async def _read(self, path: str) -> json.Object | None:
        try:
            return json.decode_object(await self._client.read(path))
        except NotFound:
            return None
        except InvalidJSON as error:
            raise APIError(0, "BadAnswer", "the server's OpenAPI document is malformed") from error

    def _drop_old(self) -> None:
        now = self._clock.monotonic()
        for name in [name for name, (since, _) in self._documents.items() if now - since >= KEEP]:
            del self._documents[name]
