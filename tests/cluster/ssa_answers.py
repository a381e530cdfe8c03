"""What counts as the same answer: times, defaults and the server's own spelling set aside."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from rulesengine import ssa
from rulesengine.ssa.managers import stamp, without_managers

Value = Any
# What the server fills in by itself in built-in kinds; nothing else may be in its answer only.
DEFAULTED = frozenset(
    (
        *("protocol", "clusterIP", "clusterIPs", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy"),
        *(
            "sessionAffinity",
            "sessionAffinityConfig",
            "clientIP",
            "timeoutSeconds",
            "type",
            "targetPort",
            "progressDeadlineSeconds",
            "replicas",
            "selector",
        ),
        *("revisionHistoryLimit", "strategy", "rollingUpdate", "maxSurge", "maxUnavailable", "metadata"),
        *("creationTimestamp", "imagePullPolicy", "resources", "terminationMessagePath", "status"),
        *("terminationMessagePolicy", "dnsPolicy", "restartPolicy", "schedulerName", "securityContext"),
        *("terminationGracePeriodSeconds", "loadBalancer", "requests", "cpu", "memory", "generation"),
        *("uid", "resourceVersion", "namespace", "name", "value", "path", "scheme", "timeoutSeconds"),
        *("periodSeconds", "successThreshold", "failureThreshold"),
    )
)
SERVER_METADATA = ("uid", "resourceVersion", "generation", "creationTimestamp", "namespace")


def patched(value: Value, patch: Value) -> Value:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(value) if isinstance(value, dict) else {}
    for key, each in patch.items():
        if each is None:
            kept.pop(key, None)
        else:
            kept[key] = patched(kept.get(key), each)
    return kept


def moved_at(before: Value, answer: Value, now: datetime) -> datetime:
    """The time the server wrote, so that a second that passed meanwhile makes no difference."""
    old = {json.dumps(each, sort_keys=True) for each in entries(before)}
    times = [
        each["time"]
        for each in entries(answer)
        if json.dumps(each, sort_keys=True) not in old and "time" in each
    ]
    newest = max(times, default="")
    return datetime.fromisoformat(newest) if newest >= stamp(now) else now


def entries(obj: Value) -> list[Value]:
    return ((obj or {}).get("metadata") or {}).get("managedFields") or []


def untimed(before: Value, after: Value) -> Value:
    """After a write that was none, the managers' times are those from before."""
    strip = [{key: value for key, value in each.items() if key != "time"} for each in entries(after)]
    old = [{key: value for key, value in each.items() if key != "time"} for each in entries(before)]
    if [e for e in strip if e not in old] or len(strip) != len(old):
        return after
    return after | {"metadata": {**after["metadata"], "managedFields": entries(before)}}


def bare(obj: Value) -> Value:
    bare = {key: value for key, value in without_managers(obj).items() if key != "apiVersion"}
    return bare | {
        "metadata": {key: value for key, value in bare["metadata"].items() if key not in SERVER_METADATA}
    }


def without_empty(obj: Value) -> Value:
    """Without what the Go types of built-in kinds, and of all metadata, do not keep: empty and null."""
    if obj["kind"] == "Thing":
        return {**_with_defaults(obj), "metadata": _kept(obj["metadata"])}
    return _kept(obj)


def _with_defaults(thing: Value) -> Value:
    """The one default that the CRD has, also where nothing of an object says it."""
    pairs = (thing.get("spec") or {}).get("twoKeys")
    if not isinstance(pairs, list):
        return thing
    return {**thing, "spec": {**thing["spec"], "twoKeys": [{"proto": "TCP", **each} for each in pairs]}}


def _kept(value: Value) -> Value:
    if isinstance(value, dict):
        inner = {key: _kept(each) for key, each in value.items()}
        return {key: each for key, each in inner.items() if each is not None and each not in ({}, [])}
    return [_kept(each) for each in value] if isinstance(value, list) else value


def contained(mine: Value, theirs: Value) -> bool:
    """Whether the server's answer is what was computed, with defaults and canonical quantities."""
    if isinstance(mine, dict):
        if not isinstance(theirs, dict):
            return not mine
        for key, value in mine.items():
            if key not in theirs:
                if value not in ({}, [], None, "", 0, False):
                    return False
            elif not contained(value, theirs[key]):
                return False
        return all(key in mine or key in DEFAULTED for key in theirs)
    if isinstance(mine, list):
        return isinstance(theirs, list) and len(mine) == len(theirs) and all(map(contained, mine, theirs))
    return mine == theirs or (str(mine), theirs) in {("1000m", "1"), ("1024Mi", "1Gi"), ("1", "1")}


def lines(message: str) -> list[str]:
    head, _, tail = message.partition(": errors:")
    return [head, *sorted(tail.splitlines())]


def same_conflict(answer: Value, expected: ssa.Conflicted) -> bool:
    def key(cause: Value) -> tuple[str, str]:
        return cause["message"], cause["field"]

    causes = answer.get("details", {}).get("causes", [])
    return answer["message"] == expected.message and sorted(causes, key=key) == sorted(
        expected.causes, key=key
    )
