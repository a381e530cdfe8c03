"""CEL types as the compiler needs them: types of named values, and what JSON they become."""

from __future__ import annotations

from collections.abc import Mapping

from rulesengine import cel


def record(name: str, fields: Mapping[str, cel.Type]) -> cel.Type:
    """The type of a value with exactly these fields."""
    return cel.types.record(name, fields)


def json_kind(kind: cel.Type) -> str:
    """What a value of that type becomes in a template: a JSON schema type, "" where it may be several."""
    return ""
