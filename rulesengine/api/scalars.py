"""Plain scalars to JSON values, as kubectl reads them.

kubectl reads YAML with sigs.k8s.io/yaml: YAML 1.1 words for booleans, C-like integers, no
sexagesimal numbers, dates stay text; then everything passes through Go's JSON, where a float
without a fraction becomes an integer. Both steps are repeated here, so that a file means the
same to `check` as to `kubectl apply`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Final, TypeAlias

Plain: TypeAlias = bool | int | float | str | None

TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, Plain]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LARGEST: Final = 2**63
_LONGEST: Final = 400  # digits; no float needs more, and int() refuses much longer ones


class UnusableTag(ValueError):
    """An explicit tag that does not exist in JSON or does not fit the text."""


def plain(text: str) -> Plain:
    """The value of an unquoted scalar without a tag. May be an infinity or NaN."""
    first = text[:1]
    if first and first not in "0123456789+-.yYnNtTfFoO~":
        return text
    if text in _WORDS:
        return _WORDS[text]
    if first not in "0123456789+-.":
        return text
    number = _number(text.replace("_", ""))
    return text if number is None else number


def tagged(tag: str, text: str, *, quoted: bool) -> Plain:
    """The value of a scalar with an explicit tag (`!!int "5"`); raises UnusableTag."""
    if tag in ("!", f"{TAG}str"):
        return text
    if tag == f"{TAG}binary":
        return _binary(text)
    short = tag.removeprefix(TAG)
    if tag == short or short not in ("null", "bool", "int", "float", "timestamp"):
        raise UnusableTag(f"tag {_shown(tag)} has no meaning here")
    if short == "timestamp":
        return text
    value = plain(text)
    fits = {
        "null": value is None,
        "bool": isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
    }[short]
    if not fits and not (short == "null" and quoted and not text):
        raise UnusableTag(f"the value does not fit its tag !!{short}")
    return value


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise UnusableTag("the value of a !!binary must be base64 of UTF-8 text") from error


def _shown(tag: str) -> str:
    return f"!!{tag.removeprefix(TAG)}" if tag.startswith(TAG) else tag


def _number(text: str) -> int | float | None:
    if match := _INTEGER.fullmatch(text):
        if len(text) > _LONGEST:
            return None
        sign, sixteen, two, eight, ten = match.groups()
        digits, base = next((d, b) for d, b in ((sixteen, 16), (two, 2), (eight, 8), (ten, 10)) if d)
        value = int(digits, base) * (-1 if sign == "-" else 1)
        if -_LARGEST <= value < _LARGEST:
            return value
        if base != 10 and value >= 2 * _LARGEST:
            return None
    if len(text) > _LONGEST or not _FLOAT.fullmatch(text):
        return None
    number = float(text)
    if math.isinf(number):
        return None
    return integral(number)


def integral(number: float) -> int | float:
    """A float as it comes back from Go's JSON: an integer where it has no fraction and fits."""
    if number.is_integer() and -_LARGEST <= number < _LARGEST:
        return int(number)
    return number
