"""`"…%s…".format([…])` and strings.quote(), clause by clause as cel-go formats them."""

from __future__ import annotations

import math
import re
from typing import Any

from rulesengine.cel.library.registry import bad
from rulesengine.cel.values import Duration, Timestamp, TypeValue, UInt, double_text

_CLAUSE = re.compile(r"%(?:(%)|(?:\.(\d+))?([a-zA-Z]))")
_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


def quoted(text: str) -> str:
    """`text` as a CEL string literal."""
    clean = text.encode("utf-8", "replace").decode()
    return '"' + "".join(_ESCAPES.get(c, c) for c in clean) + '"'


def formatted(text: str, values: list[Any]) -> str:
    """Raises for clauses without value, values that a clause does not take, and unknown clauses."""
    out: list[str] = []
    at = index = 0
    while (start := text.find("%", at)) >= 0:
        match = _CLAUSE.match(text, start)
        if match is None:
            raise bad("could not parse formatting clause")
        out.append(text[at:start])
        at = match.end()
        if match[1]:
            out.append("%")
            continue
        if index >= len(values):
            raise bad("index out of range: fewer values than clauses")
        out.append(_clause(match[3], int(match[2]) if match[2] else None, values[index]))
        index += 1
    return "".join([*out, text[at:]])


def _clause(kind: str, precision: int | None, value: Any) -> str:
    match kind:
        case "s":
            return _text(value)
        case "d":
            return _decimal(value)
        case "f":
            return _fixed(value, 6 if precision is None else precision, "f")
        case "e":
            return _fixed(value, 6 if precision is None else precision, "e")
        case "b":
            return _based(value, "b")
        case "x" | "X":
            return _hex(value, upper=kind == "X")
        case "o":
            return _based(value, "o")
        case _:
            raise bad("could not parse formatting clause: unrecognized formatting clause")


def _text(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind in (int, UInt):
        return str(_integer(value))
    if kind is float:
        return {"NaN": "NaN", "+Inf": "Infinity", "-Inf": "-Infinity"}.get(
            double_text(value), double_text(value)
        )
    if kind is bytes:
        return str(value.decode("utf-8", "replace"))
    if kind in (Timestamp, Duration):
        return str(value)
    if kind is TypeValue:
        return str(value.name)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        parts = sorted(f"{_text(key)}: {_text(each)}" for key, each in value.items())
        return f"{{{', '.join(parts)}}}"
    raise bad("a string clause does not take a value of this type")


def _integer(value: Any) -> int:
    return int(value.value if type(value) is UInt else value)


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    return ("Infinity" if value > 0 else "-Infinity") if math.isinf(value) else None


def _decimal(value: Any) -> str:
    if type(value) in (int, UInt):
        return str(_integer(value))
    if type(value) is float:
        if (special := _special(value)) is not None:
            return special
        return double_text(value)
    raise bad("decimal clause can only be used on integers and doubles")


def _fixed(value: Any, precision: int, kind: str) -> str:
    if type(value) not in (int, UInt, float):
        word = "fixed-point" if kind == "f" else "scientific"
        raise bad(f"{word} clause can only be used on ints, uints and doubles")
    if precision > 100:
        raise bad("the precision is too large")
    number = float(value.value if type(value) is UInt else value)
    return _special(number) or f"{number:.{precision}{kind}}"


def _based(value: Any, base: str) -> str:
    if type(value) is bool and base == "b":
        return "1" if value else "0"
    if type(value) not in (int, UInt):
        word = "binary" if base == "b" else "octal"
        raise bad(f"{word} clause can only be used on integers{' and bools' if base == 'b' else ''}")
    return format(_integer(value), base)


def _hex(value: Any, *, upper: bool) -> str:
    if type(value) in (int, UInt):
        found = format(_integer(value), "x")
    elif type(value) is str:
        found = value.encode().hex()
    elif type(value) is bytes:
        found = value.hex()
    else:
        raise bad("hexadecimal clause can only be used on integers, byte buffers, and strings")
    return found.upper() if upper else found
