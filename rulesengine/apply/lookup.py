"""Where a kind is served and what its objects look like, or why that is not known now."""

from __future__ import annotations

from dataclasses import dataclass

from rulesengine.apply.ports import Resources, Schemas
from rulesengine.client import APIError
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Held
from rulesengine.schema import Schema

AGAIN = 5.0  # seconds until discovery or schemas are asked again
UNSERVED_AGAIN = 60.0


@dataclass(frozen=True, slots=True)
class Kind:
    """Everything needed to write objects of one kind."""

    resource: ResourceType
    schema: Schema


class Kinds:
    """Looks kinds up; known ones without waiting."""

    def __init__(self, resources: Resources, schemas: Schemas) -> None:
        self._resources = resources
        self._schemas = schemas
        self._kinds: dict[GroupVersionKind, Kind] = {}

    def known(self, gvk: GroupVersionKind) -> Kind | None:
        """A kind about which nothing has to be asked."""
        kind = self._kinds.get(gvk)
        resource, schema = self._resources.known(gvk), self._schemas.known(gvk)
        if resource is None or schema is None:
            return None
        if kind is None or kind.resource is not resource or kind.schema is not schema:
            kind = self._kinds[gvk] = Kind(resource, schema)
        return kind

    async def resource(self, gvk: GroupVersionKind) -> ResourceType | Held:
        """Where a kind is served."""
        if (known := self._resources.known(gvk)) is not None:
            return known
        try:
            found = await self._resources.resource(gvk)
        except APIError:
            return _unknown(f"the server's word on kind {gvk}")
        return found or Held(Reason.UNKNOWN_KIND, f"kind {gvk}", retry_after=UNSERVED_AGAIN)

    async def find(self, gvk: GroupVersionKind) -> Kind | Held:
        """A kind with its schema; without one nothing is known of it, and the server is asked."""
        resource = await self.resource(gvk)
        if isinstance(resource, Held):
            return resource
        schema = self._schemas.known(gvk)
        if schema is None:
            try:
                schema = await self._schemas.schema(gvk)
            except APIError:
                return _unknown(f"the schema of kind {gvk}")
        return Kind(resource, schema or Schema.ANY)


def _unknown(what: str) -> Held:
    return Held(Reason.UNAVAILABLE, what, retry_after=AGAIN)
