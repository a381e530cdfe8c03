"""YAML means here what it means to kubectl, and no text can do harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulesengine import api
from rulesengine.core.errors import FindingsError


def value(text):
    (found,) = api.load_objects(f"k: {text}", "f.yaml", any_shape=True)
    return found["k"]


def codes(text):
    return [finding.code for finding in api.load(text, "f.yaml").findings]


# What sigs.k8s.io/yaml v1.6.0 (the library of kubectl) gave for each text.
SCALARS = [
    ("y", True), ("Y", True), ("on", True), ("Yes", True), ("n", False), ("off", False), ("NO", False),
    ("true", True), ("yEs", "yEs"), ("~", None), ("", None), ("NULL", None), ("nUll", "nUll"),
    ("0777", 511), ("0o17", 15), ("-0777", -511), ("08", 8), ("0_7", 7), ("00", 0), ("0x1F", 31),
    ("0X1F", 31), ("0x1_F", 31), ("-0x1F", -31), ("0b11", 3), ("-0b11", -3), ("0x", "0x"), ("0b", "0b"),
    ("1_000", 1000), ("_1", "_1"), ("1_", 1), ("+1", 1), ("1:30", "1:30"), ("2001-01-01", "2001-01-01"),
    ("1e3", 1000), ("1.5e3", 1500), ("1.", 1), (".5", 0.5), ("+.5", 0.5), ("1.0", 1), ("-0.0", 0),
    ("1e", "1e"), (".e3", ".e3"), ("1e400", "1e400"), ("0.1", 0.1), ("0x1p4", "0x1p4"), ("nan", "nan"),
    ("9223372036854775807", 2**63 - 1), ("=", "="), ("!!str 5", "5"), ("!!int '5'", 5),
    ("!!binary aGk=", "hi"), ("!!bool yes", True), ("'5'", "5"), ('"yes"', "yes"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SCALARS)
def test_scalars_mean_what_kubectl_makes_of_them(text, expected):
    """Booleans, integers, floats and text are told apart as kubectl does it."""
    found = value(text)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize("text", ["18446744073709551615", "99999999999999999999999"])
def test_integers_beyond_64_bits_become_floats(text):
    """As in the API server, which has no larger integers."""
    assert type(value(text)) is float


@pytest.mark.parametrize(
    ("text", "key"),
    [("1: a", "1"), ("1.5: a", "1.5"), ("true: a", "true"), ("on: a", "true"), ("0x10: a", "16")],
)
def test_keys_become_text(text, key):
    """Keys that YAML reads as numbers or booleans are spelled as JSON spells them."""
    assert api.load_objects(text, "f", any_shape=True) == [{key: "a"}]


def test_merge_keys_and_anchors_are_followed():
    """`<<` brings fields in, later fields of the mapping win, and copies do not share memory."""
    text = "x: &x {a: 1, l: [1]}\nz: {<<: *x, a: 2}\nw: *x"
    (found,) = api.load_objects(text, "f", any_shape=True)
    assert found["z"] == {"a": 2, "l": [1]}
    assert found["w"]["l"] is not found["x"]["l"]


def test_every_problem_of_a_document_is_found_and_other_documents_are_read():
    """One broken document does not hide the others."""
    loaded = api.load("a: 1\na: 2\n[x]: 3\n---\nb: [1\n---\nc: 3\n", "f.yaml")
    assert [f.code for f in loaded.findings] == ["RE003", "RE004", "RE002"]
    assert [d.value for d in loaded.documents] == [{"c": 3}]


def test_a_repeated_key_says_how_yaml_read_it():
    """`y` and `on` are both the key "true": the hint says so."""
    (finding,) = api.load("on: 1\ny: 2\n", "f.yaml").findings
    assert (finding.span.line, finding.span.column) == (2, 1)
    assert "quote" in finding.hint


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff\xfe\x00", "RE001"),
        (b"a: \x00b", "RE001"),
        (b"a: \x1b[31m", "RE001"),
        (b"a:\n\t- b", "RE002"),
        (b"a: .inf", "RE009"),
        (b"a: -.NaN", None),
        (b"a: *b", "RE007"),
        (b"a: &a [*a]", "RE007"),
        (b"a: !!python/object:os.system x", "RE008"),
        (b"? [a]\n: b", "RE004"),
        (b"~: b", "RE004"),
        ("a: \ud800".encode("utf-8", "surrogatepass"), "RE001"),
        (b"[" * 5000, "RE002"),
        (b"[" * 120 + b"]" * 120, "RE005"),
        (b"- " * 5000, "RE005"),
        (b"{a: " * 5000 + b"}" * 5000, "RE005"),
        (b'{"a": ' * 90 + b"1" + b"}" * 90, None),
        ("\ufeffa: 1".encode(), None),
        (b"a: 1\r\nb: 2\r\n", None),
        (b"", None),
        (b"%YAML 1.1\n---\na: 1\n...\n", None),
    ],
)
def test_hostile_bytes_give_findings(data, code):
    """Whatever the bytes are, the outcome is a value or a finding with a place."""
    loaded = api.load(data, "f.yaml")
    assert [f.code for f in loaded.findings] == ([code] if code else [])
    assert all(f.span is not None for f in loaded.findings)


def test_aliases_cannot_blow_up():
    """A "billion laughs" is refused before it takes memory; a few hundred aliases are fine."""
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
    )
    assert codes(laughs) == ["RE006"]
    assert codes("a: &a {b: 1}\nl: [" + ", ".join(["*a"] * 500) + "]") == []


def test_lists_of_objects_are_opened():
    """`kind: List` and `FooList` hold objects; a bad item is a finding at its place."""
    text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n"
    text += "- {apiVersion: v1, kind: BList, items: []}\n"
    assert [o["kind"] for o in api.load_objects(text, "f")] == ["A"]
    with pytest.raises(FindingsError) as error:
        api.load_objects(text + "- 3\n", "f")
    assert error.value.findings[0].span.line == 6


TEXTS = st.text(
    alphabet=st.sampled_from(list("ab:-{}[]#&*!|>'\"%@`,?~<= \n\t0123.yn")) | st.characters(), max_size=60
)


@given(TEXTS)
def test_no_text_gives_an_exception(text):
    """Only findings come out of bad text."""
    api.load(text, "f.yaml")
    api.rules_from(text, "f.yaml")


@given(st.binary(max_size=60))
def test_no_bytes_give_an_exception(data):
    """Not even bytes that are no text."""
    api.rules_from(data, "f.yaml")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"])),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(alphabet="abyn01.:#~- ", max_size=6), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def normal(found):
    """Floats without a fraction are integers once they went through Go's JSON."""
    if isinstance(found, dict):
        return {k: normal(v) for k, v in found.items()}
    if isinstance(found, list):
        return [normal(v) for v in found]
    if isinstance(found, float) and found.is_integer() and -(2**63) <= found < 2**63:
        return int(found)
    return found


@given(JSON)
def test_what_is_dumped_is_read_back(given_value):
    """Text that could be taken for something else is quoted."""
    (found,) = api.load_objects(api.dump({"k": given_value}), "f", any_shape=True)
    assert found == {"k": normal(given_value)}


def test_dump_writes_as_kubectl_does():
    """Block style, lists not indented, ambiguous text in double quotes, long text as a block."""
    shown = api.dump(
        {
            "a": [{"b": "1"}, "yes", "x: y"],
            "c": {},
            "d": "line\nline\n",
            "e": "1:30",
            "y": "=",
            "t": "2001-01-01",
        }
    )
    assert shown == (
        'a:\n- b: "1"\n- "yes"\n- \'x: y\'\nc: {}\nd: |\n  line\n  line\n'
        'e: "1:30"\n"y": "="\nt: "2001-01-01"\n'
    )
