"""Objects against their schema, and names against the rules of names: causes, all at once.

The texts are those of the real server (k8s.io/kube-openapi's validator and
apimachinery's field errors). Expressions (`x-kubernetes-validations`) are not evaluated yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.embedded import errors
from rulesengine.embedded.errors import Cause
from rulesengine.schema import Schema

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
    "used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME_PART_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))
# Kinds whose names are not DNS subdomains.
PATH_NAMES = frozenset(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"))
LABEL_NAMES = frozenset(("Namespace", "Service"))


def metadata(kind: str, meta: Object, *, custom: bool) -> list[Cause]:
    """Name, labels, annotations and owners of an object."""
    found = list(_name(kind, meta))
    for key, value in (meta.get("labels") or {}).items():
        found += [errors.bad_value("metadata.labels", key, text) for text in _qualified(key)]
        if isinstance(value, str):
            if len(value) > 63:
                text = "must be no more than 63 bytes"
                found.append(errors.bad_value("metadata.labels", value, text))
            if not LABEL_VALUE.fullmatch(value):
                found.append(errors.bad_value("metadata.labels", value, _LABEL_VALUE_TEXT))
    for key in meta.get("annotations") or {}:
        found += [errors.bad_value("metadata.annotations", key, text) for text in _qualified(key.lower())]
    if not custom:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        found += [
            errors.bad_value(f"metadata.finalizers[{index}]", each, text)
            for index, each in enumerate(meta.get("finalizers") or ())
            if "/" not in each and each not in STANDARD_FINALIZERS
        ]
    for index, owner in enumerate(meta.get("ownerReferences") or ()):
        found += [
            errors.required(f"metadata.ownerReferences[{index}].{field}", "must not be empty")
            for field in ("apiVersion", "kind", "name", "uid")
            if not owner.get(field)
        ]
    return found


def _name(kind: str, meta: Object) -> list[Cause]:
    name = meta.get("name", "")
    if not name:
        return [errors.required("metadata.name", "name or generateName is required")]
    return [errors.bad_value("metadata.name", name, text) for text in name_problems(kind, name)]


def name_problems(kind: str, name: str) -> list[str]:
    if kind in PATH_NAMES:
        bad = [f"may not be '{name}'"] if name in (".", "..") else []
        return bad + [f"may not contain '{char}'" for char in "/%" if char in name]
    if kind in LABEL_NAMES:
        pattern, text, limit = LABEL, _LABEL_TEXT, 63
    else:
        pattern, text, limit = SUBDOMAIN, _SUBDOMAIN_TEXT, 253
    found = [f"must be no more than {limit} bytes"] if len(name) > limit else []
    return found if pattern.fullmatch(name) else [*found, text]


@lru_cache(maxsize=4096)
def _qualified(key: str) -> tuple[str, ...]:
    """Problems of a label's or annotation's key."""
    prefix, slash, name = key.rpartition("/")
    found = []
    if slash and not (prefix and len(prefix) <= 253 and SUBDOMAIN.fullmatch(prefix)):
        found.append(f"prefix part {_SUBDOMAIN_TEXT}" if prefix else "prefix part must be non-empty")
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append("name part must be no more than 63 bytes")
    if not NAME_PART.fullmatch(name):
        found.append(_NAME_PART_TEXT)
    return tuple(found)


# --- values ---


def check(schema: Schema, body: Object, *, custom: bool) -> list[Cause]:
    """What is wrong with an object's fields (metadata aside)."""
    found: list[Cause] = []
    for key, each in schema.properties.items():
        if key not in ("apiVersion", "kind", "metadata") and key in body:
            if key == "status" and not custom:
                continue  # written by controllers, in forms that are not the schema's business
            _check(each, body[key], key, found, custom)
    found += [errors.required(key) for key in sorted(schema.required) if key not in body]
    return found


def _check(schema: Schema, value: Any, path: str, found: list[Cause], custom: bool) -> None:
    if value is None:
        if custom and not schema.nullable and schema.type:
            found.append(_wrong_type(path, schema, "null"))
        return
    if not _fits(schema, value):
        found.append(_wrong_type(path, schema, type_name(value)))
        return
    if schema.enum and value not in schema.enum:
        found.append(errors.unsupported(path, value, schema.enum))
    if isinstance(value, str):
        _check_string(schema, value, path, found)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_number(schema, value, path, found)
    elif isinstance(value, list):
        _check_list(schema, value, path, found, custom)
    elif isinstance(value, dict):
        _check_object(schema, value, path, found, custom)
    _check_logic(schema, value, path, found, custom)


def _fits(schema: Schema, value: Any) -> bool:
    if schema.int_or_string:
        return isinstance(value, (int, str)) and not isinstance(value, bool)
    return schema.type not in _TYPES or _TYPES[schema.type](value)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: (
        (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer())
    ),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}


