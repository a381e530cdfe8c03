"""From a rule in the cluster to a compiled one: its kinds are asked for, then the passes run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from rulesengine import api, compiler
from rulesengine.client import APIError, Forbidden
from rulesengine.compiler.rule import CompiledRule, Mode, OnRuleDeletion, Source
from rulesengine.core.json import Object
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.runtime.rule_object import named_kinds
from rulesengine.schema import Schema

logger = logging.getLogger(__name__)


class Resources(Protocol):
    def known(self, gvk: GroupVersionKind) -> ResourceType | None: ...
    async def resource(self, gvk: GroupVersionKind) -> ResourceType | None: ...


class Schemas(Protocol):
    def known(self, gvk: GroupVersionKind) -> Schema | None: ...
    async def schema(self, gvk: GroupVersionKind) -> Schema | None: ...


class Compiling:
    """Compiles rules against what the server serves. Kinds it does not serve are left open."""

    def __init__(self, resources: Resources, schemas: Schemas) -> None:
        self._resources = resources
        self._schemas = schemas

    async def compile(self, body: Object) -> CompiledRule:
        """Raises FindingsError with everything that is wrong, APIError where the server cannot be asked."""
        await self.prepare(body)
        return self.compile_model(api.rule_from_object(body))

    async def prepare(self, body: Object) -> None:
        """Asks for every kind that the rule names; compiling itself asks nothing."""
        for gvk in named_kinds(body):
            if await self._resources.resource(gvk) is None:
                continue
            try:
                await self._schemas.schema(gvk)
            except Forbidden:
                return  # without schemas types are not checked; the server still checks every write

    def compile_model(self, model: api.RuleModel) -> CompiledRule:
        return compiler.compile_rule(model, schemas=self._schemas.known, resources=self._resources.known)

    async def compile_for_cleanup(self, body: Object, key: RuleKey) -> CompiledRule:
        """As much of a rule that is being deleted as there is: it must not stay for being wrong."""
        try:
            return await self.compile(body)
        except APIError:
            raise
        except Exception as error:  # noqa: BLE001 - not even a defect may keep a rule from going
            kind = type(error).__name__
            logger.info("a rule is cleaned up by its claims alone", extra={"rule": key, "error": kind})
            return bare(body, key)


def bare(body: Object, key: RuleKey) -> CompiledRule:
    """A rule that wants nothing: enough for removing what it made, by what the claims say."""
    meta: Mapping[str, object] = body["metadata"]
    spec = body.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    source = spec.get("for")
    source = source if isinstance(source, dict) else {}
    version, kind = source.get("apiVersion"), source.get("kind")
    named = isinstance(version, str) and isinstance(kind, str)
    orphan = spec.get("onRuleDeletion") == OnRuleDeletion.ORPHAN.value
    return CompiledRule(
        key=key,
        uid=str(meta.get("uid", "")),
        generation=int(str(meta.get("generation", 0))),
        mode=Mode.ENFORCE,
        on_rule_deletion=OnRuleDeletion.ORPHAN if orphan else OnRuleDeletion.DELETE,
        source=Source(
            GroupVersionKind.parse(str(version), str(kind)),
            system_namespaces=source.get("systemNamespaces") == "Include",
        )
        if named
        else None,
        match_conditions=(),
        variables={},
        resources=(),
        source_status=None,
        source_reads=frozenset(),
        reads_namespace=False,
        reads_now=False,
        metadata={"name": key.name},
        digest=b"",
    )
