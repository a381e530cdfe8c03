"""What the API server refuses, as a tree of errors.

`str()` of any of them is safe to show: method, address, status, reason, and the fields of its
causes. `message` is the server's own sentence, which may quote values of objects: it is for
recognising an answer and never for logs, status or events. `details` is the Status's
`details` as it came; of its causes, `reason` and `field` are safe, `message` is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON, RulesEngineError

FIELDS_SHOWN = 3
_LIST_KEY = re.compile(r"\[(?!\d+\])[^\]]*\]")


class APIError(RulesEngineError):
    """Base of everything a request can fail with. `status` is 0 when there was no answer."""

    def __init__(
        self,
        status: int = 0,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
        *,
        request: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        self.details: Mapping[str, Any] = details or {}
        self.request = request
        self.retry_after = retry_after
        super().__init__(status, reason)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the causes name, each once, without the values in list keys."""
        causes = self.details.get("causes")
        if not isinstance(causes, list):
            return ()
        found = [_LIST_KEY.sub("[*]", str(c.get("field") or "")) for c in causes if isinstance(c, dict)]
        return tuple(dict.fromkeys(field for field in found if field))

    def __str__(self) -> str:
        said = f"{self.status} {self.reason}".strip() if self.status else self.reason
        shown = ", ".join(self.fields[:FIELDS_SHOWN])
        more = len(self.fields) - FIELDS_SHOWN
        about = f" ({shown}{f' and {more} more' if more > 0 else ''})" if shown else ""
        return f"{self.request}: {said}{about}" if self.request else f"{said}{about}"


class BadRequest(APIError):
    """400: the request or object is malformed, or has unknown fields (strict validation)."""


class Unauthorized(APIError):
    """401: the server does not know who asks."""


class Forbidden(APIError):
    """403: not allowed, or refused by admission, a quota or a namespace that goes."""


class NotFound(APIError):
    """404. Only with `names_object` does it mean that the object asked for is absent.

    A missing namespace, a kind that is not served, and a proxy that has lost its way say 404 too.
    """

    names_object: bool = False


class MethodNotAllowed(APIError):
    """405: the kind does not have that verb; also said by a CRD that is going."""


class Conflict(APIError):
    """409: the object moved (resourceVersion, uid), or fields belong to other managers."""


class AlreadyExists(Conflict):
    """409 to a creation."""


class Expired(APIError):
    """410: the resourceVersion is too old for a watch or a continued list."""


class Invalid(APIError):
    """422: the object breaks its schema or validation."""


class TooManyRequests(APIError):
    """429, after the client's own patience; `retry_after` is what the server asked for."""


class ServerError(APIError):
    """5xx."""


class Unreachable(APIError):
    """No answer: refused, cut, or no name. `sent`: the server may have carried it out."""

    def __init__(self, message: str, *, sent: bool = True, request: str = "") -> None:
        super().__init__(0, "Unreachable", message, request=request)
        self.sent = sent

    def __str__(self) -> str:
        return self.message


class TimedOut(Unreachable):
    """No answer in time."""


class NotLeading(Unreachable):
    """Nothing was sent, since this engine does not hold the lease, or not for long enough."""


class BadPath(BadRequest):
    """A namespace or name that would address something else; nothing was sent.

    Looks like the server's 400, because it is no less final: another try changes nothing.
    """

    def __init__(self, message: str, field: str = "") -> None:
        causes = [{"reason": "FieldValueInvalid", "field": field}] if field else []
        super().__init__(400, "BadRequest", message, {"causes": causes})

    def __str__(self) -> str:
        return self.message


_BY_REASON: dict[str, type[APIError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Expired,
    "Gone": Expired,
}
_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


class _Status(msgspec.Struct):
    kind: str = ""
    reason: str | None = None
    message: str | None = None
    code: int | None = None
    details: dict[str, Any] | None = None


_status_decoder = msgspec.json.Decoder(_Status)


def error_from(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    request: str = "",
    plural: str = "",
    name: str = "",
) -> APIError:
    """The error an answer stands for; `plural` and `name` are what the request was about.

    Anything may have answered (a proxy's HTML page too), so nothing is taken for granted.
    """
    try:
        said = _status_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        said = _Status()
    if said.kind != "Status":
        said = _Status(message=body[:1000].decode("utf-8", "replace"))
    return _build(status, said, retry_after(headers), request, plural, name)


def error_of_event(raw: bytes) -> APIError:
    """The error in a watch event of type ERROR, whose object is a Status."""
    try:
        said = msgspec.convert(json.decode(raw), _Status)
    except (InvalidJSON, msgspec.ValidationError):
        said = _Status()
    return _build(said.code or 500, said, None, "watch", "", "")


def _build(status: int, said: _Status, wait: float | None, request: str, plural: str, name: str) -> APIError:
    reason, details = said.reason or "", said.details or {}
    kind = _BY_REASON.get(reason) or _BY_STATUS.get(status) or (ServerError if status >= 500 else APIError)
    if wait is None and isinstance(seconds := details.get("retryAfterSeconds"), int):
        wait = float(seconds)
    error = kind(status, reason, said.message or "", details, request=request, retry_after=wait)
    if isinstance(error, NotFound) and name and reason == "NotFound":
        about = details.get("kind")
        error.names_object = details.get("name") == name and (about != "namespaces" or plural == "namespaces")
    return error


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The header's seconds; its date form is not used by API servers and counts as absent."""
    text = headers.get("retry-after") or headers.get("Retry-After") or ""
    return float(text) if text.isdecimal() else None
