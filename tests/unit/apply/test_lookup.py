"""Kinds: found without waiting when known, and what comes of those that are not."""

from __future__ import annotations

from rulesengine.apply.lookup import Kind, Kinds
from rulesengine.client import APIError, Unreachable
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Held
from rulesengine.schema import Schema
from tests.unit.apply.fakes import CONFIG_MAP, Resources, Schemas


class Later:
    """Discovery and schemas that know nothing until they are asked; each may fail."""

    def __init__(self, resource: ResourceType | APIError | None, schema: Schema | APIError | None) -> None:
        self.answers = resource, schema

    def known(self, gvk: GroupVersionKind) -> None:
        return None

    async def resource(self, gvk: GroupVersionKind) -> ResourceType | None:
        return self._said(self.answers[0])

    async def schema(self, gvk: GroupVersionKind) -> Schema | None:
        return self._said(self.answers[1])

    def _said(self, answer):
        if isinstance(answer, APIError):
            raise answer
        return answer


RESOURCE = ResourceType(CONFIG_MAP, "configmaps", namespaced=True)


def test_a_known_kind_is_the_same_until_discovery_or_schema_change() -> None:
    """Nothing is built anew for each object."""
    resources, schemas = Resources(), Schemas()
    resource = resources.known(CONFIG_MAP)
    resources.known = lambda gvk: resource
    kinds = Kinds(resources, schemas)
    first = kinds.known(CONFIG_MAP)
    assert first is not None
    assert kinds.known(CONFIG_MAP) is first
    schemas.schemas[CONFIG_MAP] = Schema(type="object")
    second = kinds.known(CONFIG_MAP)
    assert second is not None
    assert second.schema is schemas.schemas[CONFIG_MAP]


async def test_a_kind_without_a_schema_is_written_all_the_same() -> None:
    """The server decides what nothing is known about."""
    later = Later(RESOURCE, None)
    assert await Kinds(later, later).find(CONFIG_MAP) == Kind(RESOURCE, Schema.ANY)


async def test_a_server_that_cannot_say_is_asked_again() -> None:
    """Not knowing is never the same as knowing that there is none."""
    for later in (Later(Unreachable("cut"), None), Later(RESOURCE, APIError(503, "ServiceUnavailable"))):
        found = await Kinds(later, later).find(CONFIG_MAP)
        assert isinstance(found, Held)
        assert found.reason is Reason.UNAVAILABLE
        assert found.retry_after is not None


async def test_an_unserved_kind_is_waited_for() -> None:
    """Its CRD may come."""
    later = Later(None, None)
    found = await Kinds(later, later).find(CONFIG_MAP)
    assert isinstance(found, Held)
    assert found.reason is Reason.UNKNOWN_KIND
