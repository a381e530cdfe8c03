"""What the server says to a write, and what the engine does about it. One table, pure.

Rows are tried in order and the first that recognises the answer decides. Messages of the
server quote values of objects, so they are looked at here to recognise an answer and go no
further: an outcome says reason and field only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rulesengine.core.keys import ObjectKey
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Failed, Held

SHOWN_FIELDS = 3  # more would make a message nobody reads; the count of the others is told


class Refusal(Protocol):
    """An error of the client: what a Kubernetes Status says, `status` 0 when nobody answered."""

    @property
    def status(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def details(self) -> Mapping[str, Any]: ...
    @property
    def retry_after(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Patience:
    """When to ask again while neither the object nor what is wanted changes.

    Seconds: the first time, doubling with every repetition up to the last. `believed`: until
    then the refusal is the answer to every pass; else a pass that something woke asks at once.
    """

    first: float
    last: float
    believed: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome, without the delay that the memory makes of the patience."""

    outcome: Held | Failed
    patience: Patience


@dataclass(frozen=True, slots=True)
class Cause:
    reason: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Said:
    """One refusal, taken apart. `key` is the object that was to be written."""

    status: int
    reason: str
    message: str
    details: Mapping[str, Any]
    causes: tuple[Cause, ...]
    key: ObjectKey
    retry_after: float | None = None  # what the server asked for, seconds

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields it is about, each once, without values of list keys."""
        found = [_bare(cause.field) for cause in self.causes if cause.field]
        if not found and (typed := _TYPED.search(self.message)):
            found = [_bare(typed["field"])]
        return tuple(dict.fromkeys(found))

    @property
    def where(self) -> str:
        """The fields for people: ": spec.a, spec.b and 2 more", or ""."""
        shown = self.fields[:SHOWN_FIELDS]
        if not shown:
            return ""
        more = len(self.fields) - len(shown)
        return f": {', '.join(shown)}" + (f" and {more} more" if more else "")


STALE = Patience(0.2, 30.0)  # it moved under our hands; the cache is about to know, and then it goes on
OVERLOADED = Patience(0.5, 15.0)
MISSING = Patience(1.0, 300.0, believed=False)  # a namespace or kind (yet); its coming wakes who waits
WRONG = Patience(5.0, 300.0)  # invalid as things stand; a quota, policy or schema may change
RIGHTS = Patience(5.0, 300.0)  # rights are often granted moments after a rule is applied
OWNED = Patience(300.0, 3600.0)  # in conflict: only a change of either side helps, this is a safety net

_MANAGER = re.compile(r'^conflict with "((?:[^"\\]|\\.)*)"')
_TYPED = re.compile(r"^failed to create typed (?:patch|live) object \([^)]*\): (?P<field>\.[^:\s]*): ")
_LIST_KEY = re.compile(r"\[(?!\d+\])[^\]]*\]")
_HOOK_DENIED = re.compile(r'^admission webhook "([^"]+)" denied the request')
_HOOK_FAILED = re.compile(r'failed calling webhook "([^"]+)"')
_POLICY_DENIED = re.compile(r"ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request")
_QUOTA = re.compile(r"exceeded quota: ([^,]+),")
_FIXED = re.compile(r"immutable|may not change|may not be changed|cannot be changed|may not be updated")


def heard(refusal: Refusal, key: ObjectKey) -> Said:
    """Takes a refusal apart; anything unexpected in it counts as not said."""
    details = refusal.details
    causes = details.get("causes") or ()
    return Said(
        status=refusal.status,
        reason=refusal.reason,
        message=refusal.message,
        details=details,
        causes=tuple(
            Cause(str(c.get("reason", "")), str(c.get("field", "")), str(c.get("message", "")))
            for c in causes
            if isinstance(c, Mapping)
        ),
        key=key,
        retry_after=refusal.retry_after,
    )


def answer(said: Said) -> Answer:
    """What the engine does. Conflicts of managers come out as failed; force is decided before."""
    return next(row.does(said) for row in TABLE if row.recognises(said))


def moved(key: ObjectKey) -> Answer:
    """The object is not as we believed it to be."""
    return _held(Reason.STALE, f"a fresh look at {key}", STALE)


def conflicting(said: Said) -> tuple[str, ...]:
    """The field managers a server-side apply is in conflict with; () when it is not that."""
    if said.status != 409:
        return ()
    found = [
        match[1]
        for cause in said.causes
        if cause.reason == "FieldManagerConflict" and (match := _MANAGER.match(cause.message))
    ]
    return tuple(dict.fromkeys(found))


def names_object(said: Said) -> bool:
    """Whether a 404 speaks of the object itself: only that means absent."""
    if said.status != 404 or said.reason != "NotFound" or said.details.get("name") != said.key.name:
        return False
    return not in_missing_namespace(said)


def in_missing_namespace(said: Said) -> bool:
    """Whether the namespace of the object is not there."""
    return said.status == 404 and said.details.get("kind") == "namespaces" and said.key.kind != "Namespace"


def is_stale(said: Said) -> bool:
    """Whether the object is not the one we meant, or is there where we thought it absent."""
    if any(cause.field == "metadata.uid" for cause in said.causes):
        return True
    return said.status == 409 and not conflicting(said)


# --- recognising ---


def _bare(field: str) -> str:
    return _LIST_KEY.sub("[*]", field)


def _has_cause(said: Said, reason: str) -> bool:
    return any(cause.reason == reason for cause in said.causes)


def _immutable(said: Said) -> bool:
    return said.status == 422 and bool(said.causes) and all(_is_fixed(cause) for cause in said.causes)


def _is_fixed(cause: Cause) -> bool:
    if cause.reason == "FieldValueForbidden":
        return True
    # the value comes first and may itself hold such a word: only what follows it counts
    return cause.reason == "FieldValueInvalid" and bool(_FIXED.search(cause.message.rpartition(": ")[2]))


def _refused_by(said: Said) -> str:
    for pattern, who in ((_HOOK_DENIED, "admission webhook"), (_POLICY_DENIED, "policy")):
        if match := pattern.search(said.message):
            return f"{who} {match[1]}"
    return ""


# --- answering ---


def _held(reason: Reason, on: str, patience: Patience) -> Answer:
    return Answer(Held(reason, on), patience)


def _failed(
    said: Said,
    reason: Reason,
    message: str,
    patience: Patience,
    manager: str = "",
) -> Answer:
    field = said.fields[0] if said.fields else ""
    return Answer(Failed(reason, message, field=field, manager=manager), patience)


def _conflict(said: Said) -> Answer:
    managers = conflicting(said)
    message = f"owned by {', '.join(managers)}{said.where}"
    return _failed(said, Reason.CONFLICT, message, OWNED, manager=managers[0])


def _terminating(said: Said) -> Answer:
    return _held(Reason.NAMESPACE_TERMINATING, f"the deletion of namespace {said.key.namespace}", MISSING)


def _namespace(said: Said) -> Answer:
    return _held(Reason.NAMESPACE_MISSING, f"namespace {said.key.namespace}", MISSING)


def _kind(said: Said) -> Answer:
    return _held(Reason.UNKNOWN_KIND, f"kind {said.key.group_kind}", MISSING)


def _moved(said: Said) -> Answer:
    return moved(said.key)


def _refused(said: Said) -> Answer:
    message = f"refused by {_refused_by(said)}{said.where}"
    return _failed(said, Reason.REFUSED, message, WRONG)


def _quota(said: Said) -> Answer:
    match = _QUOTA.search(said.message)
    name = match[1] if match else ""
    return _failed(said, Reason.REFUSED, f"over the quota {name}", WRONG)


def _forbidden(said: Said) -> Answer:
    message = f"the engine may not write {said.key.group_kind} here{said.where}"
    return _failed(said, Reason.FORBIDDEN, message, RIGHTS)


def _pod_security(said: Said) -> Answer:
    return _failed(said, Reason.REFUSED, "refused by the namespace's pod security level", WRONG)


def _fixed(said: Said) -> Answer:
    return _failed(said, Reason.IMMUTABLE_FIELD, f"cannot be changed{said.where}", WRONG)


def _invalid(said: Said) -> Answer:
    kinds = ", ".join(dict.fromkeys(cause.reason for cause in said.causes if cause.reason))
    word = kinds or said.reason or "no reason given"
    return _failed(said, Reason.INVALID, f"the server answered {said.status} ({word}){said.where}", WRONG)


def _bad_name(said: Said) -> Answer:
    return _failed(said, Reason.INVALID, "the name or namespace is not one the server can have", WRONG)


def _duplicate(said: Said) -> Answer:
    return _failed(said, Reason.INVALID, f"two list items have the same key{said.where}", WRONG)


def _typed(said: Said) -> Answer:
    message = f"a field has the wrong type or is not in the schema{said.where}"
    return _failed(said, Reason.INVALID, message, WRONG)


def _hook_down(said: Said) -> Answer:
    match = _HOOK_FAILED.search(said.message)
    return _held(Reason.UNAVAILABLE, f"admission webhook {match[1] if match else ''}", OVERLOADED)


def _credentials(_said: Said) -> Answer:
    return _held(Reason.UNAVAILABLE, "valid credentials of the engine", OVERLOADED)


def _unavailable(said: Said) -> Answer:
    what = f"answered {said.status}" if said.status else "did not answer"
    patience = OVERLOADED
    if said.retry_after is not None:
        patience = Patience(said.retry_after, max(said.retry_after, OVERLOADED.last))
    return _held(Reason.UNAVAILABLE, f"the API server, which {what}", patience)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table; `says` and `then` are its two columns in the docs."""

    says: str
    recognises: Callable[[Said], bool]
    then: str
    does: Callable[[Said], Answer]


