"""Quantities ("500m", "1Gi") in the one form in which the API server returns them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}


def canonical(value: str | float) -> str:
    """The canonical text; a text that is no quantity is returned as it is."""
    return _canonical(value if isinstance(value, str) else str(value), 9)


def canonical_resource(value: str | float) -> str:
    """The same for amounts of resources, which are rounded up to thousandths."""
    return _canonical(value if isinstance(value, str) else str(value), 3)


@lru_cache(maxsize=4096)
def _canonical(text: str, places: int) -> str:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return text
    suffix = match[2] or ""
    try:
        number = Fraction(Decimal(match[1]))
    except (InvalidOperation, ValueError):
        return text
    if suffix in _BINARY:
        exact = number * 1024 ** _BINARY[suffix]
        if abs(exact) >= 1024 and exact.denominator == 1:
            return _binary(int(exact))
        return _decimal(exact, places, exponent=False)
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return _decimal(number * Fraction(10) ** int(suffix[1:]), places, exponent=True)
    return _decimal(number * Fraction(10) ** _DECIMAL[suffix], places, exponent=False)


def _binary(number: int) -> str:
    power = 0
    while power < 6 and number and number % 1024 == 0:
        number //= 1024
        power += 1
    return f"{number}{'' if not power else ('Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')[power - 1]}"


def _decimal(number: Fraction, places: int, *, exponent: bool) -> str:
    """The largest power of thousand that leaves a whole number; rounded away from zero below `places`."""
    if not number:
        return "0"
    smallest = number * 10**places
    up = smallest.numerator > 0
    whole = (
        -(-smallest.numerator // smallest.denominator) if up else smallest.numerator // smallest.denominator
    )
    power = -places
    while power < 18 and whole % 1000 == 0:
        whole //= 1000
        power += 3
    if exponent:
        return f"{whole}e{power}" if power else str(whole)
    return f"{whole}{_SUFFIXES[power]}"
