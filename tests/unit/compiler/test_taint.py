"""Which fields hold values of Secrets, however they came there."""

import pytest

from tests.unit.compiler.rules import compiled, problems

SECRET = "  for: {apiVersion: v1, kind: Secret}\n"
ENTRY = """  - name: {name}
    template:
      apiVersion: v1
      kind: {kind}
      metadata: {{name: {name}}}
      data: {{a: "{value}"}}
"""


def hidden(*entries, more="", source=SECRET):
    """The hidden fields of each entry, given as (name, kind, value)."""
    spec = more + "  resources:\n"
    spec += "".join(ENTRY.format(name=name, kind=kind, value=value) for name, kind, value in entries)
    rule = compiled(spec, source=source)
    return {resource.name: set(resource.hidden) for resource in rule.resources}


A = ("data", "a")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("${object.data.x}", {A}),
        ("x ${object.?data[?'x'].orValue('')}", {A}),
        ("${json.marshal(object)}", {A}),
        ("${hash.sha256(object.data.x)}", {A}),
        ("${object.metadata.name}", set()),
        ("${object.type}", set()),
        ("${object.data.map(k, k + object.data[k]).join('')}", {A}),
        ("constant", set()),
    ],
)
def test_what_is_read_of_a_secret_taints(value, found):
    """All but its metadata and type."""
    assert hidden(("s", "Secret", value)) == {"s": found}


def test_through_variables_and_other_entries():
    """A ConfigMap that holds a Secret's value taints whoever reads that field, and nobody else."""
    more = "  variables: [{name: v, expression: object.data.x}]\n"
    found = hidden(
        ("s", "Secret", "${variables.v}"),
        ("c", "ConfigMap", "${resources.s.data.a}"),
        ("d", "ConfigMap", "${resources.c.data.a}"),
        ("e", "ConfigMap", "${resources.c.metadata.uid}"),
        more=more,
    )
    assert found == {"s": {A}, "c": {A}, "d": {A}, "e": set()}


def test_sources_that_are_no_secrets_taint_nothing():
    """A ConfigMap's data are everybody's."""
    assert hidden(
        ("c", "ConfigMap", "${object.data.x}"), source="  for: {apiVersion: v1, kind: ConfigMap}\n"
    ) == {"c": set()}


def codes(value, kind="ConfigMap"):
    spec = "  resources:\n" + ENTRY.format(name="c", kind=kind, value=value)
    return [code for code, _, _ in problems(spec, source=SECRET)[0]]


def test_a_value_in_the_open_is_said():
    """A Secret of it, or a digest, is not."""
    assert codes("${object.data.x}") == ["RE336"]
    assert codes("${hash.sha256(object.data.x)}") == []
    assert codes("${object.data.x}", kind="Secret") == []
    spec = "  sourceStatus: {value: {message: '${object.data.x}'}}\n"
    assert "RE336" in [code for code, _, _ in problems(spec, source=SECRET)[0]]


def test_a_value_is_no_name():
    """Names stand in status, events and logs."""
    body = "{apiVersion: v1, kind: Secret, metadata: {name: '%s'}}"
    spec = "  resources:\n  - name: a\n    template: " + body
    assert [c for c, _, _ in problems(spec % "${object.data.x}" + "\n", source=SECRET)[0]] == ["RE329"]
    assert problems(spec % "${hash.md5(object.data.x)}" + "\n", source=SECRET)[0] == []
