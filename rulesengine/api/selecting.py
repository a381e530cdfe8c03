"""Label and field selectors: what the server would refuse is found before it is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rulesengine.api.not_yet import written
from rulesengine.api.places import Path
from rulesengine.api.shape import Locate
from rulesengine.core.findings import Finding
from rulesengine.core.json import Json

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:[a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}")
_VALUE = re.compile(rf"(?:{_NAME})?")
_FIELD_TERM = re.compile(r"[A-Za-z0-9_./-]+(?:==|!=|=)(?:[^,=\\]|\\[,=\\])*")


def check_selectors(rule: Json, locate: Locate) -> list[Finding]:
    """Findings about the selectors of `spec.for`."""
    spec = rule.get("spec")
    source = spec.get("for") if isinstance(spec, dict) else None
    if not isinstance(source, dict):
        return []
    found = []
    for field in ("selector", "namespaceSelector"):
        if isinstance(source.get(field), dict):
            found += list(_labels(source[field], ("spec", "for", field)))
    if isinstance(source.get("fieldSelector"), str):
        found += list(_fields(source["fieldSelector"], ("spec", "for", "fieldSelector")))
    return [Finding(c, message, written(p), locate(p, k), hint) for c, message, p, k, hint in found]


_Problem = tuple[str, str, Path, bool, str]


def _labels(selector: dict[str, Any], path: Path) -> Iterator[_Problem]:
    labels = selector.get("matchLabels")
    for key, value in labels.items() if isinstance(labels, dict) else ():
        here = (*path, "matchLabels", key)
        yield from _key(key, here, of_key=True)
        if isinstance(value, str):
            yield from _value(value, here)
    requirements = selector.get("matchExpressions")
    for index, item in enumerate(requirements if isinstance(requirements, list) else ()):
        if isinstance(item, dict):
            yield from _requirement(item, (*path, "matchExpressions", index))


def _requirement(item: dict[str, Any], path: Path) -> Iterator[_Problem]:
    if isinstance(item.get("key"), str):
        yield from _key(item["key"], (*path, "key"), of_key=False)
    values, operator = item.get("values", []), item.get("operator")
    if not isinstance(values, list):
        return
    for index, value in enumerate(values):
        if isinstance(value, str):
            yield from _value(value, (*path, "values", index))
    if operator in ("In", "NotIn") and not values:
        yield "RE102", f"operator {operator} needs values", path, False, "add `values`"
    if operator in ("Exists", "DoesNotExist") and values:
        yield "RE108", f"operator {operator} takes no values", (*path, "values"), True, "remove `values`"


def _key(key: str, path: Path, *, of_key: bool) -> Iterator[_Problem]:
    if not _KEY.fullmatch(key):
        yield "RE106", "this is no label key", path, of_key, "like app or example.com/app, name at most 63"


def _value(value: str, path: Path) -> Iterator[_Problem]:
    if "${" in value:
        yield (
            "RE106",
            "a selector of spec.for is literal",
            path,
            False,
            "use matchConditions for what is computed",
        )
    elif not _VALUE.fullmatch(value):
        yield "RE106", "this is no label value", path, False, "letters, digits and '-_.', at most 63"


def _fields(text: str, path: Path) -> Iterator[_Problem]:
    if not all(_FIELD_TERM.fullmatch(term) for term in re.split(r"(?<!\\),", text)):
        hint = "terms like metadata.name!=x, joined with commas"
        yield "RE106", "this is no field selector", path, False, hint