def type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = ((dict, "object"), (list, "array"), (str, "string"), (int, "integer"), (float, "number"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def _wrong_type(path: str, schema: Schema, found: str) -> Cause:
    wanted = "integer,string" if schema.int_or_string else schema.type
    text = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
    return Cause("FieldValueTypeInvalid", path, text)


def _invalid(path: str, value: Any, what: str) -> Cause:
    return errors.bad_value(path, value, f"{path} in body {what}")


def _check_string(schema: Schema, value: str, path: str, found: list[Cause]) -> None:
    if schema.max_length is not None and len(value) > schema.max_length:
        limit = f"may not be more than {schema.max_length} bytes"
        found.append(Cause("FieldValueTooLong", path, f"Too long: {limit}"))
    elif schema.min_length is not None and len(value) < schema.min_length:
        found.append(_invalid(path, value, f"should be at least {schema.min_length} chars long"))
    elif schema.pattern and not _matches(schema.pattern, value):
        found.append(_invalid(path, value, f"should match '{schema.pattern}'"))
    test = FORMATS.get(schema.format)
    if test is not None and not test(value):
        found.append(_invalid(path, value, f"must be of type {schema.format}: {errors.shown(value)}"))


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text, re.ASCII)
    except re.error:  # RE2 syntax that Python lacks: not checked rather than wrongly refused
        return None


def _matches(pattern: str, value: str) -> bool:
    compiled = _pattern(pattern)
    return compiled is None or compiled.search(value) is not None


_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": lambda v: _DATE_TIME.fullmatch(v) is not None,
    "date": lambda v: re.fullmatch(r"\d{4}-\d\d-\d\d", v) is not None,
    "uuid": lambda v: re.fullmatch(r"(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", v) is not None,
    "ipv4": lambda v: re.fullmatch(r"(\d{1,3}\.){3}\d{1,3}", v) is not None,
}


def _check_number(schema: Schema, value: float, path: str, found: list[Cause]) -> None:
    low, high = schema.minimum, schema.maximum
    if low is not None and (value < low or (schema.exclusive_minimum and value == low)):
        how = "greater than" if schema.exclusive_minimum else "greater than or equal to"
        found.append(_invalid(path, value, f"should be {how} {_number(low)}"))
    if high is not None and (value > high or (schema.exclusive_maximum and value == high)):
        how = "less than" if schema.exclusive_maximum else "less than or equal to"
        found.append(_invalid(path, value, f"should be {how} {_number(high)}"))
    if schema.multiple_of and value % schema.multiple_of:
        found.append(_invalid(path, value, f"should be a multiple of {_number(schema.multiple_of)}"))


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _check_list(schema: Schema, value: list[Any], path: str, found: list[Cause], custom: bool) -> None:
    if schema.max_items is not None and len(value) > schema.max_items:
        text = f"Too many: {len(value)}: must have at most {schema.max_items} items"
        found.append(Cause("FieldValueTooMany", path, text))
    if schema.min_items is not None and len(value) < schema.min_items:
        found.append(_invalid(path, len(value), f"should have at least {schema.min_items} items"))
    if custom and schema.list_type in ("set", "map"):
        found += _duplicates(schema, value, path)
    if schema.items is not None:
        for index, each in enumerate(value):
            _check(schema.items, each, f"{path}[{index}]", found, custom)


def _duplicates(schema: Schema, value: list[Any], path: str) -> list[Cause]:
    seen: set[bytes] = set()
    found = []
    for index, each in enumerate(value):
        identity = each
        if schema.list_type == "map" and isinstance(each, dict):
            identity = {k: each.get(k, schema.key_defaults.get(k)) for k in schema.list_keys}
        mark = json.encode_sorted(identity)
        if mark in seen:
            found.append(errors.duplicate(f"{path}[{index}]", identity))
        seen.add(mark)
    return found


def _check_object(schema: Schema, value: Object, path: str, found: list[Cause], custom: bool) -> None:
    found += [
        errors.required(f"{path}.{key}")
        for key in sorted(schema.required)
        if key not in value or (not custom and key == "containers" and not value[key])
    ]
    if schema.max_properties is not None and len(value) > schema.max_properties:
        text = f"Too many: {len(value)}: must have at most {schema.max_properties} items"
        found.append(Cause("FieldValueTooMany", path, text))
    if schema.min_properties is not None and len(value) < schema.min_properties:
        found.append(_invalid(path, value, f"should have at least {schema.min_properties} properties"))
    for key, each in value.items():
        named = schema.properties.get(key)
        if named is not None:
            _check(named, each, f"{path}.{key}", found, custom)
        elif schema.additional is not None:
            below = f"{path}.{key}" if custom else f"{path}[{key}]"
            _check(schema.additional, each, below, found, custom)


def _check_logic(schema: Schema, value: Any, path: str, found: list[Cause], custom: bool) -> None:
    for each in schema.all_of:
        _check(each, value, path, found, custom)
    if schema.any_of and not any(_holds(each, value, custom) for each in schema.any_of):
        found.append(_composed(path, value, "must validate at least one schema (anyOf)"))
    if schema.one_of and sum(_holds(each, value, custom) for each in schema.one_of) != 1:
        found.append(_composed(path, value, "must validate one and only one schema (oneOf)"))
    if schema.negated is not None and _holds(schema.negated, value, custom):
        found.append(_composed(path, value, "must not validate the schema (not)"))


def _composed(path: str, value: Any, what: str) -> Cause:
    return errors.bad_value(path, value, f'"{path}" {what}')


def _holds(schema: Schema, value: Any, custom: bool) -> bool:
    found: list[Cause] = []
    _check(schema, value, "", found, custom)
    return not found
