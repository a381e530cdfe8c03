"""What pydantic does not say well about the shape of a rule, found by walking models and value.

One walk over the value beside its model finds unknown fields (with the nearest known one),
fields that exclude each other, names given twice and fields of later versions, all at once
and wherever else the value is wrong, too. Nulls are dropped on the way, as the API server
drops them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from rulesengine.api.models.base import Model
from rulesengine.api.not_yet import unsupported, written
from rulesengine.api.places import Path
from rulesengine.core.findings import Finding, Span
from rulesengine.core.json import Json

Locate = Callable[[Path, bool], Span | None]  # (path, of its key)

OUT_OF_REACH = {"namespace", "namespaces", "namespaceSelector", "systemNamespaces"}


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the known name which is most like `name`, or all where they are few."""
    names = list(known)
    lowered = {each.lower(): each for each in names}
    wanted = name.lower()[:64]
    match = difflib.get_close_matches(wanted, list(lowered), n=1, cutoff=0.75)
    match = match or [each for each in lowered if len(wanted) > 3 and (each in wanted or wanted in each)]
    match = match or difflib.get_close_matches(wanted, list(lowered), n=1, cutoff=0.6)
    if match:
        return f"did you mean {lowered[match[0]]}?"
    return f"known: {', '.join(names)}" if 0 < len(names) <= 12 else ""


@dataclass(slots=True)
class Walk:
    """One walk. `within_namespace` tells rules that have no namespace fields."""

    locate: Locate
    within_namespace: bool = False
    findings: list[Finding] = field(default_factory=list)

    def clean(self, model: type[Model], value: Json, path: Path) -> Json:
        """`value` without nulls; what is wrong goes to `findings`."""
        if not isinstance(value, dict):
            return value
        fields = by_alias(model)
        kept: dict[str, Any] = {}
        for name, found in value.items():
            here = (*path, name)
            if name not in fields:
                self._unknown(name, here, fields)
            elif found is not None:
                if message := unsupported(here, found):
                    self._find("RE110", message, here, True, "remove it, or wait for a version that has it")
                else:
                    kept[name] = self._field(fields[name], found, here)
        self._choices(model, [name for name in value if value[name] is not None], path)
        return kept

    def _field(self, info: FieldInfo, value: Json, path: Path) -> Json:
        model, many = model_of(info.annotation)
        if model is None:
            return value
        if not many:
            return self.clean(model, value, path)
        if not isinstance(value, list):
            return value
        extra = info.json_schema_extra
        keys = extra.get("x-kubernetes-list-map-keys") if isinstance(extra, dict) else None
        if isinstance(keys, list):
            self._twice(str(keys[0]), value, path)
        return [self.clean(model, item, (*path, index)) for index, item in enumerate(value)]

    def _unknown(self, name: str, path: Path, fields: dict[str, FieldInfo]) -> None:
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        if self.within_namespace and name in OUT_OF_REACH and "namespace" not in fields:
            message = f"field {shown} does not exist in a Rule, which stays within its own namespace"
            self._find("RE112", message, path, True, "remove it, or make the rule a ClusterRule")
            return
        where = f" in {written(path[:-1])}" if len(path) > 1 else ""
        hint = nearest(name, fields)
        self._find("RE101", f"unknown field {shown!r}{where}", path, True, hint or "remove it")

    def _choices(self, model: type[Model], present: list[str], path: Path) -> None:
        for names in model.exactly_one:
            given = [name for name in names if name in present]
            if not given:
                message = f"one of {_listed(names)} is missing"
                self._find("RE107", message, path, True, f"add exactly one of {_listed(names)}")
            elif len(given) > 1:
                message = f"{_listed(given, 'and')} exclude each other"
                self._find("RE107", message, (*path, given[1]), True, "keep one of them")

    def _twice(self, key: str, items: list[Json], path: Path) -> None:
        seen: dict[str, int] = {}
        for index, item in enumerate(items):
            name = item.get(key) if isinstance(item, dict) else None
            if not isinstance(name, str):
                continue
            if name in seen:
                shown = name if len(name) <= 60 else f"{name[:60]}…"
                message = f"{key} {shown!r} is that of {written((*path, seen[name]))} already"
                self._find("RE109", message, (*path, index, key), False, "give every entry its own")
            seen.setdefault(name, index)

    def _find(self, code: str, message: str, path: Path, of_key: bool, hint: str) -> None:
        self.findings.append(
            Finding(code, message, path=written(path), span=self.locate(path, of_key), hint=hint)
        )


def by_alias(model: type[Model]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that users write."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def model_of(annotation: Any) -> tuple[type[Model] | None, bool]:
    """The model in a field's type, and whether the field is a list of it."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation, False
    if get_origin(annotation) is list:
        inner, _ = model_of(get_args(annotation)[0])
        return inner, True
    for part in get_args(annotation):
        found, many = model_of(part)
        if found is not None:
            return found, many
    return None, False


def _listed(names: Iterable[str], word: str = "or") -> str:
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last
