"""Small pure parts: quantities, ages, JSONPaths."""

from __future__ import annotations

import pytest

from rulesengine.embedded.cells import span
from rulesengine.embedded.jsonpaths import find
from rulesengine.schema.quantities import canonical


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("1000m", "1"), ("1500m", "1500m"), ("0.5", "500m"), ("1024Mi", "1Gi"), ("1000Mi", "1000Mi"),
        ("0", "0"),
        ("1.5Gi", "1536Mi"), ("1000k", "1M"), ("1e3", "1e3"), ("12e6", "12e6"), ("0.1n", "1n"), ("x", "x"),
        ("100", "100"), ("2000", "2k"), ("-1000m", "-1"), ("1Ki", "1Ki"), ("0.5Ki", "512"),
    ],
)  # fmt: skip
def test_quantities_are_canonical(given: str, expected: str) -> None:
    """As k8s.io/apimachinery's Quantity writes them."""
    assert canonical(given) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (660, "11m"), (10800, "3h"), (11100, "3h5m"),
     (86400 * 3, "3d"), (86400 * 3 + 7200, "3d2h"), (86400 * 800, "2y70d"), (-10, "<invalid>")],
)  # fmt: skip
def test_ages_are_short(seconds: int, expected: str) -> None:
    """As kubectl prints them."""
    assert span(seconds) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".a.b", [1]), ("{.a.b}", [1]), (".a.c", []), (".l[0].n", ["x"]), (".l[*].n", ["x", "y"]),
        (".l[9].n", []),
        ('.l[?(@.n=="y")].v', [2]), (".m['a.b/c']", [3]), (r".m.a\.b/c", [3]), (".l[", []),
    ],
)  # fmt: skip
def test_paths_of_printer_columns(path: str, expected: list[object]) -> None:
    """Fields, indexes, wildcards and filters; nothing for what is not understood."""
    body = {"a": {"b": 1}, "l": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "m": {"a.b/c": 3}}
    assert find(path, body) == expected
