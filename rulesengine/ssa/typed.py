"""Whether an apply configuration fits its kind's schema, in the server's words.

The server types a configuration before it merges it and refuses one that does not fit; what
is said there is about shape only. Values (enums, formats, limits) are validated later, on
the merged object.
"""

from __future__ import annotations

from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Json, Object
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema
from rulesengine.ssa.elements import Unidentified, of_item, shown, text
from rulesengine.ssa.ownership import is_list


class InvalidConfig(RulesEngineError):
    """A configuration that cannot be applied; the message is the server's. `status` is its code."""

    def __init__(self, message: str, status: int = 500) -> None:
        self.status = status
        super().__init__(message)


def check(schema: Schema, config: Object) -> None:
    """Raises InvalidConfig naming everything that does not fit."""
    if (config.get("metadata") or {}).get("managedFields") is not None:
        raise InvalidConfig("metadata.managedFields must be nil", 400)
    problems: list[str] = []
    _map(schema, config, (), problems)
    if not problems:
        return
    meta = config.get("metadata") or {}
    gvk = GroupVersionKind.parse(str(config.get("apiVersion", "")), str(config.get("kind", "")))
    where = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
    kind = f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"
    said = problems[0] if len(problems) == 1 else "errors:\n  " + "\n  ".join(problems)
    raise InvalidConfig(f"failed to create typed patch object ({where}; {kind}): {said}")


def _value(schema: Schema, value: Json, path: tuple[str, ...], problems: list[str]) -> None:
    kind = schema.type
    if value is None or schema is Schema.ANY:
        return
    if isinstance(value, dict) and kind in ("object", "") and not schema.quantity:
        _map(schema, value, path, problems)
    elif isinstance(value, list) and kind in ("array", "") and not schema.quantity:
        _list(schema, value, path, problems)
    elif expected := _expected(schema, value):
        problems.append(f"{shown(path)}: {expected}")


def _expected(schema: Schema, value: Json) -> str:
    """What is wrong with a scalar, or with something in its place; "" when nothing."""
    container = isinstance(value, dict | list)
    match schema.type:
        case "object":
            return f"expected map, got &{{{_plain(value)}}}"
        case "array":
            return f"expected list, got &{{{_plain(value)}}}"
        case "integer" | "number" if isinstance(value, bool) or not isinstance(value, int | float):
            return f"expected numeric (int or float), got {_type(value)}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got &{{{_plain(value)}}}"
        case "string" if schema.format in ("", "byte") and not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_literal(value)}}}"
        case "string" if container:
            return f"expected any scalar, got &{{{_plain(value)}}}"
        case "" if container and schema.quantity:
            return f"expected any scalar, got &{{{_plain(value)}}}"
        case _:
            return ""


def _type(value: Json) -> str:
    """A value's type as Go names it."""
    if isinstance(value, dict):
        return "map[string]interface {}"
    names = {bool: "bool", int: "int64", float: "float64", str: "string"}
    return names.get(type(value), "[]interface {}")


def _plain(value: Json) -> str:
    """A value as Go prints it plainly."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case list():
            return "[" + " ".join(_plain(each) for each in value) + "]"
        case dict():
            return "map[" + " ".join(f"{key}:{_plain(value[key])}" for key in sorted(value)) + "]"
        case _:
            return str(value)


def _literal(value: Json) -> str:
    """A value as Go prints it in Go syntax."""
    match value:
        case str():
            return text(value)
        case list():
            return "[]interface {}{" + ", ".join(_literal(each) for each in value) + "}"
        case dict():
            inner = ", ".join(f"{text(key)}:{_literal(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{inner}}}"
        case _:
            return "interface {}(nil)" if value is None else _plain(value)


def _map(schema: Schema, value: Object, path: tuple[str, ...], problems: list[str]) -> None:
    for key, each in value.items():
        below = schema.properties.get(key) or schema.child(key)
        if type(each) is str and below is not None and below.type == "string":
            continue
        if below is None:
            problems.append(f"{shown((*path, 'f:' + key))}: field not declared in schema")
        else:
            _value(below, each, (*path, "f:" + key), problems)


def _list(schema: Schema, value: list[Json], path: tuple[str, ...], problems: list[str]) -> None:
    items = schema.items or Schema.ANY
    shared = is_list(schema, value)
    seen: set[str] = set()
    for index, each in enumerate(value):
        element = f"i:{index}"
        if shared:
            try:
                element = of_item(schema, each)
            except Unidentified as error:
                problems.append(f"{shown(path)}: element {index}: {error}")
                return
            if element in seen:
                problems.append(f"{shown(path)}: duplicate entries for key {shown((element,))}")
            seen.add(element)
        _value(items, each, (*path, element), problems)
