"""What the server refuses becomes one typed error that shows no values."""

from __future__ import annotations

import json

import pytest

from rulesengine.client import (
    AlreadyExists,
    APIError,
    BadRequest,
    Client,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    error_from,
    error_of_event,
)
from tests.unit.client.scripted import CONFIG_MAPS, NAMESPACES, Scripted, refused


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", BadRequest),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", MethodNotAllowed),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Expired),
        (410, "Gone", Expired),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServerError),
        (504, "Timeout", ServerError),
        (418, "", APIError),
    ],
)
def test_status_and_reason_decide_the_kind(status: int, reason: str, kind: type[APIError]) -> None:
    """Each answer has exactly one error class."""
    answer = refused(status, reason)
    error = error_from(answer.status, answer.headers, answer.body)
    assert type(error) is kind
    assert (error.status, error.reason) == (status, reason)


def test_what_is_shown_holds_no_values() -> None:
    """The server's sentence quotes values; str() has request, status, reason and fields only."""
    answer = refused(
        422,
        "Invalid",
        'Secret "a" is invalid: data[k]: Invalid value: "hunter2"',
        causes=[
            {"reason": "FieldValueInvalid", "message": 'Invalid value: "hunter2"', "field": "data[hunter2]"},
            {"reason": "FieldValueInvalid", "message": "x", "field": "spec.ports[0].port"},
        ],
    )
    error = error_from(answer.status, answer.headers, answer.body, request="PATCH /api/v1/secrets/a")
    assert str(error) == "PATCH /api/v1/secrets/a: 422 Invalid (data[*], spec.ports[0].port)"
    assert "hunter2" in error.message
    assert "hunter2" not in repr(error)


def test_many_fields_are_counted() -> None:
    """At most three are shown."""
    causes = [{"field": f"spec.f{n}"} for n in range(5)]
    answer = refused(422, "Invalid", causes=causes)
    assert str(error_from(422, {}, answer.body)).endswith("(spec.f0, spec.f1, spec.f2 and 2 more)")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Bad gateway</html>", b"\xff\xfe", b"[]", b'{"a":1}', b'{"kind":"Status","details":7}'],
)
def test_any_body_makes_an_error(body: bytes) -> None:
    """A proxy's page or half an answer is no reason for a traceback."""
    error = error_from(502, {}, body)
    assert type(error) is ServerError
    assert error.reason == ""


async def test_only_a_404_that_names_the_object_means_absent() -> None:
    """A missing namespace, a kind that is not served and a stray proxy say 404 too."""

    async def names(answer: object, resource: object = CONFIG_MAPS, namespace: str = "ns") -> bool:
        with pytest.raises(NotFound) as caught:
            await Client(Scripted([answer])).get(resource, namespace, "a")  # type: ignore[arg-type,list-item]
        return caught.value.names_object

    assert await names(refused(404, "NotFound", name="a", kind="configmaps"))
    assert await names(refused(404, "NotFound", name="a", kind="namespaces"), NAMESPACES, "")
    assert not await names(refused(404, "NotFound", name="a", kind="namespaces"))
    assert not await names(refused(404, "NotFound", name="b", kind="configmaps"))
    assert not await names(refused(404, "NotFound"))
    assert not await names(refused(404, "", "404 page not found"))


def test_an_error_event_of_a_watch_is_the_same_error() -> None:
    """Code 410 inside a stream is Expired, garbage a server error."""
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    assert type(error_of_event(json.dumps(status).encode())) is Expired
    assert type(error_of_event(b"7")) is ServerError


def test_a_conflicts_details_stay_whole() -> None:
    """Who forces needs to know the managers, so causes come through as they are."""
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "x"', "field": ".data.a"}
    answer = refused(409, "Conflict", causes=[cause])
    error = error_from(409, {}, answer.body)
    assert error.details["causes"] == [cause]
    assert error.fields == (".data.a",)
