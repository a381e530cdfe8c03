"""Refusals as the API server words them: a `Status` object with reason, code and causes.

Every handler raises `Refused`; one place turns it into an answer. The texts are those of the
real server, because kubectl prints them and clients match on reason and causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupKind, ResourceType


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that is wrong. `reason` is a word such as FieldValueRequired."""

    reason: str
    field: str
    message: str

    def text(self) -> str:
        return f"{self.field}: {self.message}"


class Refused(RulesEngineError):
    """A request that is answered with a Status object, or (`plain`) with a bare text."""

    def __init__(
        self, code: int, reason: str, message: str, details: Object | None = None, *, plain: bool = False
    ) -> None:
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.plain = plain
        super().__init__(message)

    def status(self) -> Object:
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def about(resource: ResourceType, name: str) -> Object:
    """The `details` of a refusal about one object."""
    details: Object = {"name": name} if name else {}
    if resource.gvk.group:
        details["group"] = resource.gvk.group
    details["kind"] = resource.plural
    return details


def not_found(resource: ResourceType, name: str) -> Refused:
    message = f'{resource.group_resource} "{name}" not found'
    return Refused(404, "NotFound", message, about(resource, name))


def no_such_path() -> Refused:
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


def page_not_found() -> Refused:
    """A path of no group at all: a real server's outermost router answers, with no Status."""
    return Refused(404, "", "404 page not found\n", plain=True)


def already_exists(resource: ResourceType, name: str) -> Refused:
    message = f'{resource.group_resource} "{name}" already exists'
    return Refused(409, "AlreadyExists", message, about(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: ResourceType, name: str, why: str = MODIFIED) -> Refused:
    message = f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {why}'
    return Refused(409, "Conflict", message, about(resource, name))


def field_conflict(message: str, conflicts: Sequence[tuple[str, str]]) -> Refused:
    """An apply that met other managers: (who, path) of each field."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, path in conflicts
    ]
    return Refused(409, "Conflict", message, {"causes": causes})


def invalid(kind: GroupKind, name: str, causes: Sequence[Cause]) -> Refused:
    texts = [cause.text() for cause in causes]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: Object = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.kind
    details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    return Refused(422, "Invalid", f'{kind} "{name}" is invalid: {listed}', details)


def bad_request(message: str) -> Refused:
    return Refused(400, "BadRequest", message)


def forbidden(resource: ResourceType, name: str, why: str, causes: Sequence[dict[str, Any]] = ()) -> Refused:
    details = about(resource, name)
    if causes:
        details["causes"] = list(causes)
    return Refused(403, "Forbidden", f'{resource.group_resource} "{name}" is forbidden: {why}', details)


def method_not_allowed(resource: ResourceType, action: str) -> Refused:
    message = f'{action} is not supported on resources of kind "{resource.group_resource}"'
    return Refused(405, "MethodNotAllowed", message, about(resource, ""))


def unsupported_verb() -> Refused:
    message = "the server does not allow this method on the requested resource"
    return Refused(405, "MethodNotAllowed", message, {})


def expired(message: str) -> Refused:
    return Refused(410, "Expired", message)


def media_type(accepted: Sequence[str]) -> Refused:
    listed = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    return Refused(415, "UnsupportedMediaType", message, {})


def internal() -> Refused:
    message = "Internal error occurred: the embedded API server failed; its log has the details"
    return Refused(500, "InternalError", message)


def missing_feature(what: str) -> Refused:
    """Something a real server can do and this one cannot (yet)."""
    return Refused(501, "NotImplemented", f"the embedded API server does not have {what}", {})


# --- causes, with the texts of k8s.io/apimachinery/pkg/util/validation/field ---


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def bad_value(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def bad_type(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def unsupported(field: str, value: Any, allowed: Sequence[Any]) -> Cause:
    values = ", ".join(shown(v) for v in allowed)
    message = f"Unsupported value: {shown(value)}: supported values: {values}"
    return Cause("FieldValueNotSupported", field, message)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def not_allowed(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", field, f"Forbidden: {detail}")


def shown(value: Any) -> str:
    """A value as Go's field errors print it."""
    return json.encode(value).decode()
