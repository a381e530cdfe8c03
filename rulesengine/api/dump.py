"""JSON values to YAML, in the block style of `kubectl get -o yaml`.

Text is quoted wherever some reader of YAML could take it for something else: readers of
YAML 1.1, of 1.2 and kubectl's must all give the value back.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from rulesengine.api.scalars import plain
from rulesengine.core.json import Json

_NUMBER_LIKE = re.compile(r"[-+.]?[0-9][0-9a-fA-FoxXTtZ_:.+ -]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", "=", "<<"}


class _Dumper(yaml.SafeDumper):
    """Written out: no anchors and aliases for containers that are shared in memory."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  (PyYAML's signature)
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style: str | None = None
    if "\n" in value and _fits_a_block(value):
        style = "|"
    elif value.lower() in _WORDS or _NUMBER_LIKE.fullmatch(value) or not isinstance(plain(value), str):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _fits_a_block(value: str) -> bool:
    """Whether a literal block can hold the text: no line ends in a blank, the first has no indent."""
    lines = value.split("\n")
    if not lines[0] or lines[0][0] in " \t":
        return False
    return all(line.isprintable() and line == line.rstrip() for line in lines)


_Dumper.add_representer(str, _text)


def dump(value: Json) -> str:
    """`value` as one YAML document, keys in the order they have."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=10_000
    )
    return text.removesuffix("...\n")