TABLE: Sequence[Row] = (
    Row(
        "403 with cause NamespaceTerminating",
        lambda s: s.status == 403 and _has_cause(s, "NamespaceTerminating"),
        "wait for the namespace's deletion",
        _terminating,
    ),
    Row(
        "403, custom resource definition is terminating",
        lambda s: s.status == 403 and s.message.endswith("custom resource definition is terminating"),
        "wait for the kind",
        _kind,
    ),
    Row("404 of the namespace", in_missing_namespace, "wait for the namespace", _namespace),
    Row(
        "404 of anything else, 405 (a kind that is not served, or not so)",
        lambda s: s.status in (404, 405),
        "wait for the kind",
        _kind,
    ),
    Row(
        "409 of field managers",
        lambda s: bool(conflicting(s)),
        "Conflict, until the object or what is wanted changes",
        _conflict,
    ),
    Row("409 otherwise, 422 of metadata.uid", is_stale, "look at the object again", _moved),
    Row(
        "an admission webhook or policy denies",
        lambda s: bool(_refused_by(s)) and 400 <= s.status < 500,
        "Refused, again with capped backoff",
        _refused,
    ),
    Row(
        "403, exceeded quota",
        lambda s: s.status == 403 and bool(_QUOTA.search(s.message)),
        "Refused, again with capped backoff",
        _quota,
    ),
    Row(
        "403, violates PodSecurity",
        lambda s: s.status == 403 and "violates PodSecurity" in s.message,
        "Refused, again with capped backoff",
        _pod_security,
    ),
    Row("403", lambda s: s.status == 403, "Forbidden, again after 5 s, later every 5 minutes", _forbidden),
    Row("401", lambda s: s.status == 401, "wait for valid credentials", _credentials),
    Row(
        "422 whose causes are all immutable or Forbidden fields",
        _immutable,
        "ImmutableField",
        _fixed,
    ),
    Row(
        "nothing: the name or namespace cannot be part of an address",
        lambda s: s.reason == "BadPath",
        "Failed, again when an input changes",
        _bad_name,
    ),
    Row(
        "429, 504 and no answer",
        lambda s: s.status in (0, 408, 429, 504),
        "client backoff; not a failure",
        _unavailable,
    ),
    Row(
        "500, duplicate entries for a list key",
        lambda s: s.status == 500 and "duplicate entries for key" in s.message,
        "Failed, again with capped backoff",
        _duplicate,
    ),
    Row(
        "500, failed to create typed object (wrong type, unknown field)",
        lambda s: s.status == 500 and s.message.startswith("failed to create typed"),
        "Failed, again with capped backoff",
        _typed,
    ),
    Row(
        "500, failed calling webhook",
        lambda s: s.status == 500 and bool(_HOOK_FAILED.search(s.message)),
        "wait for the webhook",
        _hook_down,
    ),
    Row("5xx", lambda s: s.status >= 500, "client backoff; not a failure", _unavailable),
    Row("any other", lambda _: True, "Failed, again with capped backoff", _invalid),
)
