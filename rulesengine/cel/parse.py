"""Tokens to a syntax tree: precedence climbing over CEL's grammar, macros expanded.

The grammar is the CEL specification's with what Kubernetes adds: optional fields, indexes,
items and entries, back-ticked fields, trailing commas.
"""

from __future__ import annotations

from collections.abc import Callable

from rulesengine.cel.syntax import Call, Fold, Index, ListOf, Literal, MapOf, Name, Node, Select
from rulesengine.cel.tokens import RESERVED, SyntaxProblem, Token, number, tokens

MAX_DEPTH = 250
MAX_LENGTH = 100_000
_BINARY = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
# (macro, number of arguments) → (kind, number of names)
_FOLDS: dict[tuple[str, int], tuple[str, int]] = {
    **{(kind, 2): (kind, 1) for kind in ("all", "exists", "map", "filter", "optMap", "optFlatMap", "sortBy")},
    **{
        (kind, 3): (kind, 2)
        for kind in ("all", "exists", "transformList", "transformMap", "transformMapEntry")
    },
    **{(kind, 4): (kind, 2) for kind in ("transformList", "transformMap", "transformMapEntry")},
    **{(name, n + 1): ("exists_one", n) for name in ("exists_one", "existsOne") for n in (1, 2)},
    ("map", 3): ("map", 1),
}
NAMESPACES = frozenset(
    [
        "optional",
        "math",
        "strings",
        "base64",
        "cel",
        "sets",
        "lists",
        "regex",
        "hash",
        "json",
        "k8s",
        "ip",
        "cidr",
        "format",
        "yaml",
    ]
)


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
        left = self._peek()
        if left.kind != "end":
            raise SyntaxProblem(
                f"{left.text!r} is too much here: the expression is complete before it",
                left.at,
                len(left.text),
            )
        return node

    # --- tokens ---

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _sees(self, text: str) -> bool:
        token = self._tokens[self._at]
        return token.kind == "op" and token.text == text

    def _takes(self, text: str) -> bool:
        if self._sees(text):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> Token:
        if not self._sees(text):
            raise self._unexpected(f"{text!r}")
        return self._next()

    def _unexpected(self, expected: str) -> SyntaxProblem:
        token = self._peek()
        found = f"found {token.text!r}" if token.text else "the expression ends"
        return SyntaxProblem(f"{found} where {expected} is expected", token.at, max(1, len(token.text)))

    # --- levels ---

    def _deeper(self, level: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SyntaxProblem(
                f"the expression is nested deeper than {MAX_DEPTH}", self._peek().at, 1, "RE206"
            )
        node = level()
        self._depth -= 1
        return node

    def _expression(self) -> Node:
        return self._deeper(self._conditional)

    def _conditional(self) -> Node:
        condition = self._binary(1)
        if not self._sees("?"):
            return condition
        token = self._next()
        then = self._binary(1)
        self._expect(":")
        return Call("_?_:_", None, (condition, then, self._expression()), token.at, 1)

    def _binary(self, lowest: int) -> Node:
        left = self._unary()
        rounds = 0
        while True:
            token = self._peek()
            level = _BINARY.get(token.text) if token.kind == "op" or token.text == "in" else None
            if level is None or level < lowest:
                return left
            rounds += 1
            if rounds > 10 * MAX_DEPTH:
                raise SyntaxProblem("the expression has too many operators in a row", token.at, 1, "RE206")
            self._next()
            right = self._deeper(lambda level=level: self._binary(level + 1))  # type: ignore[misc]
            left = Call(
                f"_{token.text}_" if token.text != "in" else "@in",
                None,
                (left, right),
                token.at,
                len(token.text),
            )

    def _unary(self) -> Node:
        token = self._peek()
        if token.kind == "op" and token.text in ("!", "-"):
            self._next()
            following = self._peek()
            if token.text == "-" and following.kind == "number":
                self._next()
                value = number(following.text, token.at, negative=True)
                return self._members(Literal(value, token.at, following.at + len(following.text) - token.at))
            return Call(f"{token.text}_", None, (self._deeper(self._unary),), token.at, 1)
        return self._members(self._primary())

    def _members(self, node: Node) -> Node:
        rounds = 0
        while True:
            token = self._peek()
            rounds += 1
            if rounds > MAX_DEPTH:
                raise SyntaxProblem("the expression has too many fields in a row", token.at, 1, "RE206")
            if self._takes("."):
                optional = self._takes("?")
                field = self._field()
                if not optional and self._sees("("):
                    node = self._member_call(node, field)
                else:
                    node = Select(
                        node, field.text.strip("`"), token.at, field.at + len(field.text) - token.at, optional
                    )
            elif self._takes("["):
                optional = self._takes("?")
                key = self._expression()
                end = self._expect("]")
                node = Index(node, key, token.at, end.at + 1 - token.at, optional)
            else:
                return node

    def _field(self) -> Token:
        token = self._peek()
        if token.kind not in ("name", "quoted") or token.text in ("in", "true", "false", "null"):
            raise self._unexpected("the name of a field")
        return self._next()

    def _primary(self) -> Node:
        token = self._peek()
        match token.kind:
            case "number":
                self._next()
                return Literal(number(token.text, token.at), token.at, len(token.text))
            case "text":
                self._next()
                return Literal(token.value, token.at, len(token.text))
            case "name":
                return self._name()
            case _:
                pass
        if self._takes("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._sees("["):
            return self._list()
        if self._sees("{"):
            return self._map()
        if self._takes("."):
            return self._name()
        raise self._unexpected("a value")

    def _name(self) -> Node:
        token = self._next()
        constants = {"true": True, "false": False, "null": None}
        if token.kind == "name" and token.text in constants:
            return Literal(constants[token.text], token.at, len(token.text))
        if token.kind != "name" or token.text == "in":
            self._at -= 1
            raise self._unexpected("a name")
        if token.text in RESERVED:
            raise SyntaxProblem(f"{token.text!r} is a reserved word", token.at, len(token.text))
        if self._sees("("):
            return self._global_call(token)
        return Name(token.text, token.at, len(token.text))

    def _list(self) -> Node:
        start = self._next()
        items: list[tuple[Node, bool]] = []
        while not self._sees("]"):
            optional = self._takes("?")
            items.append((self._expression(), optional))
            if not self._takes(","):
                break
        end = self._expect("]")
        return ListOf(tuple(items), start.at, end.at + 1 - start.at)

    def _map(self) -> Node:
        start = self._next()
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
        self._expect("(")
        found: list[Node] = []
        while not self._sees(")"):
            found.append(self._expression())
            if not self._takes(","):
                break
        return tuple(found), self._expect(")").at + 1

    # --- calls and macros ---

    def _global_call(self, name: Token) -> Node:
        arguments, end = self._arguments()
        if name.text == "has" and len(arguments) == 1:
            field = arguments[0]
            if not isinstance(field, Select):
                raise SyntaxProblem("has() takes a field: has(object.spec.x)", name.at, end - name.at)
            return Select(field.operand, field.field, field.at, field.length, field.optional, test=True)
        return Call(name.text, None, arguments, name.at, end - name.at)

    def _member_call(self, target: Node, name: Token) -> Node:
        arguments, end = self._arguments()
        length = end - name.at
        function = name.text.strip("`")
        if isinstance(target, Name) and target.name == "cel" and function == "bind" and len(arguments) == 3:
            return Fold("bind", arguments[1], (_variable(arguments[0]),), None, arguments[2], name.at, length)
        if isinstance(target, Name) and target.name in NAMESPACES:
            return Call(f"{target.name}.{function}", None, arguments, target.at, end - target.at)
        fold = _FOLDS.get((function, len(arguments)))
        if fold is None or not isinstance(arguments[0], Name):
            return Call(function, target, arguments, name.at, length)
        kind, count = fold
        names = tuple(_variable(each) for each in arguments[:count])
        rest = arguments[count:]
        if len(rest) == 1:
            return Fold(kind, target, names, None, rest[0], name.at, length)
        return Fold(kind, target, names, rest[0], rest[1], name.at, length)


def _variable(node: Node) -> str:
    if isinstance(node, Name):
        return node.name
    raise SyntaxProblem("a macro's variable is a plain name", node.at, node.length)
