"""A template against the schema of its kind: unknown fields, wrong types, missing fields.

Only what is certain is found. A spliced value is known by its type at best; where the schema
or the expression says nothing, nothing is said.
"""

from __future__ import annotations

from typing import Any

from rulesengine import cel
from rulesengine.api import Path, named, nearest, written
from rulesengine.compiler.draft import Draft
from rulesengine.compiler.nodes import Broken, Constant, Fields, Items, Node, Text, Value, child
from rulesengine.core.findings import Severity
from rulesengine.core.json import Json
from rulesengine.schema import MISSING, Schema

_WORDS = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_FITS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def check(draft: Draft, node: Node, schema: Schema) -> None:
    """Findings about a whole object. `status` in a template is left to the server: it ignores it."""
    _check(draft, node, schema, top=True)


def check_field(draft: Draft, node: Node, schema: Schema, field: str, path: Path) -> None:
    """Findings about one field of a mapping with `schema`."""
    below = schema.child(field)
    if below is None:
        _unknown(draft, field, schema, (*path, field))
    else:
        _check(draft, node, below)


def _check(draft: Draft, node: Node, schema: Schema, *, top: bool = False) -> None:
    match node:
        case Constant(value, path):
            _constant(draft, value, schema, path, top=top)
        case Value(program, path):
            _typed(draft, program.type, schema, path)
        case Text(_, path):
            if not _takes_text(schema):
                _wrong(draft, schema, "text", path, "make the whole value one ${…}")
        case Fields(items, path):
            if not _is(schema, "object"):
                _wrong(draft, schema, "a mapping", path, "")
                return
            literal = {key for key, _ in items if isinstance(key, str)}
            if len(literal) == len(items):
                _required(draft, literal, schema, path, top=top)
            for key, value in items:
                if isinstance(key, str):
                    check_field(draft, value, schema, key, path)
        case Items(items, path):
            if not _is(schema, "array"):
                _wrong(draft, schema, "a list", path, "")
                return
            for item in items:
                _check(draft, item, schema.element())
            _duplicates(draft, [_known(item, schema) for item in items], schema, path)
        case Broken():
            pass


def _constant(draft: Draft, value: Json, schema: Schema, path: Path, *, top: bool = False) -> None:
    if not _fits(value, schema):
        _wrong(draft, schema, named(value), path, _quoting(value, schema))
    elif schema.enum and not isinstance(value, dict | list) and value not in schema.enum:
        known = [str(each) for each in schema.enum]
        hint = nearest(str(value), known)
        draft.find("RE311", f"expected one of {', '.join(known[:12])}", path, hint)
    elif isinstance(value, dict) and schema.type in ("object", ""):
        _required(draft, set(value), schema, path, top=top)
        for key, item in value.items():
            below = schema.child(key)
            if below is None:
                _unknown(draft, key, schema, (*path, key))
            else:
                _constant(draft, item, below, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _constant(draft, item, schema.element(), (*path, index))
        _duplicates(draft, value, schema, path)


def _known(node: Node, schema: Schema) -> Json:
    """What of a list's element is known beforehand and tells it from others; None: too little."""
    if schema.list_type == "map":
        keys = {key: child(node, key) for key in schema.list_keys}
        if isinstance(node, Fields) and any(not isinstance(key, str) for key, _ in node.items):
            return None
        if all(each is None or isinstance(each, Constant) for each in keys.values()):
            return {key: each.value for key, each in keys.items() if isinstance(each, Constant)}
        return None
    return node.value if isinstance(node, Constant) else None


def _duplicates(draft: Draft, value: list[Any], schema: Schema, path: Path) -> None:
    seen: list[Any] = []
    for index, item in enumerate(value):
        if schema.list_type == "set" and item is not None:
            identity: Any = item
        elif schema.list_type == "map" and isinstance(item, dict):
            identity = [item.get(key, schema.key_defaults.get(key)) for key in schema.list_keys]
        else:
            continue
        if identity in seen:
            keys = ", ".join(schema.list_keys) or "value"
            draft.find("RE313", f"another element has the same {keys}", (*path, index), "remove one of them")
        seen.append(identity)


def _required(draft: Draft, names: set[str], schema: Schema, path: Path, *, top: bool) -> None:
    for name in sorted(schema.required - names):
        below = schema.child(name)
        if top or (below is not None and below.default is not MISSING):
            continue
        message = f"field {name} is missing, which the kind requires"
        draft.find("RE312", message, path, "add it", of_key=True, severity=Severity.WARNING)


def _unknown(draft: Draft, name: str, schema: Schema, path: Path) -> None:
    shown = name if len(name) <= 60 else f"{name[:60]}…"
    hint = nearest(name, schema.properties)
    draft.find("RE309", f"the kind has no field {shown!r} here", path, hint, of_key=True)


def _wrong(draft: Draft, schema: Schema, found: str, path: Path, hint: str) -> None:
    if any(finding.path == written(path) for finding in draft.findings):
        return  # what is wrong with the value is said already
    expected = "text or an integer" if schema.int_or_string else _WORDS.get(schema.type, "another type")
    draft.find("RE310", f"expected {expected}, found {found}", path, hint)


def _is(schema: Schema, kind: str) -> bool:
    return schema.type in (kind, "") and not schema.int_or_string


def _takes_text(schema: Schema) -> bool:
    return schema.type in ("string", "") or schema.int_or_string or schema.quantity


def _fits(value: Json, schema: Schema) -> bool:
    if schema.int_or_string:
        return isinstance(value, int | str) and not isinstance(value, bool)
    if schema.quantity:
        return isinstance(value, int | float | str) and not isinstance(value, bool)
    if not schema.type:
        return True
    if isinstance(value, bool):
        return schema.type == "boolean"
    return isinstance(value, _FITS.get(schema.type, (object,)))


def _quoting(value: Json, schema: Schema) -> str:
    if _takes_text(schema) and isinstance(value, bool | int | float):
        return "YAML reads it as another type: put it in quotes"
    if isinstance(value, str) and schema.type in ("integer", "number", "boolean"):
        return "remove the quotes"
    return ""


def _typed(draft: Draft, kind: cel.Type, schema: Schema, path: Path) -> None:
    """A spliced value whose type alone says that it cannot fit."""
    if kind.kind == "optional":
        kind = kind.params[0]
    found = cel.types.json_kind(kind)
    if not found or (not schema.type and not schema.int_or_string):
        return
    if schema.int_or_string or schema.quantity:
        fits = found in ("string", "integer") or (schema.quantity and found == "number")
    else:
        numbers = ("integer", "number")  # a double may well be whole
        fits = found == schema.type or (schema.type in numbers and found in numbers)
    if not fits:
        hint = (
            "write string(…)" if schema.type == "string" and found in ("integer", "number", "boolean") else ""
        )
        _wrong(draft, schema, f"an expression of {_WORDS[found]}", path, hint)
