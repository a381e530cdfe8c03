"""Label selectors, as Kubernetes has them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rulesengine.api.models.base import ATOMIC, Model


class LabelSelectorRequirement(Model):
    """One requirement on one label."""

    key: Annotated[str, Field(min_length=1, max_length=317)] = Field(description="The label's key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="How the label's value relates to values."
    )
    values: list[Annotated[str, Field(max_length=4096)]] = Field(
        default_factory=list,
        max_length=1000,
        description="For In and NotIn: one or more. For Exists and DoesNotExist: none.",
        json_schema_extra=ATOMIC,
    )


class LabelSelector(Model):
    """Selects objects by their labels; all requirements must hold. Empty selects everything."""

    match_labels: dict[str, Annotated[str, Field(max_length=4096)]] = Field(
        default_factory=dict,
        max_length=100,
        description="Labels with the value that each must have.",
    )
    match_expressions: list[LabelSelectorRequirement] = Field(
        default_factory=list,
        max_length=100,
        description="Further requirements.",
        json_schema_extra=ATOMIC,
    )
