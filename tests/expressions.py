"""Generates CEL expressions that mostly make sense, and values for their names."""

from __future__ import annotations

import random
from typing import Any


class Generator:
    """Expressions by the type they should have; now and then one of another type."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._depth = 0
        self._variables: list[tuple[str, str]] = []

    def expression(self) -> str:
        return self.of(self._pick(["bool", "bool", "int", "string", "list", "map", "double", "optional"]))

    def names(self) -> dict[str, Any]:
        """`o`: an object as JSON has them; `l`: a list; `x`: a number; `s`: a text."""
        return {
            "o": self._object(),
            "l": [self._number() for _ in range(self._chance.randint(0, 4))],
            "p": [self._object() for _ in range(self._chance.randint(0, 3))],
            "x": self._number(),
            "s": self._word(),
        }

    def of(self, kind: str) -> str:
        """An expression of a kind, or (one in fifteen) of another."""
        if self._chance.random() < 0.06:
            kind = self._pick(["bool", "int", "string", "list", "map", "double", "optional", "null"])
        self._depth += 1
        local = [name for name, each in self._variables if each in (kind, "any")]
        if local and self._chance.random() < 0.35:
            found = self._pick(local)
        elif self._depth > 4 or self._chance.random() < 0.15:
            found = self._pick(_LEAVES[kind])
        else:
            found = self._filled(self._pick(_SHAPES[kind]))
        self._depth -= 1
        return found

    def _filled(self, shape: str) -> str:
        """`«kind»` is an expression; `[v:kind|body]` binds a variable in the body."""
        out, rest = "", shape
        while rest:
            head, mark, rest = rest.partition("«")
            out += head
            if not mark:
                break
            kind, _, rest = rest.partition("»")
            if ":" in kind:
                names, _, body = kind.partition(":")
                out += self._bound(names, body)
            else:
                out += self.of(kind)
        return out

    def _bound(self, names: str, body: str) -> str:
        """`i=int:bool`: i is an int in an expression of bool."""
        given = [tuple(each.split("=")) for each in names.split(",")]
        self._variables += given  # type: ignore[arg-type]
        found = self.of(body)
        del self._variables[-len(given) :]
        return found

    def _pick(self, choices: list[Any]) -> Any:
        return self._chance.choice(choices)

    def _object(self) -> dict[str, Any]:
        full: dict[str, Any] = {
            "name": self._word(),
            "n": self._number(),
            "f": self._chance.choice([0.5, 2.0, -1.25, 1e10]),
            "t": self._chance.random() < 0.5,
            "labels": {self._word(): self._word() for _ in range(self._chance.randint(0, 3))},
            "list": [self._number() for _ in range(self._chance.randint(0, 3))],
            "words": [self._word() for _ in range(self._chance.randint(0, 3))],
            "none": None,
            "ts": "2024-03-31T01:30:00.5Z",
            "span": "90m",
            "m": {"a": self._number(), "b": {"c": self._word()}},
        }
        return {key: value for key, value in full.items() if self._chance.random() < 0.85}

    def _number(self) -> int:
        return int(self._pick([0, 1, 2, 3, 5, -1, -7, 10, 100, 2**31, 2**63 - 1]))

    def _word(self) -> str:
        return str(
            self._pick(["", "a", "b", "app", "web", "hello world", "é", "A-b-C", "x" * 25, "1", "true"])
        )


_LEAVES: dict[str, list[str]] = {
    "bool": ["true", "false", "o.t", "has(o.n)", "has(o.m.b.c)", "has(o.nope)", "o.?t.orValue(false)"],
    "int": [
        "0",
        "1",
        "2",
        "-3",
        "x",
        "o.n",
        "o.m.a",
        "size(l)",
        "l[0]",
        "o.list[1]",
        "9223372036854775807",
        "size(s)",
        "o['n']",
        "l.size()",
    ],
    "double": ["1.5", "0.0", "o.f", "2e3", "-0.25"],
    "string": [
        "'a'",
        "''",
        "'app'",
        "s",
        "o.name",
        "o.m.b.c",
        "o['name']",
        "o.words[0]",
        "'hello world'",
        "o.?name.orValue('none')",
        '"é"',
    ],
    "list": ["[]", "[1, 2, 3]", "l", "o.list", "[x]", "[x, o.n]", "o.words", "['a', 'b']"],
    "objects": ["p", "[o]", "[o.m]"],
    "map": ["{}", "o", "o.m", "o.labels", "{'a': 1}", "{'a': x}", "{1: 'x', 2: 'y'}", "{'k': s}"],
    "optional": [
        "optional.of(x)",
        "optional.none()",
        "o.?n",
        "o.?m.a",
        "o.?m.?b.?c",
        "l[?0]",
        "o.labels[?'a']",
        "o.?nope",
        "optional.ofNonZeroValue(x)",
        "o[?s]",
        "o.?m[?'a']",
    ],
    "null": ["null", "o.none"],
    "time": [
        "timestamp('2020-02-29T23:59:59.123456789Z')",
        "timestamp('1969-12-31T22:00:00-05:30')",
        "timestamp(o.ts)",
    ],
    "span": [
        "duration('1h30m')",
        "duration('-1.5s')",
        "duration('100ms')",
        "duration(o.span)",
        "duration('0')",
    ],
    "net": ["ip('10.1.2.3')", "ip('2001:db8::1')", "cidr('10.0.0.0/8').ip()"],
}
_SHAPES: dict[str, list[str]] = {
    "bool": [
        "«bool» && «bool»",
        "«bool» || «bool»",
        "!(«bool»)",
        "«int» == «int»",
        "«int» != «int»",
        "«int» < «int»",
        "«int» >= «int»",
        "«string» == «string»",
        "«string» < «string»",
        "«double» > «double»",
        "«int» < «double»",
        "«int» == «double»",
        "«list» == «list»",
        "«map» == «map»",
        "«int» in «list»",
        "«string» in «map»",
        "«string» in ['a', 'app', 'web']",
        "«int» in [1, 2, 3]",
        "«string».startsWith(«string»)",
        "«string».endsWith('a')",
        "«string».contains(«string»)",
        "«string».matches('^[a-z]+$')",
        "«list».all(i, «i=int:bool»)",
        "«list».exists(i, «i=int:bool»)",
        "«list».exists_one(i, «i=int:bool»)",
        "o.labels.map(k, k).sort().all(k, «k=string:bool»)",
        "{'a': 1}.exists(k, v, «k=string,v=int:bool»)",
        "«list».all(i, j, «i=int,j=int:bool»)",
        "«objects».exists(q, q.n == «int»)",
        "«objects».all(q, has(q.name) && q.name == «string»)",
        "«optional».hasValue()",
        "(«bool» ? «bool» : «bool»)",
        "«bool» == «bool»",
        "type(«int») == int",
        "«null» == null",
        "«optional».orValue(1) == «int»",
        "«optional» == «optional»",
        "dyn(«int») == dyn(«string»)",
        "sets.contains(«list», «list»)",
        "«list».isSorted()",
        "has(o.m.a) && «int» > 0",
        "«time» < «time»",
        "«span» >= «span»",
        "«time» == «time»",
        "cidr('10.0.0.0/8').containsIP(«net»)",
        "isIP(«string»)",
        "«net» == «net»",
    ],
    "int": [
        "«int» + «int»",
        "«int» - «int»",
        "«int» * «int»",
        "«int» / «int»",
        "«int» % «int»",
        "-(«int»)",
        "size(«string»)",
        "«list».size()",
        "size(«map»)",
        "(«bool» ? «int» : «int»)",
        "int(«string»)",
        "int(«double»)",
        "«list»[«int»]",
        "«string».indexOf(«string»)",
        "«optional».orValue(«int»)",
        "«list».map(i, «i=int:int»)[0]",
        "«list».sum()",
        "«list».min()",
        "«list».max()",
        "«list».indexOf(«int»)",
        "«objects»[0].n",
        "«objects».filter(q, q.t).size()",
        "[«int», «int»].max()",
        "«optional».value()",
        "«string».lastIndexOf('a')",
        "«time».getHours()",
        "«time».getDayOfYear('Europe/Berlin')",
        "«time».getMilliseconds()",
        "«time».getDayOfWeek('-02:30')",
        "«span».getMinutes()",
        "int(«time»)",
        "«net».family()",
    ],
    "double": [
        "«double» + «double»",
        "«double» * «double»",
        "«double» / «double»",
        "double(«int»)",
        "(«bool» ? «double» : «double»)",
        "-(«double»)",
        "double(«string»)",
    ],
    "string": [
        "«string» + «string»",
        "string(«int»)",
        "string(«bool»)",
        "string(«double»)",
        "«string».lowerAscii()",
        "«string».upperAscii()",
        "«string».replace('a', «string»)",
        "«string».substring(«int»)",
        "«string».substring(0, «int»)",
        "«string».trim()",
        "«string».charAt(«int»)",
        "«list».map(i, string(i)).join(',')",
        "«string».split('')[0]",
        "(«bool» ? «string» : «string»)",
        "«optional».orValue(«string»)",
        "«objects».map(q, q.name)[0]",
        "'%s and %d'.format([«string», «int»])",
        "o.labels[«string»]",
        "«map».a",
        "«string».split(«string», 2).join('-')",
        "string(«time»)",
        "string(«span»)",
        "string(«net»)",
        "«string».find('[a-m]+')",
        "«string».findAll('[a-z]', 2).join('')",
    ],
    "list": [
        "«list» + «list»",
        "[«int», «int»]",
        "[«string»]",
        "«list».map(i, «i=int:int»)",
        "«list».filter(i, «i=int:bool»)",
        "«list».map(i, «i=int:bool», «i=int:string»)",
        "«map».map(k, «k=string:string»).sort()",
        "{'a': 1}.filter(k, «k=string:bool»)",
        "«string».split(«string»)",
        "(«bool» ? «list» : «list»)",
        "«list».transformList(i, j, «i=int,j=int:int»)",
        "[«list», «list»]",
        "«list».sort()",
        "«list».distinct()",
        "«list».slice(0, «int»)",
        "lists.range(3).reverse()",
        "[«list»].flatten()",
        "[?«optional»]",
        "«list».map(i, [«i=int:int»])",
        "«objects».map(q, q.m)",
        "lists.range(3).map(i, «i=int:int»)",
        "«list».map(i, 1)",
        "«list».transformList(i, j, i > 0, «i=int,j=int:int»)",
        "«list».sortBy(i, «i=int:int»)",
    ],
    "map": [
        "{'a': «int»}",
        "{«string»: «int»}",
        "{'a': «string», 'b': «list»}",
        "«map».transformMap(k, v, «k=string,v=any:int»)",
        "«list».transformMap(i, j, «i=int,j=int:int»)",
        "(«bool» ? «map» : «map»)",
        "{?'a': «optional»}",
        "«map».transformMap(k, v, k != 'a', «k=string,v=any:string»)",
        "«list».transformMapEntry(i, j, {j: i})",
        "«objects»[«int»]",
        "{«int»: «bool»}",
    ],
    "optional": [
        "optional.of(«int»)",
        "«optional».or(«optional»)",
        "«optional».optMap(z, «z=any:int»)",
        "«list»[?«int»]",
        "«map»[?«string»]",
        "(«bool» ? «optional» : «optional»)",
        "«optional».optFlatMap(z, «z=any:optional»)",
        "«map».?a",
        "«list».first()",
        "«list».last()",
        "optional.ofNonZeroValue(«string»)",
        "«map».?a.?b",
    ],
    "objects": ["«objects».filter(q, has(q.n))", "«objects» + «objects»", "«objects».map(q, q)"],
    "null": ["null", "(«bool» ? «null» : «null»)"],
    "time": ["«time» + «span»", "«time» - «span»", "timestamp(«int»)", "[«time», «time»].max()"],
    "span": ["«span» + «span»", "«time» - «time»", "[«span», «span»].sum()"],
    "net": ["cidr('10.0.0.0/8').masked().ip()", "ip(string(«net»))"],
}
