"""Tokens to a syntax tree: precedence climbing over CEL's grammar, macros expanded.

The grammar is celpy's (the CEL specification's) with what Kubernetes adds: optional fields,
indexes, items and entries, back-ticked fields, trailing commas, raw newlines in long texts.
Why it is not celpy's own lark parser: docs/decisions/0010.
"""

from __future__ import annotations

from typing import NoReturn

from rulesengine.cel.macros import expanded
from rulesengine.cel.reserved import RESERVED
from rulesengine.cel.syntax import Call, Index, ListOf, Literal, MapOf, Name, Node, Select
from rulesengine.cel.tokens import SyntaxProblem, Token, number, tokens

MAX_DEPTH = 200  # of nesting and of operators in a row; Kubernetes stops at 250, Python's stack before that
MAX_LENGTH = 100_000
_BINARY = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_FUNCTIONS = {word: "@in" if word == "in" else f"_{word}_" for word in _BINARY}
_CONSTANTS = {"true": True, "false": False, "null": None}
_NO_NAMES = frozenset({"in", *_CONSTANTS})


def parse(text: str) -> Node:
    """The tree of `text`; raises SyntaxProblem."""
    if len(text) > MAX_LENGTH:
        raise SyntaxProblem(f"the expression is longer than {MAX_LENGTH} characters", 0, 1, "RE206")
    return _Parser(tokens(text)).whole()


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression()
        left = self._tokens[self._at]
        if left.kind != "end":
            message = f"{left.text!r} is too much here: the expression is complete before it"
            raise SyntaxProblem(message, left.at, len(left.text))
        return node

    # --- tokens ---

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _sees(self, text: str) -> bool:
        token = self._tokens[self._at]
        return token.text == text and token.kind == "op"

    def _takes(self, text: str) -> bool:
        if self._sees(text):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> Token:
        if not self._sees(text):
            self._unexpected(repr(text))
        return self._next()

    def _unexpected(self, expected: str) -> NoReturn:
        token = self._tokens[self._at]
        found = f"found {token.text!r}" if token.kind != "end" else "the expression ends"
        raise SyntaxProblem(f"{found} where {expected} is expected", token.at, max(1, len(token.text)))

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            at = self._tokens[self._at].at
            raise SyntaxProblem(f"the expression is nested deeper than {MAX_DEPTH}", at, 1, "RE206")

    # --- levels ---

    def _expression(self) -> Node:
        self._deeper()
        node = self._binary(1)
        if self._sees("?"):
            token = self._next()
            then = self._binary(1)
            self._expect(":")
            node = Call("_?_:_", None, (node, then, self._expression()), token.at, 1)
        self._depth -= 1
        return node

    def _binary(self, lowest: int) -> Node:
        left = self._unary()
        depth = self._depth
        while True:
            token = self._tokens[self._at]
            level = _BINARY.get(token.text) if token.kind in ("op", "name") else None
            if level is None or level < lowest:
                self._depth = depth
                return left
            self._deeper()
            self._at += 1
            right = self._binary(level + 1)
            left = Call(_FUNCTIONS[token.text], None, (left, right), token.at, len(token.text))

    def _unary(self) -> Node:
        token = self._tokens[self._at]
        if token.kind != "op" or token.text not in ("!", "-"):
            return self._members(self._primary())
        self._at += 1
        following = self._tokens[self._at]
        if token.text == "-" and following.kind == "number":
            self._at += 1
            value = number(following.text, token.at, negative=True)
            return self._members(Literal(value, token.at, following.at + len(following.text) - token.at))
        self._deeper()
        node = Call(f"{token.text}_", None, (self._unary(),), token.at, 1)
        self._depth -= 1
        return node

    def _members(self, node: Node) -> Node:
        depth = self._depth
        while True:
            token = self._tokens[self._at]
            if token.kind != "op" or token.text not in (".", "["):
                self._depth = depth
                return node
            self._deeper()
            self._at += 1
            optional = self._takes("?")
            if token.text == "[":
                key = self._expression()
                end = self._expect("]")
                node = Index(node, key, token.at, end.at + 1 - token.at, optional)
                continue
            field = self._field()
            if self._sees("(") and not optional and field.kind == "name":
                arguments, stop = self._arguments()
                node = expanded(Call(field.text, node, arguments, field.at, stop - field.at))
            else:
                length = field.at + len(field.text) - token.at
                node = Select(node, field.text.strip("`"), token.at, length, optional)

    def _field(self) -> Token:
        token = self._tokens[self._at]
        if token.kind not in ("name", "quoted") or token.text in _NO_NAMES:
            self._unexpected("the name of a field")
        return self._next()

    def _primary(self) -> Node:
        token = self._tokens[self._at]
        match token.kind:
            case "number":
                self._at += 1
                return Literal(number(token.text, token.at), token.at, len(token.text))
            case "text":
                self._at += 1
                return Literal(token.value, token.at, len(token.text))
            case "name":
                return self._name("")
            case _:
                pass
        if self._takes("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._takes("["):
            return self._list(token)
        if self._takes("{"):
            return self._map(token)
        if self._takes("."):
            return self._name(".")
        return self._unexpected("a value")

    def _name(self, dot: str) -> Node:
        token = self._tokens[self._at]
        if token.kind == "name" and token.text in _CONSTANTS and not dot:
            self._at += 1
            return Literal(_CONSTANTS[token.text], token.at, len(token.text))
        if token.kind != "name" or token.text in _NO_NAMES:
            self._unexpected("a name")
        if token.text in RESERVED:
            raise SyntaxProblem(f"{token.text!r} is a reserved word", token.at, len(token.text))
        self._at += 1
        if self._sees("("):
            arguments, stop = self._arguments()
            return expanded(Call(dot + token.text, None, arguments, token.at, stop - token.at))
        return Name(dot + token.text, token.at, len(token.text))

    def _list(self, start: Token) -> Node:
        items: list[tuple[Node, bool]] = []
        while not self._sees("]"):
            optional = self._takes("?")
            items.append((self._expression(), optional))
            if not self._takes(","):
                break
        end = self._expect("]")
        return ListOf(tuple(items), start.at, end.at + 1 - start.at)

    def _map(self, start: Token) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        while not self._sees("}"):
            optional = self._takes("?")
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression(), optional))
            if not self._takes(","):
                break
        end = self._expect("}")
        return MapOf(tuple(entries), start.at, end.at + 1 - start.at)

    def _arguments(self) -> tuple[tuple[Node, ...], int]:
        """The arguments and where the call ends."""
        self._expect("(")
        found: list[Node] = []
        while not self._sees(")"):
            found.append(self._expression())
            if not self._takes(","):
                break
        return tuple(found), self._expect(")").at + 1
