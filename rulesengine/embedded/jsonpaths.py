"""The part of JSONPath that printer columns use: fields, indexes, wildcards, equality filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[Any], list[Any]]

_STEP = re.compile(
    r"""\.?\[\s*\?\(\s*@\.(?P<left>[^=!<>\s]+)\s*(?P<op>==|!=)\s*(?P<right>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\s*\]
      | \.?\['(?P<quoted>[^']*)'\] | \.?\["(?P<double>[^"]*)"\]
      | \.?\[(?P<index>-?\d+)\] | \.?\[(?P<all>\*)\] | \.(?P<star>\*)
      | \.(?P<name>(?:\\.|[^.\[\\])+)""",
    re.VERBOSE,
)


def find(path: str, body: Any) -> list[Any]:
    """All values that a path leads to; none where it leads nowhere or is not understood."""
    values = [body]
    for step in _steps(path):
        values = [found for value in values for found in step(value)]
    return values


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if text and text[0] not in ".[":
        text = f".{text}"
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            return (lambda _: [],)
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["left"] is not None:
        right = match["right"].strip("\"'")
        return _filter(match["left"], match["op"] == "==", right)
    if match["index"] is not None:
        return _index(int(match["index"]))
    if match["all"] or match["star"]:
        return _all
    name = match["quoted"] if match["quoted"] is not None else match["double"]
    if name is None:
        name = re.sub(r"\\(.)", r"\1", match["name"])
    return _field(name)


def _field(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _index(position: int) -> Step:
    def step(value: Any) -> list[Any]:
        fits = isinstance(value, list) and -len(value) <= position < len(value)
        return [value[position]] if fits else []

    return step


def _all(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _filter(left: str, equal: bool, right: str) -> Step:
    def step(value: Any) -> list[Any]:
        items = value if isinstance(value, list) else []
        return [each for each in items if (_text(find(f".{left}", each)) == right) is equal]

    return step


def _text(values: list[Any]) -> str:
    if not values:
        return ""
    value = values[0]
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
