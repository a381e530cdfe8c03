"""Bodies of requests: decoded, recognised, checked for unknown fields, completed by defaults.

What comes out has the shape of its kind and is the caller's own to change.
"""

from __future__ import annotations

from collections.abc import Callable

from rulesengine.core import json
from rulesengine.core.errors import InvalidJSON
from rulesengine.core.json import Json, Object
from rulesengine.core.kinds import GroupKind
from rulesengine.embedded import conform, crds, defaults, protobuf, structs
from rulesengine.embedded.errors import Refused, bad_request, bad_value, invalid, media_type
from rulesengine.embedded.kinds import Kind
from rulesengine.embedded.validation import type_name
from rulesengine.schema import Schema, builtin

ACCEPTED = ("application/json", protobuf.CONTENT_TYPE, "application/yaml", "application/apply-patch+yaml")


def decode(body: bytes, content_type: str) -> Json:
    """The value of a body, JSON or YAML."""
    plain = content_type.partition(";")[0].strip()
    if plain == protobuf.CONTENT_TYPE:
        return protobuf.decode(body)
    if plain == "application/cbor":
        raise media_type(ACCEPTED)
    try:
        return json.decode(body)
    except InvalidJSON as error:
        if "yaml" not in content_type:
            raise bad_request("the body of the request is not JSON") from error
        return _yaml(body)


def _yaml(body: bytes) -> Json:
    from rulesengine import api  # noqa: PLC0415 - the YAML reader is only loaded for YAML bodies
    from rulesengine.core.errors import FindingsError  # noqa: PLC0415

    try:
        found = api.load_objects(body.decode(), "request", any_shape=True)
    except (UnicodeDecodeError, FindingsError) as error:
        raise bad_request("error decoding YAML: the body of the request is not YAML") from error
    return found[0] if len(found) == 1 else None


def decode_object(body: bytes, content_type: str, kind: str) -> Object:
    value = decode(body, content_type) if body else None
    if not isinstance(value, dict):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind"
        )
    return value


def identify(kind: Kind, namespace: str, body: Object, name: str = "") -> None:
    """Checks that a body is of this kind, namespace and name, and completes them in place."""
    wanted = kind.gvk
    said_version, said_kind = body.get("apiVersion"), body.get("kind")
    if kind.custom:
        _identify_custom(kind, body)
    if (said_version or wanted.api_version) != wanted.api_version or (
        said_kind or wanted.kind
    ) != wanted.kind:
        raise bad_request(
            f'{said_kind} in version "{str(said_version).rpartition("/")[2]}" cannot be handled as a '
            f'{wanted.kind}: no kind "{said_kind}" is registered for version "{said_version}"'
        )
    body["apiVersion"], body["kind"] = wanted.api_version, wanted.kind
    meta = body.setdefault("metadata", {})
    if not isinstance(meta, dict):
        raise bad_request("metadata must be an object")
    if kind.namespaced:
        if meta.get("namespace", namespace) != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = namespace
    elif meta.pop("namespace", ""):
        raise bad_request("namespace may not be set on a cluster-scoped object")
    if name:
        if meta.get("name", name) != name:
            raise bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
            )
        meta["name"] = name


def _identify_custom(kind: Kind, body: Object) -> None:
    """The same questions, as the server of custom resources asks them."""
    wanted, said = kind.gvk, body.get("apiVersion") or ""
    if said != wanted.api_version:
        raise bad_request(
            f"the API version in the data ({said}) does not match the expected API version "
            f"({wanted.api_version})"
        )
    if body.get("kind") != wanted.kind:
        cause = bad_value("kind", body.get("kind") or "", f"must be {wanted.kind}")
        meta = body.get("metadata")
        name = str(meta.get("name", "")) if isinstance(meta, dict) else ""
        raise invalid(GroupKind(wanted.group, str(body.get("kind") or "")), name, [cause])


def fit(kind: Kind, body: Object, validation: str) -> tuple[str, ...]:
    """Prunes and completes an object in place; returns warnings, or refuses unknown fields."""
    _check_types(kind, body)
    unknown = conform.prune(kind.schema, body, custom=kind.custom)
    if unknown and validation == "Strict":
        listed = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise bad_request(f"{_handled(kind)}strict decoding error: {listed}")
    default(kind, body)
    return tuple(f'unknown field "{path}"' for path in unknown) if validation == "Warn" else ()


def _handled(kind: Kind) -> str:
    return f'{kind.gvk.kind} in version "{kind.gvk.version}" cannot be handled as a {kind.gvk.kind}: '


def default(kind: Kind, body: Object) -> None:
    """Defaults of the schema and of the kind, in place."""
    if kind.custom:
        conform.default(kind.schema, body, custom=True)
        conform.drop_nulls(body["metadata"])
        structs.reduce_metadata(body["metadata"])
        return
    conform.drop_nulls(body)
    structs.reduce(kind.gvk, body)
    conform.default(kind.schema, body, custom=False)
    if kind.collection == crds.COLLECTION:
        crds.complete(body)
    else:
        defaults.apply(kind.gvk.group, kind.gvk.kind, body)


def _check_types(kind: Kind, body: Object) -> None:
    """A Go struct cannot hold values of another type: the request fails as a whole."""
    if kind.custom:
        wrong = _mismatch(builtin.object_meta(), body["metadata"], "metadata")
    else:
        wrong = _mismatch(kind.schema, body, "")
    if wrong is not None:
        path, value, wanted = wrong
        raise bad_request(
            f"{_handled(kind)}json: cannot unmarshal {_GO.get(type_name(value), type_name(value))} into Go "
            f"struct field {kind.gvk.kind}.{path} of type {wanted}"
        )


_GO = {"integer": "number", "boolean": "bool"}
_PLAIN: dict[str, Callable[[Json], bool]] = {
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
}


def _mismatch(schema: Schema, value: Json, path: str) -> tuple[str, Json, str] | None:
    if value is None or schema.int_or_string or schema.quantity:
        return None
    test = _PLAIN.get(schema.type)
    if test is not None and not test(value):
        if schema.type == "integer" and isinstance(value, float) and value.is_integer():
            return None
        return (
            path,
            value,
            {"integer": "int32", "boolean": "bool", "array": "[]", "object": "map"}.get(
                schema.type, schema.type
            ),
        )
    if isinstance(value, dict):
        for key, each in value.items():
            known = schema.properties.get(key, schema.additional)
            if known is not None:
                below = key if not path else path if key not in schema.properties else f"{path}.{key}"
                if (found := _mismatch(known, each, below)) is not None:
                    return found
    elif isinstance(value, list) and schema.items is not None:
        for each in value:
            if (found := _mismatch(schema.items, each, path)) is not None:
                return found
    return None


def refused_as_invalid(error: Exception, code: int) -> Refused:
    """A failure of server-side apply to read the configuration, in the server's form."""
    return Refused(code, "BadRequest" if code == 400 else "", str(error))
