"""Kinds that are only answered: access reviews and who one is.

There is no authorisation here yet: whoever reaches the server may do everything.
"""

from __future__ import annotations

from rulesengine.core.json import Object
from rulesengine.embedded.calls import Call
from rulesengine.embedded.errors import missing_feature
from rulesengine.embedded.kinds import Kind

ADMIN = "admin"
GROUPS = ("system:masters", "system:authenticated")


def answer_to(call: Call, kind: Kind, body: Object, now: str) -> Object:
    """The review with its status."""
    match kind.gvk.kind:
        case "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview":
            status: Object = {"allowed": True}
        case "SelfSubjectRulesReview":
            status = {
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": False,
            }
        case "SelfSubjectReview":
            user = call.headers.get("impersonate-user") or ADMIN
            groups = [g for g in (call.headers.get("impersonate-group"),) if g] or list(GROUPS)
            status = {"userInfo": {"username": user, "uid": user, "groups": groups}}
        case _:
            raise missing_feature(f"{kind.resource.plural} of {kind.gvk.api_version}")
    meta = dict(body.get("metadata") or {})
    if kind.gvk.kind == "SelfSubjectReview":
        meta["creationTimestamp"] = now
    return {
        "kind": kind.gvk.kind,
        "apiVersion": kind.gvk.api_version,
        "metadata": meta,
        **_spec(body),
        "status": status,
    }


def _spec(body: Object) -> Object:
    return {"spec": body["spec"]} if "spec" in body else {}
