"""Who of several engines is at work: one Lease, held by one of them, renewed every few seconds.

The rules are client-go's. Clocks are never compared: a candidate looks at when it *saw* the Lease
change, by its own steady clock, and takes it when it did not change for its whole duration. So
an engine whose clock is hours off neither loses nor steals it.

The holder counts from before it sent the renewal that went through: from then on it may begin
writes for `renew_deadline`, and the others wait for `lease_duration`, from later on. What lies
between is the margin for clocks that run at different speeds and for requests under way.

Pure of threads: `elector.py` runs it.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from rulesengine.client import AlreadyExists, APIError, Client, NotFound
from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.runtime.rule_object import MANAGER
from rulesengine.runtime.secret import NAMESPACES

logger = logging.getLogger(__name__)

NAME = "rulesengine"
LEASES = ResourceType(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), "leases", namespaced=True)
NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Times:
    """All are seconds; see the settings of the same names."""

    lease_duration: float
    renew_deadline: float
    retry_period: float


class Candidate:
    """One engine's part. `monotonic` is steady, `now` the wall clock, for people only.

    `heart` says how many seconds ago the loop that does the work was alive: a candidate whose
    loop hangs neither takes nor renews the Lease.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        identity: str,
        times: Times,
        *,
        monotonic: Callable[[], float],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        heart: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._identity = identity
        self._times = times
        self._monotonic = monotonic
        self._now = now
        self._heart = heart
        self._seen: Object | None = None  # the spec as it was last seen to change
        self._seen_at = NEVER
        self._trouble = ""
        self.holding = False
        self.renewed = NEVER  # when the renewal that went through was begun

    @property
    def deadline(self) -> float:
        """Until when writes may be begun, by the steady clock."""
        return self.renewed + self._times.renew_deadline if self.holding else NEVER

    @property
    def holder(self) -> str:
        """Who has it, as far as was seen."""
        return str((self._seen or {}).get("holderIdentity") or "")

    async def attempt(self) -> bool:
        """Takes or renews the Lease; whether this engine has it now. Any failure is one; never raises."""
        begun = self._monotonic()
        if self.holding and begun >= self.deadline:
            self.holding = False
            return False
        if self._heart() >= self._times.renew_deadline:
            return self._fail("the engine's loop hangs")
        left = self.deadline - begun if self.holding else self._times.renew_deadline
        try:
            async with asyncio.timeout(min(left, self._times.renew_deadline / 2)):
                took = await self._take(begun)
        except APIError as error:
            return self._fail(str(error))
        except TimeoutError:
            return self._fail("no answer in time")
        except Exception as error:  # noqa: BLE001 - whatever it is, the Lease was not renewed
            return self._fail(f"unexpected {type(error).__name__}")
        self._trouble = ""
        if took:
            self.renewed, self.holding = begun, True
        elif self.holding:
            self.holding = False  # somebody has it, so it was not renewed for its whole duration
        return took

    @property
    def pause(self) -> float:
        """Seconds until the next attempt: the period, or when the Lease of a silent holder runs out."""
        now, period = self._monotonic(), self._times.retry_period
        ends = self.deadline if self.holding else self._runs_out()
        return min(period, max(ends - now, 0.01)) if ends > now else period

    async def release(self) -> None:
        """Gives the Lease up, so that another engine need not wait; a failure is of no matter."""
        if not self.holding:
            return
        self.holding = False
        try:
            async with asyncio.timeout(self._times.renew_deadline / 2):
                body = json.decode_object(await self._client.get(LEASES, self._namespace, NAME))
                if body["spec"].get("holderIdentity") != self._identity:
                    return
                body["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._stamp()}
                await self._client.replace(LEASES, self._namespace, NAME, body, field_manager=MANAGER)
        except (APIError, TimeoutError):
            logger.info("the lease was not given back", extra={"lease": NAME})

    # --- inside ---

    async def _take(self, now: float) -> bool:
        try:
            raw = await self._client.get(LEASES, self._namespace, NAME)
        except NotFound:
            return await self._create()
        body = json.decode_object(raw)
        spec = body.get("spec") or {}
        if spec != self._seen:
            self._seen, self._seen_at = spec, self._monotonic()  # not sooner than it was there
        mine = spec.get("holderIdentity") == self._identity
        if not mine and spec.get("holderIdentity") and self._runs_out() > now:
            return False
        changes = int(spec.get("leaseTransitions") or 0)
        acquired = spec.get("acquireTime") if mine else self._stamp()
        body["spec"] = self._spec(acquired, changes if mine else changes + 1)
        # refused where somebody was quicker: the body has the resourceVersion that was read
        raw = await self._client.replace(LEASES, self._namespace, NAME, body, field_manager=MANAGER)
        self._note(raw)
        return True

    async def _create(self) -> bool:
        body: Object = {
            "apiVersion": LEASES.gvk.api_version,
            "kind": LEASES.gvk.kind,
            "metadata": {"name": NAME, "namespace": self._namespace},
            "spec": self._spec(self._stamp(), 0),
        }
        try:
            raw = await self._client.create(LEASES, self._namespace, body, field_manager=MANAGER)
        except AlreadyExists:
            return False
        except NotFound:
            space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
            await self._client.create(NAMESPACES, "", space, field_manager=MANAGER)
            raw = await self._client.create(LEASES, self._namespace, body, field_manager=MANAGER)
        self._note(raw)
        return True

    def _note(self, raw: bytes) -> None:
        self._seen = json.decode_object(raw).get("spec") or {}
        self._seen_at = self._monotonic()

    def _spec(self, acquired: object, transitions: int) -> Object:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._times.lease_duration),
            "acquireTime": acquired,
            "renewTime": self._stamp(),
            "leaseTransitions": transitions,
        }

    def _runs_out(self) -> float:
        """When the Lease that was seen may be taken, by the steady clock."""
        if not self._seen or not self._seen.get("holderIdentity"):
            return NEVER
        return self._seen_at + float(self._seen.get("leaseDurationSeconds") or 0)

    def _stamp(self) -> str:
        return self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _fail(self, why: str) -> bool:
        if why != self._trouble:
            self._trouble = why
            logger.warning("the lease could not be asked for", extra={"lease": NAME, "why": why})
        return False
