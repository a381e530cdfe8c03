"""The table of server answers, fed with what a real API server (1.37) said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from rulesengine.apply.answers import Said, answer, conflicting, heard, is_stale, names_object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Failed, Held

KEY = ObjectKey("", "ConfigMap", "default", "x")
SECRET = "hunter2"  # stands for a value of an object in the server's message


@dataclass
class Refused:
    status: int
    reason: str = ""
    message: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    retry_after: float | None = None


def said(
    status: int, reason: str = "", message: str = "", *causes: tuple[str, str, str], **details: Any
) -> Said:
    listed = [{"reason": r, "field": f, "message": m} for r, f, m in causes]
    more = {"causes": listed} if listed else {}
    return heard(Refused(status, reason, message, {**details, **more}), KEY)


IMMUTABLE = ("FieldValueInvalid", "spec.selector", f'Invalid value: {{"a":"{SECRET}"}}: field is immutable')
ONCE = ("FieldValueInvalid", "spec.clusterIPs[0]", f'Invalid value: ["{SECRET}"]: may not change once set')
FORBIDDEN_FIELD = ("FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set")
REQUIRED = ("FieldValueRequired", "spec.template", "Required value")
UID = ("FieldValueInvalid", "metadata.uid", 'Invalid value: "0": field is immutable')
POLICY = (
    f"configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {SECRET}"
)
DYING = 'foos.ex.com "x" is forbidden: create not allowed while custom resource definition is terminating'
TYPED = "failed to create typed patch object (default/x; /v1, Kind=ConfigMap): "


@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        (
            said(403, "Forbidden", "", ("NamespaceTerminating", "metadata.namespace", "")),
            Held,
            Reason.NAMESPACE_TERMINATING,
        ),
        (
            said(404, "NotFound", 'namespaces "default" not found', kind="namespaces", name="default"),
            Held,
            Reason.NAMESPACE_MISSING,
        ),
        (
            said(404, "NotFound", "the server could not find the requested resource"),
            Held,
            Reason.UNKNOWN_KIND,
        ),
        (said(404, "", "404 page not found"), Held, Reason.UNKNOWN_KIND),
        (said(405, "MethodNotAllowed"), Held, Reason.UNKNOWN_KIND),
        (said(403, "Forbidden", DYING), Held, Reason.UNKNOWN_KIND),
        (
            said(409, "Conflict", "the object has been modified", name="x", kind="configmaps"),
            Held,
            Reason.STALE,
        ),
        (said(409, "AlreadyExists", "exists"), Held, Reason.STALE),
        (said(422, "Invalid", "", UID), Held, Reason.STALE),
        (said(422, "Invalid", POLICY, ("", "", POLICY)), Failed, Reason.REFUSED),
        (
            said(403, "Forbidden", f'admission webhook "w.ex.com" denied the request: {SECRET}'),
            Failed,
            Reason.REFUSED,
        ),
        (
            said(400, "BadRequest", f'admission webhook "w.ex.com" denied the request: {SECRET}'),
            Failed,
            Reason.REFUSED,
        ),
        (said(403, "Forbidden", "exceeded quota: q, requested: count/configmaps=1"), Failed, Reason.REFUSED),
        (
            said(403, "Forbidden", 'pods "p" is forbidden: violates PodSecurity "restricted:latest"'),
            Failed,
            Reason.REFUSED,
        ),
        (said(403, "Forbidden", 'User "alice" cannot patch resource'), Failed, Reason.FORBIDDEN),
        (said(401, "Unauthorized"), Held, Reason.UNAVAILABLE),
        (said(422, "Invalid", "", IMMUTABLE), Failed, Reason.IMMUTABLE_FIELD),
        (said(422, "Invalid", "", ONCE, FORBIDDEN_FIELD), Failed, Reason.IMMUTABLE_FIELD),
        (said(422, "Invalid", "", IMMUTABLE, REQUIRED), Failed, Reason.INVALID),
        (said(400, "BadRequest", "error decoding patch"), Failed, Reason.INVALID),
        (said(413, "RequestEntityTooLarge"), Failed, Reason.INVALID),
        (said(415, "UnsupportedMediaType"), Failed, Reason.INVALID),
        (
            said(500, "", TYPED + '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]'),
            Failed,
            Reason.INVALID,
        ),
        (
            said(
                500, "", TYPED + f".data.a: expected string, got &value.valueUnstructured{{Value:{SECRET}}}"
            ),
            Failed,
            Reason.INVALID,
        ),
        (
            said(
                500,
                "InternalError",
                'Internal error occurred: failed calling webhook "w.ex.com": failed to call webhook',
            ),
            Held,
            Reason.UNAVAILABLE,
        ),
        (said(500, "InternalError", "etcd is on holiday"), Held, Reason.UNAVAILABLE),
        (said(429, "TooManyRequests"), Held, Reason.UNAVAILABLE),
        (said(503, "ServiceUnavailable"), Held, Reason.UNAVAILABLE),
        (said(0, "Unreachable", "refused"), Held, Reason.UNAVAILABLE),
        (said(0, "BadPath", "no"), Failed, Reason.INVALID),
    ],
)
def test_each_answer_has_its_outcome(given: Said, kind: type, reason: Reason) -> None:
    """What the server says decides between waiting and failing, and never quotes its message."""
    outcome = answer(given).outcome
    assert type(outcome) is kind
    assert outcome.reason is reason
    assert SECRET not in repr(outcome)


def test_a_conflict_names_the_managers_and_fields() -> None:
    """Both come from the causes: quoted names are read to their end."""
    given = said(
        409,
        "Conflict",
        "Apply failed with 2 conflicts",
        ("FieldManagerConflict", ".immutable", 'conflict with "unknown" using v1'),
        (
            "FieldManagerConflict",
            '.spec.c[name="a"].image',
            'conflict with "kubectl-edit" with subresource "x" using v1',
        ),
    )
    assert conflicting(given) == ("unknown", "kubectl-edit")
    outcome = answer(given).outcome
    assert isinstance(outcome, Failed)
    assert outcome.reason is Reason.CONFLICT
    assert outcome.manager == "unknown"
    assert outcome.field == ".immutable"
    assert outcome.message == "owned by unknown, kubectl-edit: .immutable, .spec.c[*].image"


def test_the_field_of_a_typed_error_is_found_in_its_message() -> None:
    """Such errors have no causes; the path is all that is taken from the message."""
    outcome = answer(said(500, "", TYPED + ".spec.ports: duplicate entries for key [port=80]")).outcome
    assert isinstance(outcome, Failed)
    assert outcome.field == ".spec.ports"


def test_only_a_404_that_names_the_object_means_absent() -> None:
    """A missing namespace or kind says 404 too, and so may any proxy."""
    assert names_object(said(404, "NotFound", "", name="x", kind="configmaps"))
    assert not names_object(said(404, "NotFound", "", name="x", kind="namespaces"))
    assert not names_object(said(404, "NotFound", ""))
    assert not names_object(said(404, "", "", name="x"))
    assert not names_object(said(403, "NotFound", "", name="x"))


def test_a_word_inside_a_value_does_not_make_a_field_immutable() -> None:
    """Only the server's own words after the value count."""
    cause = ("FieldValueInvalid", "spec.imm", 'Invalid value: "immutable": must be a number')
    assert answer(said(422, "Invalid", "", cause)).outcome.reason is Reason.INVALID


def test_a_moved_object_is_looked_at_again_soon() -> None:
    """At once when the cache knows of it; if it does not, ever more seldom."""
    given = said(409, "Conflict", "uid mismatch")
    assert is_stale(given)
    assert answer(given).patience.first < 1


def test_many_fields_are_counted() -> None:
    """A message stays readable when forty fields are wrong."""
    causes = [("FieldValueRequired", f"spec.f{i}", "Required value") for i in range(5)]
    outcome = answer(said(422, "Invalid", "", *causes)).outcome
    assert isinstance(outcome, Failed)
    assert outcome.message.endswith(": spec.f0, spec.f1, spec.f2 and 2 more")


def test_the_servers_own_patience_is_kept() -> None:
    """Retry-After of a 429 is the first delay."""
    given = heard(Refused(429, "TooManyRequests", retry_after=42.0), KEY)
    patience = answer(given).patience
    assert patience.first == 42.0


def test_causes_that_are_no_causes_count_as_not_said() -> None:
    """Anything may answer in the server's place."""
    given = heard(Refused(422, "Invalid", "", {"causes": ["x", None, {"field": 1}]}), KEY)
    assert answer(given).outcome.reason is Reason.INVALID
