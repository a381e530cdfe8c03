"""Requests on resources: paths, queries, headers and retries around a transport.

Bodies go in as JSON values or bytes and answers come out as bytes, undecoded: what is not
read is never parsed. Anything but success is raised as an APIError; a 409 goes back to the
caller at once, 429 and transient failures only after a short patience.

A client that writes as somebody else, or only tries, is another client over the same
transport (`impersonating`, `dry_run`), so that no call can forget the flag.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from types import TracebackType
from typing import Self, TypeAlias

from rulesengine import __version__
from rulesengine.client import paths
from rulesengine.client.errors import APIError, BadPath, error_from
from rulesengine.client.measured import Measured, Requests
from rulesengine.client.retry import Retries
from rulesengine.client.transport import Transport
from rulesengine.core import json
from rulesengine.core.json import Json
from rulesengine.core.kinds import ResourceType

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML; every server since 1.16 takes it
JSON = "application/json"

USER_AGENT = f"rulesengine/{__version__}"
REQUEST_TIMEOUT = 30.0  # webhooks may take 10 s each, and there may be two
IDLE_TIMEOUT = 150.0  # bookmarks come about every minute: two may be late

Announce: TypeAlias = Callable[[ResourceType, str, str], AbstractContextManager[object]]


class Client:
    """`timeout` is for one attempt, in seconds. Closing closes the transport."""

    def __init__(
        self,
        transport: Transport,
        *,
        retries: Retries | None = None,
        timeout: float = REQUEST_TIMEOUT,
        headers: Mapping[str, str] | None = None,
        dry_run: bool = False,
        announce: Announce | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transport = transport
        self._retries = retries or Retries()
        self._timeout = timeout
        self._extra = dict(headers or {})
        self._dry_run = dry_run
        self._announce = announce
        self._sleep = sleep
        self._read = {"Accept": JSON, "User-Agent": USER_AGENT, **self._extra}
        self._write = {
            kind: {**self._read, "Content-Type": kind}
            for kind in (JSON, MERGE_PATCH, JSON_PATCH, APPLY_PATCH)
        }

    @property
    def server(self) -> str:
        """The server's address, for people."""
        return self._transport.server

    def impersonating(self, user: str, groups: tuple[str, ...] = ()) -> Client:
        """A client over the same transport whose requests are made as `user`.

        At most one group: headers are a mapping, and a service account needs none, the
        server adds its groups itself.
        """
        extra = {"Impersonate-User": user}
        if len(groups) > 1:
            raise ValueError("at most one group can be impersonated")
        if groups:
            extra["Impersonate-Group"] = groups[0]
        return self._derived(headers={**self._extra, **extra}, dry_run=self._dry_run, announce=self._announce)

    def announcing(self, announce: Announce) -> Client:
        """A client over the same transport that says around each write of an object which it is.

        A cache takes that to recognise the watch's event of a write whose answer is still on
        its way (`Cache.writing`).
        """
        return self._derived(headers=self._extra, dry_run=self._dry_run, announce=announce)

    def measured(self, requests: Requests) -> Client:
        """A client over the same transport whose requests are counted in `requests`."""
        client = self._derived(headers=self._extra, dry_run=self._dry_run, announce=self._announce)
        client._transport = Measured(self._transport, requests)  # noqa: SLF001 - one of our own
        return client

    def _derived(self, *, headers: Mapping[str, str], dry_run: bool, announce: Announce | None) -> Client:
        return Client(
            self._transport,
            retries=self._retries,
            timeout=self._timeout,
            headers=headers,
            dry_run=dry_run,
            announce=announce,
            sleep=self._sleep,
        )

    def through(
        self, wrap: Callable[[Transport], Transport], sleep: Callable[[float], Awaitable[None]] | None = None
    ) -> Client:
        """A client over something around this one's transport, as a counter; `sleep` is its own waiting."""
        return Client(
            wrap(self._transport),
            retries=self._retries,
            timeout=self._timeout,
            headers=self._extra,
            dry_run=self._dry_run,
            announce=self._announce,
            sleep=sleep or self._sleep,
        )

    def only_trying(self) -> Client:
        """A client over the same transport whose writes are all `dryRun=All`."""
        return self._derived(headers=self._extra, dry_run=True, announce=None)

    # --- reads ---

    async def get(self, resource: ResourceType, namespace: str, name: str, *, subresource: str = "") -> bytes:
        path = paths.item(resource, namespace, name, subresource)
        return await self._send("GET", path, self._read, None, resource.plural, name)

    async def list(
        self,
        resource: ResourceType,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> bytes:
        """One page (all of them with `limit` 0) of a collection."""
        query = paths.query(
            {
                "labelSelector": label_selector,
                "fieldSelector": field_selector,
                "limit": str(limit) if limit else "",
                "continue": continue_token,
                "resourceVersion": resource_version,
            }
        )
        path = paths.collection(resource, namespace) + query
        return await self._send("GET", path, self._read, None, resource.plural)

    @asynccontextmanager
    async def watch(
        self,
        resource: ResourceType,
        namespace: str = "",
        *,
        parameters: Mapping[str, str],
        idle: float = IDLE_TIMEOUT,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of a watch, one event each. Raises when the server refuses to open it."""
        path = paths.collection(resource, namespace) + paths.query({"watch": "true", **parameters})
        async with self._transport.stream("GET", path, self._read, idle) as answer:
            if answer.status >= 300:
                body = b"\n".join([line async for line in answer.lines])
                raise error_from(
                    answer.status,
                    answer.headers,
                    body,
                    request=f"WATCH {_bare(path)}",
                    plural=resource.plural,
                )
            try:
                yield answer.lines
            finally:
                if isinstance(answer.lines, AsyncGenerator):
                    await answer.lines.aclose()  # now, and not when the collector finds it

    async def read(self, path: str, accept: str = JSON) -> bytes:
        """A document of the server that is no resource: discovery, schemas, version."""
        headers = self._read if accept == JSON else {**self._read, "Accept": accept}
        return await self._send("GET", path, headers, None)

    # --- writes ---

    async def create(
        self,
        resource: ResourceType,
        namespace: str,
        body: Json | bytes,
        *,
        field_manager: str = "",
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
    ) -> bytes:
        """Creates an object, or with `name` and `subresource` something below one (eviction, token)."""
        if subresource:
            path = paths.item(resource, namespace, name, subresource)
        elif resource.namespaced:
            path = paths.collection(resource, namespace or _missing(resource))
        else:
            path = paths.collection(resource, namespace)
        path += self._query(field_manager, dry_run=dry_run)
        return await self._send(
            "POST", path, self._write[JSON], _encoded(body), resource.plural, name, repeatable=False
        )

    async def apply(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Json | bytes,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> bytes:
        """Server-side apply."""
        path = paths.item(resource, namespace, name, subresource)
        path += self._query(field_manager, force=force, dry_run=dry_run)
        headers = self._write[APPLY_PATCH]
        with self._announced(resource, namespace, name):
            return await self._send("PATCH", path, headers, _encoded(body), resource.plural, name)

    async def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Json | bytes,
        *,
        field_manager: str = "",
        subresource: str = "",
        content_type: str = MERGE_PATCH,
        dry_run: bool = False,
    ) -> bytes:
        """A JSON merge patch, or with `content_type` JSON_PATCH an RFC 6902 one (not repeated)."""
        path = paths.item(resource, namespace, name, subresource)
        path += self._query(field_manager, dry_run=dry_run)
        headers, again = self._write[content_type], content_type == MERGE_PATCH
        sent, plural = _encoded(body), resource.plural
        with self._announced(resource, namespace, name):
            return await self._send("PATCH", path, headers, sent, plural, name, repeatable=again)

    async def replace(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Json | bytes,
        *,
        field_manager: str = "",
        subresource: str = "",
        dry_run: bool = False,
    ) -> bytes:
        path = paths.item(resource, namespace, name, subresource)
        path += self._query(field_manager, dry_run=dry_run)
        headers = self._write[JSON]
        with self._announced(resource, namespace, name):
            return await self._send("PUT", path, headers, _encoded(body), resource.plural, name)

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        dry_run: bool = False,
    ) -> bytes:
        """Deletes an object if it still is the one with this uid and resourceVersion."""
        options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if given := {key: value for key, value in preconditions.items() if value}:
            options["preconditions"] = given
        if propagation:
            options["propagationPolicy"] = propagation
        if dry_run or self._dry_run:
            options["dryRun"] = ["All"]
        path = paths.item(resource, namespace, name)
        headers = self._write[JSON]
        with self._announced(resource, namespace, name):
            return await self._send("DELETE", path, headers, json.encode(options), resource.plural, name)

    def _announced(self, resource: ResourceType, namespace: str, name: str) -> AbstractContextManager[object]:
        return self._announce(resource, namespace, name) if self._announce else _NOTHING

    def _query(self, manager: str, *, force: bool = False, dry_run: bool = False) -> str:
        return paths.write_query(manager, force=force, dry_run=dry_run or self._dry_run)

    # --- one request ---

    async def _send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        plural: str = "",
        name: str = "",
        *,
        repeatable: bool = True,
    ) -> bytes:
        attempt = 1
        while True:
            try:
                answer = await self._transport.request(method, path, headers, body, self._timeout)
                if answer.status < 300:
                    return answer.body
                request = f"{method} {_bare(path)}"
                raise error_from(
                    answer.status, answer.headers, answer.body, request=request, plural=plural, name=name
                )
            except APIError as error:
                wait = self._retries.delay(error, attempt, repeatable=repeatable)
                if wait is None:
                    raise
            await self._sleep(wait)
            attempt += 1

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


_NOTHING = nullcontext()


def dry_run(client: Client) -> Client:
    """The same client with every write only tried: validated and admitted, never stored."""
    return client.only_trying()


def _encoded(body: Json | bytes) -> bytes:
    return body if isinstance(body, bytes) else json.encode(body)


def _bare(path: str) -> str:
    return path.partition("?")[0]


def _missing(resource: ResourceType) -> str:
    raise BadPath(f"{resource.group_resource} are namespaced, but no namespace was given")
