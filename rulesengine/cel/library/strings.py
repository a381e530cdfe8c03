"""The string functions of the standard library and of cel-go's strings extension, in code points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import re2

from rulesengine.cel.library.formatting import formatted, quoted
from rulesengine.cel.library.registry import bad, enter, function, want
from rulesengine.cel.values import equals, no_overload

LONGEST = 10_000_000  # characters that replace() may make; elsewhere texts grow by what they are made of


def _string(name: str, result: str, run: Callable[..., Any], *kinds: type) -> None:
    def checked(target: Any, *arguments: Any) -> Any:
        want(target, str)
        if len(arguments) > len(kinds):
            raise no_overload()
        for argument, kind in zip(arguments, kinds, strict=False):
            want(argument, kind)
        return run(target, *arguments)

    enter(f".{name}", checked, result)


def _matches(text: str, pattern: str) -> bool:
    try:
        return re2.search(pattern, text) is not None
    except re2.error:
        raise bad("the pattern is no regular expression (RE2)") from None


def _find(text: str, pattern: str) -> str:
    """The first match, "" without one."""
    found = _compiled(pattern).search(text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found: list[str] = []
    for match in _compiled(pattern).finditer(text) if most else ():
        found.append(match.group())
        if len(found) == most:
            break
    return found


def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern)
    except re2.error:
        raise bad("the pattern is no regular expression (RE2)") from None


def is_pattern(text: str) -> bool:
    """Whether RE2 takes it."""
    try:
        re2.compile(text)
    except re2.error:
        return False
    return True


def _index(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise bad("index out of range", "index")
    return text.find(part, start)


def _last_index(text: str, part: str, end: int | None = None) -> int:
    if end is None:
        return text.rfind(part)
    if not 0 <= end <= len(text):
        raise bad("index out of range", "index")
    return text.rfind(part, 0, end + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise bad("index out of range", "index")
    return text[start:stop]


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise bad("index out of range", "index")
    return text[index : index + 1]


def _split(text: str, by: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if count == 1:
        return [text]
    if not by:
        return list(text) if count < 0 or count >= len(text) else [*text[: count - 1], text[count - 1 :]]
    return text.split(by) if count < 0 else text.split(by, count - 1)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    places = text.count(old) if old else len(text) + 1
    if len(text) + places * len(new) > LONGEST:
        raise bad("the text becomes too long", "cost")
    return text.replace(old, new, count)


def _ascii(text: str, first: str, last: str, shift: int) -> str:
    return "".join(chr(ord(c) + shift) if first <= c <= last else c for c in text)


_string("startsWith", "bool", str.startswith, str)
_string("endsWith", "bool", str.endswith, str)
_string("contains", "bool", lambda text, part: part in text, str)
_string("matches", "bool", _matches, str)
_string("find", "string", _find, str)
_string("findAll", "list(string)", _find_all, str, int)
_string("charAt", "string", _char_at, int)
_string("lowerAscii", "string", lambda text: _ascii(text, "A", "Z", 32))
_string("upperAscii", "string", lambda text: _ascii(text, "a", "z", -32))
_string("replace", "string", _replace, str, str, int)
_string("split", "list(string)", _split, str, int)
_string("substring", "string", _substring, int, int)
_string("trim", "string", str.strip)


def _searched(name: str, run: Callable[..., int], *, last: bool) -> None:
    """IndexOf and lastIndexOf, of texts and of lists."""

    def search(target: Any, part: Any, *place: Any) -> int:
        if isinstance(target, list) and not place:
            places = [index for index, each in enumerate(target) if equals(each, part)]
            return places[-1 if last else 0] if places else -1
        if len(place) > 1 or any(type(each) is not int for each in place):
            raise no_overload()
        return run(want(target, str), want(part, str), *place)

    enter(f".{name}", search, "int")


_searched("indexOf", _index, last=False)
_searched("lastIndexOf", _last_index, last=True)


@function("matches", "bool")
def matches(text: Any, pattern: Any) -> bool:
    return _matches(want(text, str), want(pattern, str))


@function(".join", "string")
def join(items: Any, by: Any = "") -> str:
    return str(want(by, str).join([want(each, str) for each in want(items, list)]))


enter(".format", lambda text, values: formatted(want(text, str), want(values, list)), "string")
enter("strings.quote", lambda text: quoted(want(text, str)), "string")
