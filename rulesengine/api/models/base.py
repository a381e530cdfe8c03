"""What all models share: strict types, camelCase names, and text with known forms."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Base of all models. Nothing is converted: "1" is no number, 1 is no text.

    `exactly_one` names fields, as users write them, of which one and only one must be given.
    """

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=False,
        validate_by_alias=True,
        protected_namespaces=(),
    )

    exactly_one: ClassVar[tuple[tuple[str, ...], ...]] = ()


def keyed(field: str) -> dict[str, Any]:
    """Schema of a list whose elements are told apart by `field`: server-side apply merges by it."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [field]}


ATOMIC: dict[str, Any] = {"x-kubernetes-list-type": "atomic"}
SET: dict[str, Any] = {"x-kubernetes-list-type": "set"}

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]*$"
ENTRY_NAME = r"^[A-Za-z_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$"
CONDITION_NAME = r"^[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?$"
API_VERSION_FORM = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
)
KIND_FORM = r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"

FORMS: dict[str, str] = {
    DNS_LABEL: "lower-case letters, digits and '-', beginning and ending with a letter or digit",
    DNS_NAME: "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit",
    IDENTIFIER: "a name as CEL has them: letters, digits and '_', not beginning with a digit",
    ENTRY_NAME: "letters, digits, '_' and '-', beginning with a letter",
    CONDITION_NAME: "letters, digits and '_./-', beginning and ending with a letter or digit",
    API_VERSION_FORM: "a literal like v1 or apps/v1",
    KIND_FORM: "a literal like ConfigMap",
}

ApiVersion: TypeAlias = Annotated[str, Field(min_length=1, max_length=317, pattern=API_VERSION_FORM)]
Kind: TypeAlias = Annotated[str, Field(min_length=1, max_length=63, pattern=KIND_FORM)]
Namespace: TypeAlias = Annotated[str, Field(min_length=1, max_length=63, pattern=DNS_LABEL)]
EntryName: TypeAlias = Annotated[str, Field(min_length=1, max_length=63, pattern=ENTRY_NAME)]
Identifier: TypeAlias = Annotated[str, Field(min_length=1, max_length=63, pattern=IDENTIFIER)]
Expression: TypeAlias = Annotated[str, Field(min_length=1, max_length=16384)]
Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]  # text that may hold ${…}

Free: TypeAlias = Annotated[
    dict[str, Any],
    WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
]
"""A mapping that is not looked into: templates and patches."""

Anything: TypeAlias = Annotated[Any, WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True})]


class KindRef(Model):
    """A kind, by the two fields that every object has."""

    api_version: ApiVersion = Field(description="API group and version of the kind, literally: v1, apps/v1.")
    kind: Kind = Field(description="The kind, literally: ConfigMap, Deployment.")


class Metadata(Model):
    """Standard object metadata. Only what a rule needs of it is looked at."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=DNS_NAME)]
    namespace: Namespace | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    uid: str = ""
    generation: int = 0
    generate_name: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    self_link: str | None = None
    finalizers: list[str] = Field(default_factory=list)
    owner_references: list[dict[str, Any]] = Field(default_factory=list)
    managed_fields: list[dict[str, Any]] = Field(default_factory=list)
