"""The configuration file: YAML with the names of the settings' table, checked against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from rulesengine.api.documents import load, named
from rulesengine.api.messages import findings_of
from rulesengine.api.places import Path
from rulesengine.api.shape import nearest
from rulesengine.core.errors import FindingsError
from rulesengine.core.findings import Finding, Span
from rulesengine.core.settings import Setting, Value


def read_settings(text: str | bytes, file: str, table: Sequence[Setting]) -> dict[str, Value]:
    """What a file sets, by the names of the fields of `Settings`; an empty file sets nothing.

    Raises FindingsError with everything that is wrong: unknown names, types, bounds, words.
    """
    loaded = load(text, file)
    findings = list(loaded.findings)
    if len(loaded.documents) > 1:
        second = loaded.documents[1]
        message = "expected one document with settings, found more"
        findings.append(Finding("RE103", message, span=second.locate(()), hint="remove the others"))
    if findings:
        raise FindingsError(findings)
    if not loaded.documents:
        return {}
    document = loaded.documents[0]
    value = document.value
    if not isinstance(value, dict):
        message = f"expected settings, `name: value` on each line, found {named(value)}"
        raise FindingsError([Finding("RE103", message, span=document.locate(()))])

    def locate(path: Path, of_key: bool) -> Span | None:
        return document.key(path) if of_key else document.locate(path)

    findings = _unknown(value, table, locate)
    kept = {name: each for name, each in value.items() if each is not None}
    try:
        _model(table).model_validate(kept)
    except ValidationError as error:
        findings += findings_of(error, locate)
    if findings:
        raise FindingsError(findings)
    rows = {row.name: row for row in table}
    return {rows[name].field: _typed(rows[name], each) for name, each in kept.items()}


def _unknown(
    value: dict[str, Any], table: Sequence[Setting], locate: Callable[[Path, bool], Span | None]
) -> list[Finding]:
    known = [row.name for row in table]
    return [
        Finding(
            "RE101",
            f"there is no setting {name[:60]!r}",
            name[:60],
            locate((name,), True),
            nearest(name, known) or "`rulesengine run --help` lists them",
        )
        for name in value
        if name not in known
    ]


def _typed(row: Setting, value: Any) -> Value:
    return float(value) if row.type is float else value


def _model(table: Sequence[Setting]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        row.field: (_annotation(row), Field(default=None, alias=row.name)) for row in table
    }
    config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)
    return create_model("Configuration", __config__=config, **fields)


def _annotation(row: Setting) -> Any:
    if row.choices:
        return Literal[row.choices]
    if row.type is str:
        return str
    if row.type is bool:
        return bool
    return Annotated[row.type, Field(ge=row.least, le=row.most)]
