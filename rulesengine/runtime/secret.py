"""The owner key: 32 random bytes in a Secret, with which every claim is stamped and proven.

Made once, by whichever engine comes first, and never again: with another key the engine could
not prove what it made. So a key that is missing while rules have written is an error, not an
occasion. The key is never logged and stands in no message.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Awaitable, Callable

from rulesengine.client import AlreadyExists, Client, Forbidden, NotFound
from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.reconcile.context import OWNER_KEY
from rulesengine.runtime.rule_object import MANAGER

NAME = OWNER_KEY
FIELD = "key"
SIZE = 32
SECRETS = ResourceType(GroupVersionKind("", "v1", "Secret"), "secrets", namespaced=True)
NAMESPACES = ResourceType(GroupVersionKind("", "v1", "Namespace"), "namespaces", namespaced=False)


class NoOwnerKey(RulesEngineError):
    """The engine cannot prove or stamp anything, and so must not run. Says what to do."""


async def owner_key(client: Client, namespace: str, has_written: Callable[[], Awaitable[bool]]) -> bytes:
    """The key, made if there is none and no rule `has_written` yet. Raises NoOwnerKey, APIError."""
    found = await read_key(client, namespace)
    if found is not None:
        return found
    if await has_written():
        raise NoOwnerKey(
            f"Secret {namespace}/{NAME} is missing, but rules have made objects with the key in it: without "
            "it nothing of that can be told from what others made. Restore the Secret from a backup; or, to "
            "start anew and leave what was made to yourself, remove status.writtenKinds of every rule"
        )
    return await _make(client, namespace)


async def read_key(client: Client, namespace: str) -> bytes | None:
    """The key that is there; None when there is none."""
    try:
        raw = await client.get(SECRETS, namespace, NAME)
    except NotFound:
        return None
    except Forbidden as error:
        raise NoOwnerKey(f"the engine may not read Secret {namespace}/{NAME}, where its key is") from error
    text = (json.decode_object(raw).get("data") or {}).get(FIELD, "")
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        key = b""
    if len(key) != SIZE:
        raise NoOwnerKey(
            f"Secret {namespace}/{NAME} is damaged: data.{FIELD} must be {SIZE} bytes. "
            "Restore it from a backup"
        )
    return key


async def _make(client: Client, namespace: str) -> bytes:
    key = secrets.token_bytes(SIZE)
    body: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": NAME, "namespace": namespace},
        "type": "Opaque",
        "immutable": True,
        "data": {FIELD: base64.b64encode(key).decode()},
    }
    try:
        try:
            await client.create(SECRETS, namespace, body, field_manager=MANAGER)
        except NotFound:
            await _make_namespace(client, namespace)
            await client.create(SECRETS, namespace, body, field_manager=MANAGER)
    except AlreadyExists as error:
        found = await read_key(client, namespace)  # another engine was quicker: its key it is
        if found is None:
            raise NoOwnerKey(
                f"Secret {namespace}/{NAME} comes and goes; is something deleting it?"
            ) from error
        return found
    except Forbidden as error:
        raise NoOwnerKey(
            f"the engine may not create Secret {namespace}/{NAME} or its namespace; make them, or allow it"
        ) from error
    return key


async def _make_namespace(client: Client, namespace: str) -> None:
    body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    try:
        await client.create(NAMESPACES, "", body, field_manager=MANAGER)
    except AlreadyExists:
        return
