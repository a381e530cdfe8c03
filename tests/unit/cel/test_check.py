"""What is said of types before there are values."""

from __future__ import annotations

import pytest

from rulesengine import cel
from rulesengine.cel import types
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.schema import Schema, builtin


def builtin_type(group: str, kind: str) -> types.Type:
    return types.from_schema(builtin.schema(GroupVersionKind(group, "v1", kind)) or Schema.ANY)


STRING = Schema(type="string")
CUSTOM = types.from_schema(
    Schema(
        type="object",
        properties={
            "size": Schema(type="integer"),
            "ratio": Schema(type="number"),
            "port": Schema(int_or_string=True),
            "foo-bar": STRING,
            "namespace": STRING,
            "tags": Schema(type="object", additional=STRING),
            "items": Schema(
                type="array", items=Schema(type="object", properties={"n": Schema(type="integer")})
            ),
            "any": Schema(type="object", preserve_unknown=True, properties={"known": STRING}),
            "maybe": Schema(type="string", nullable=True),
        },
    )
)
ENV = cel.Env(
    {
        "object": builtin_type("apps", "Deployment"),
        "self": CUSTOM,
        "x": types.DYN,
        "names": types.record("names", {"a": types.INT}),
    }
)


def problems(text: str, expect: types.Type | None = None) -> list[tuple[str, str, str]]:
    """(code, the marked text, hint) of every problem."""
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(text, ENV, expect=expect)
    return [(p.code, text[p.offset : p.offset + p.length], p.hint) for p in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("object.spec.replicas", "int"),
        ("object.metadata.labels", "map(string, string)"),
        ("object.metadata.labels['a']", "string"),
        ("object.metadata.?labels[?'a']", "optional_type(string)"),
        ("object.metadata.?labels[?'a'].orValue('')", "string"),
        ("object.spec.template.spec.containers.map(c, c.image)", "list(string)"),
        ("object.spec.template.spec.containers.filter(c, c.name == 'a')[0].image", "string"),
        ("object.spec.template.spec.containers.transformMap(i, c, c.name)", "map(int, string)"),
        ("object.metadata.labels.map(k, k)", "list(string)"),
        ("self.ratio", "double"),
        ("self.port", "dyn"),
        ("self.tags", "map(string, string)"),
        ("self.items[0].n", "int"),
        ("self.any.known", "string"),
        ("self.any.other", "dyn"),
        ("self.maybe == null", "bool"),
        ("self.foo__dash__bar", "string"),
        ("self.`foo-bar`", "string"),
        ("self.__namespace__ + self.namespace", "string"),
        ("names.a", "int"),
        ("x.anything", "dyn"),
        ("[1, 'a']", "list(dyn)"),
        ("[]", "list(dyn)"),
        ("{}.map(k, k)", "list(dyn)"),
        ("true ? 1 : 2", "int"),
        ("true ? 'a' : null", "dyn"),
        ("x.?a.optMap(v, 1)", "optional_type(int)"),
        ("cel.bind(a, self.size, a + 1)", "int"),
        ("self == {'size': 1}", "bool"),
        ("size(self) + size(object.metadata)", "int"),
        ("int", "type(int)"),
        ("timestamp('2020-01-01T00:00:00Z') - duration('1h')", "google.protobuf.Timestamp"),
    ],
)
def test_types_are_deduced(text: str, kind: str) -> None:
    """Through schemas, macros, optionals and bindings."""
    assert str(cel.compile(text, ENV).type) == kind


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("objct.spec", [("RE202", "objct", "did you mean object?")]),
        ("[1].map(i, ii)", [("RE202", "ii", "did you mean i?")]),
        ("object.spec.replica", [("RE203", ".replica", "did you mean replicas?")]),
        ("object.spec['replica']", [("RE203", "['replica']", "did you mean replicas?")]),
        ("object.?spec.?replica", [("RE203", ".?replica", "did you mean replicas?")]),
        ("has(self.sise)", [("RE203", ".sise", "did you mean size?")]),
        ("self.items.all(i, i.m == 1)", [("RE203", ".m", "")]),
        ("names.b", [("RE203", ".b", "")]),
        ("self.size.x", [("RE204", ".x", "")]),
        ("self.size + 'a'", [("RE204", "+", "write string(…) around what is no string")]),
        ("self.size + 1.5", [("RE204", "+", "")]),
        ("self.size == 'a'", [("RE204", "==", "")]),
        ("self.size == null", [("RE204", "==", "")]),
        ("self.size && true", [("RE204", ".size", "")]),
        ("self.size ? 1 : 2", [("RE204", "?", "")]),
        ("x ? 1 : 'a'", [("RE204", "?", "write dyn(…) around one of them")]),
        ("self.size.map(i, i)", [("RE204", "map(i, i)", "")]),
        ("self.tags.orValue({})", [("RE204", "orValue({})", "write .?field or [?key] before it")]),
        ("self.?size > 1", [("RE204", ">", "unwrap the optional first: .orValue(…) or .value()")]),
        (
            "self.?tags[?'a'].startsWith('a')",
            [("RE204", "startsWith('a')", "unwrap the optional first: .orValue(…) or .value()")],
        ),
        ("self.size.startsWith('a')", [("RE204", "startsWith('a')", "")]),
        ("self.tags.startWith('a')", [("RE202", "startWith", "did you mean startsWith?")]),
        ("sise(self)", [("RE202", "sise", "did you mean size?")]),
        ("math.cel(1.0)", [("RE202", "math", ""), ("RE202", "cel", "")]),
        ("[?self.size]", [("RE204", ".size", "remove the ?")]),
        ("duration('1 day')", [("RE207", "'1 day'", "write it as '90s', '1h30m' or '250ms'")]),
        ("x.matches('(')", [("RE207", "'('", "the pattern is an RE2 regular expression")]),
        ("a + object.b + self.size.c", [("RE202", "a", ""), ("RE203", ".b", ""), ("RE204", ".c", "")]),
    ],
)
def test_mistakes_are_found_at_their_place(text: str, found: list[tuple[str, str, str]]) -> None:
    """All at once, each with what to do where that can be guessed."""
    assert problems(text) == found


