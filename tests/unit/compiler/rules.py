"""Rules for the tests of the compiler: a body of spec, compiled against Kubernetes' own kinds."""

from rulesengine import api, schema
from rulesengine.compiler import compile_rule
from rulesengine.core.errors import FindingsError

KINDS = {resource.gvk: resource for resource in schema.builtin.resources()}

HEAD = """apiVersion: rulesengine.dev/v1alpha1
kind: ClusterRule
metadata: {name: example}
spec:
"""
POD = "  for: {apiVersion: v1, kind: Pod}\n"
MAP = """  - name: made
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: made}
"""


def models(text):
    found, findings = api.rules_from(text, "rule.yaml")
    assert [finding.render() for finding in findings] == []
    return found


def compiled(spec, *, head=HEAD, source=POD, schemas=schema.builtin.schema):
    """The compiled rule of a spec without its `for`."""
    (model,) = models(head + source + spec)
    return compile_rule(model, schemas=schemas, resources=KINDS.get)


def problems(spec, **more):
    """(code, line, column) of every finding, and the findings."""
    try:
        found = compiled(spec, **more).warnings
    except FindingsError as error:
        found = error.findings
    return [(f.code, f.span.line, f.span.column) for f in found], found


def data(body):
    """A spec with one ConfigMap whose `data` is given as flow YAML."""
    return f"  resources:\n{MAP}      data: {body}\n"


def rendered(body, **names):
    """The data of that ConfigMap, rendered."""
    (resource,) = compiled(data(body), schemas=lambda _gvk: None).resources
    return resource.template.render(names)["data"]
