"""The API server as the engine speaks to it: bytes in, bytes out, typed errors."""

from rulesengine.client.client import (
    APPLY_PATCH,
    IDLE_TIMEOUT,
    JSON_PATCH,
    MERGE_PATCH,
    Client,
    dry_run,
)
from rulesengine.client.connect import connect
from rulesengine.client.discovery import Discovery
from rulesengine.client.errors import (
    AlreadyExists,
    APIError,
    BadPath,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
    NotLeading,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    error_from,
    error_of_event,
)
from rulesengine.client.measured import Requests
from rulesengine.client.openapi import OpenAPI
from rulesengine.client.retry import Retries
from rulesengine.client.transport import Response, Streaming, Transport, split_lines

__all__ = [
    "APPLY_PATCH",
    "IDLE_TIMEOUT",
    "JSON_PATCH",
    "MERGE_PATCH",
    "APIError",
    "AlreadyExists",
    "BadPath",
    "BadRequest",
    "Client",
    "Conflict",
    "Discovery",
    "Expired",
    "Forbidden",
    "Invalid",
    "MethodNotAllowed",
    "NotFound",
    "NotLeading",
    "OpenAPI",
    "Requests",
    "Response",
    "Retries",
    "ServerError",
    "Streaming",
    "TimedOut",
    "TooManyRequests",
    "Transport",
    "Unauthorized",
    "Unreachable",
    "connect",
    "dry_run",
    "error_from",
    "error_of_event",
    "split_lines",
]
