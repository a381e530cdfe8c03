"""Who made an object: stamped by the engine, proven by a keyed hash, never by labels.

A claim stands in annotation `rulesengine.dev/owner`. Its MAC covers the claim *and* the
identity of the object that carries it, so a copy of the annotation on another object proves
nothing, and nobody without the key can make an object deletable by this engine.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.keys import ObjectKey, RuleKey
from rulesengine.core.ports import Live

ANNOTATION = "rulesengine.dev/owner"
LABEL = "rulesengine.dev/rule"
MAC_BYTES = 16
RESTORED_AFTER = timedelta(seconds=60)  # an object younger than its stamp by more is a restored copy


@dataclass(frozen=True, slots=True)
class Claim:
    """What the annotation says: which rule and source made the object, and through which entry.

    `at` is the time of the first stamp, RFC 3339 in UTC with seconds. `adopted`: the object
    was there before; `keep`: its entry said `deletion: Orphan`. Either is released, not deleted.
    """

    rule: RuleKey
    rule_uid: str
    source: ObjectKey
    source_uid: str
    entry: str
    object: ObjectKey
    at: str
    adopted: bool = False
    keep: bool = False

    @property
    def stamped(self) -> datetime:
        return datetime.strptime(self.at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Stamps and verifies claims with the engine's key (32 random bytes from its Secret)."""

    key: bytes

    def stamp(self, claim: Claim) -> str:
        """The annotation's text for `claim`."""
        body = _body(claim)
        return json.encode(body | {"mac": self._mac(body)}).decode()

    def verify(self, text: str, key: ObjectKey) -> Claim | None:
        """The claim in `text`, if it is ours and about the object `key`; else None."""
        claim, mac = _parse(text)
        if claim is None or claim.object != key:
            return None
        return claim if hmac.compare_digest(mac, self._mac(_body(claim))) else None

    def _mac(self, body: json.Object) -> str:
        return hmac.new(self.key, json.encode_sorted(body), hashlib.sha256).hexdigest()[: 2 * MAC_BYTES]


def is_restored(live: Live, claim: Claim) -> bool:
    """Whether the object came into being well after its stamp: somebody restored a copy."""
    return was_restored(live.created, claim)


def was_restored(created: str, claim: Claim) -> bool:
    """The same of a creationTimestamp."""
    try:
        time = datetime.strptime(created, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return False
    return time - claim.stamped > RESTORED_AFTER


def read_claim(text: str) -> Claim | None:
    """What an annotation's text says. It is not proven: good for showing, not for deciding."""
    return _parse(text)[0]


def timestamp(now: datetime) -> str:
    """As the API server writes times: UTC, whole seconds."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def renewed(claim: Claim, earlier: Claim | None, live: Live | None) -> Claim:
    """`claim` with the time of the first stamp, where `earlier` is the verified one on `live`.

    The time stays over changes of entry, source and rule uid, so that a settled object is
    never written again; a restored copy gets the present time and is a first stamp.
    """
    if earlier is None or live is None or is_restored(live, earlier):
        return claim
    return replace(claim, at=earlier.at, adopted=earlier.adopted)


def _body(claim: Claim) -> json.Object:
    body: json.Object = {
        "rule": [*claim.rule, claim.rule_uid],
        "source": [*claim.source, claim.source_uid],
        "entry": claim.entry,
        "object": list(claim.object),
        "at": claim.at,
    }
    if claim.adopted:
        body["adopted"] = True
    if claim.keep:
        body["keep"] = True
    return body


def _parse(text: str) -> tuple[Claim | None, str]:
    try:
        body = json.decode_object(text)
        mac = body["mac"]
        rule, source, about = body["rule"], body["source"], body["object"]
        claim = Claim(
            rule=RuleKey(*rule[:3]),
            rule_uid=rule[3],
            source=ObjectKey(*source[:4]),
            source_uid=source[4],
            entry=body["entry"],
            object=ObjectKey(*about),
            at=body["at"],
            adopted=body.get("adopted") is True,
            keep=body.get("keep") is True,
        )
        texts = (mac, *claim.rule, claim.rule_uid, *claim.source, claim.source_uid, *claim.object)
        if not all(type(t) is str for t in (*texts, claim.entry, claim.at)) or not mac.isascii():
            return None, ""
        _ = claim.stamped
    except (InvalidJSON, KeyError, IndexError, TypeError, ValueError):
        return None, ""
    return claim, mac
