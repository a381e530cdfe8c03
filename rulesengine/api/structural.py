"""The models as CustomResourceDefinitions.

The schemas are structural: every field has one type, references are written out, and
"exactly one of" is a `oneOf` of `required`. What a rule says more about a value (CEL, names
that must exist) the engine checks.
"""

from __future__ import annotations

from rulesengine.api.models import GROUP, VERSION, ClusterRule, Model, Rule, RuleStatus
from rulesengine.api.shape import by_alias, model_of
from rulesengine.core.json import Object

_DROPPED = {"title", "additionalProperties", "const", "$defs"}
_COLUMNS: tuple[tuple[str, str, str, str], ...] = (
    ("Mode", "string", ".spec.mode", "Enforce, DryRun or Suspended."),
    (
        "Ready",
        "string",
        '.status.conditions[?(@.type=="Ready")].status',
        "Whether every work item converged.",
    ),
    ("Matched", "integer", ".status.matched", "Sources past all conditions."),
    ("Converged", "integer", ".status.converged", "Sources whose resources are as wanted."),
    ("Failed", "integer", ".status.failed", "Sources with a failure."),
    ("Age", "date", ".metadata.creationTimestamp", "When the rule was made."),
)


def crds() -> list[Object]:
    """The CRDs of all kinds, as plain objects."""
    return [_crd(ClusterRule), _crd(Rule)]


def _crd(model: type[ClusterRule | Rule]) -> Object:
    kind = model.__name__
    version: Object = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": name, "type": type_, "jsonPath": path, "description": text}
            for name, type_, path, text in _COLUMNS
        ],
        "schema": {"openAPIV3Schema": _whole(model)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{model.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if model.namespaced else "Cluster",
            "names": {
                "plural": model.plural,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
                "shortNames": [model.short_name],
                "categories": ["rulesengine"],
            },
            "versions": [version],
        },
    }


def _whole(model: type[ClusterRule | Rule]) -> Object:
    spec = model.model_fields["spec"]
    body, _ = model_of(spec.annotation)
    assert body is not None
    return {
        "type": "object",
        "description": _prose(model.__doc__),
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "rulesengine.dev/v1alpha1"},
            "kind": {"type": "string", "description": model.__name__},
            "metadata": {"type": "object"},
            "spec": {**_schema(body), "description": spec.description},
            "status": _schema(RuleStatus),
        },
    }


def _schema(model: type[Model]) -> Object:
    """The structural schema of a model, references written out."""
    whole = model.model_json_schema(by_alias=True, mode="validation")
    schema = _inlined(whole, whole.get("$defs", {}))
    _choices(model, schema)
    return schema


def _inlined(schema: Object, definitions: Object) -> Object:
    if "$ref" in schema:
        target = definitions[schema["$ref"].rpartition("/")[2]]
        return _inlined({**target, **{k: v for k, v in schema.items() if k != "$ref"}}, definitions)
    optional = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if len(optional) == 1:
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return _inlined({**optional[0], **rest}, definitions)
    result: Object = {}
    for name, value in schema.items():
        if name == "properties":
            result[name] = {key: _inlined(part, definitions) for key, part in value.items()}
        elif name == "items" or (name == "additionalProperties" and isinstance(value, dict)):
            result[name] = _inlined(value, definitions)
        elif name == "description":
            result[name] = _prose(value)
        elif name == "default" and value in (None, [], {}, ""):
            continue  # absent says the same
        elif name not in _DROPPED:
            result[name] = value
    return result


def _choices(model: type[Model], schema: Object) -> None:
    """Adds what the models say about fields that exclude each other, all the way down."""
    for names in model.exactly_one:
        schema["oneOf"] = [{"required": [name]} for name in names]
    for alias, info in by_alias(model).items():
        inner, many = model_of(info.annotation)
        if inner is not None:
            field = schema["properties"][alias]
            _choices(inner, field["items"] if many else field)


def _prose(text: str | None) -> str:
    return " ".join((text or "").split())
