"""The two kinds of rule, whole."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, PrivateAttr

from rulesengine.api.documents import Document
from rulesengine.api.models.base import Metadata, Model
from rulesengine.api.models.spec import ClusterRuleSpec, RuleSpec
from rulesengine.core.findings import Span
from rulesengine.core.json import Object
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupVersionKind

GROUP = "rulesengine.dev"
VERSION = "v1alpha1"
API_VERSION: Final = "rulesengine.dev/v1alpha1"

DEFAULT_NAMESPACE = "default"  # of a Rule in a file that names none, as kubectl has it


class _Rule(Model):
    plural: ClassVar[str]
    short_name: ClassVar[str]
    namespaced: ClassVar[bool]

    api_version: Literal["rulesengine.dev/v1alpha1"] = API_VERSION
    metadata: Metadata

    _document: Document | None = PrivateAttr(default=None)
    _metadata: Object = PrivateAttr(default_factory=dict)

    @property
    def uid(self) -> str:
        """The server's identity of the rule; "" for one from a file."""
        return self.metadata.uid

    @property
    def generation(self) -> int:
        return self.metadata.generation

    @property
    def raw_metadata(self) -> Object:
        """`metadata` as it was given: the value of `rule.metadata` in expressions."""
        return self._metadata

    def locate(self, path: tuple[str | int, ...], *, of_key: bool = False) -> Span | None:
        """Where a field stands in the file; None for a rule that came from a cluster."""
        if self._document is None:
            return None
        return self._document.key(path) if of_key else self._document.locate(path)

    def character(
        self, path: tuple[str | int, ...], offset: int, length: int, *, of_key: bool = False
    ) -> Span | None:
        """Where some characters of a text value (or of a key) stand in the file."""
        if self._document is None:
            return None
        return self._document.character(path, offset, length, of_key=of_key)

    def placed(self, document: Document | None, metadata: dict[str, Any]) -> None:
        """Ties the model to what it was made from."""
        self._document = document
        self._metadata = metadata


class ClusterRule(_Rule):
    """For every object of some kind that looks a certain way, these other objects shall exist."""

    plural: ClassVar[str] = "clusterrules"
    short_name: ClassVar[str] = "crule"
    namespaced: ClassVar[bool] = False

    kind: Literal["ClusterRule"] = "ClusterRule"
    spec: ClusterRuleSpec = Field(description="What the rule is about and what it makes.")

    @property
    def key(self) -> RuleKey:
        return RuleKey(self.kind, "", self.metadata.name)

    def kinds(self) -> tuple[GroupVersionKind, ...]:
        """Every kind that the rule names, each once."""
        return _kinds(self)


class Rule(_Rule):
    """Like ClusterRule, for sources and objects in the rule's own namespace."""

    plural: ClassVar[str] = "rules"
    short_name: ClassVar[str] = "rrule"
    namespaced: ClassVar[bool] = True

    kind: Literal["Rule"] = "Rule"
    spec: RuleSpec = Field(description="What the rule is about and what it makes, in its own namespace.")

    @property
    def key(self) -> RuleKey:
        return RuleKey(self.kind, self.metadata.namespace or DEFAULT_NAMESPACE, self.metadata.name)

    def kinds(self) -> tuple[GroupVersionKind, ...]:
        """Every kind that the rule names, each once."""
        return _kinds(self)


RuleModel: TypeAlias = ClusterRule | Rule


def _kinds(rule: RuleModel) -> tuple[GroupVersionKind, ...]:
    named: list[tuple[Any, Any]] = []
    if rule.spec.for_ is not None:
        named.append((rule.spec.for_.api_version, rule.spec.for_.kind))
    for entry in rule.spec.resources:
        template = entry.template or {}
        named.append((template.get("apiVersion"), template.get("kind")))
    return tuple(
        dict.fromkeys(
            GroupVersionKind.parse(version, kind)
            for version, kind in named
            if isinstance(version, str) and isinstance(kind, str)
        )
    )