def test_a_condition_yields_bool() -> None:
    """Anything else is a mistake where a condition stands; dyn is left to the value."""
    assert problems("self.size", types.BOOL) == [("RE205", ".size", "compare it with something")]
    assert cel.compile("x.a", ENV, expect=types.BOOL).evaluate({"x": {"a": True}}) is True


def test_an_error_is_said_once() -> None:
    """What follows from a mistake is no other mistake."""
    assert len(problems("nope.a.b + 1 == nope.c")) == 2
    assert len(problems("self.nope.startsWith('a') && self.nope > 1")) == 2


def test_names_resolve_in_the_container() -> None:
    """As the specification says: from the inside out; a leading dot asks for the outermost."""
    env = cel.Env({"a.b.x": types.INT, "x": types.STRING}, "a.b")
    assert str(cel.compile("x", env).type) == "int"
    assert str(cel.compile(".x", env).type) == "string"
    assert cel.compile("['l'].map(x, .x + x)[0]", env).evaluate({"x": "g", "a.b.x": 1}) == "gl"


def test_schemas_that_refer_to_themselves_end() -> None:
    """The schema of a CRD describes schemas."""
    env = cel.Env({"object": builtin_type("apiextensions.k8s.io", "CustomResourceDefinition")})
    deep = "object.spec.versions[0].schema.openAPIV3Schema" + ".not" * 40 + ".type"
    assert str(cel.compile(deep, env).type) == "string"


@pytest.mark.parametrize(
    "text",
    [
        "x" + ".map(i, [i, i])" * 30,
        "".join(f"cel.bind(a{n + 1}, [a{n}, a{n}], " for n in range(30)).replace("a0", "x")
        + "a30"
        + ")" * 30,
    ],
)
def test_values_cannot_double_without_end(text: str) -> None:
    """Shared parts make such values cheap to build and endless to read."""
    assert problems(text)[0][0] == "RE206"


def test_a_large_literal_is_no_doubling() -> None:
    """What is written once is held once."""
    text = "{" + ", ".join(f"'k{n}': [x.a, x.b, '{n}']" for n in range(500)) + "}"
    assert len(cel.compile(text, ENV).evaluate({"x": {"a": 1, "b": 2}})) == 500
