"""A template's YAML to its tree: splices parsed and compiled, nulls dropped, mistakes found."""

from __future__ import annotations

from dataclasses import dataclass, field

from rulesengine import cel
from rulesengine.api import Path
from rulesengine.compiler.draft import Code, Draft
from rulesengine.compiler.expressions import compiled, reads_like_cel
from rulesengine.compiler.nodes import Broken, Constant, Fields, Items, Node, Text, Value
from rulesengine.compiler.splices import Parts, Splice, Unclosed, parts_of
from rulesengine.core.json import Json


@dataclass(slots=True)
class Parser:
    """Parses the values of one entry. `codes` collects every expression on the way."""

    draft: Draft
    names: dict[str, cel.Type]
    codes: list[Code] = field(default_factory=list)

    def node(self, value: Json, path: Path) -> Node | None:
        """The tree of a value; None for a null, which drops its key."""
        match value:
            case None:
                return None
            case str():
                return self._text(value, path)
            case dict():
                return self._fields(value, path)
            case list():
                return self._items(value, path)
            case _:
                return Constant(value, path)

    def _fields(self, value: dict[str, Json], path: Path) -> Node:
        items: list[tuple[str | Text, Node]] = []
        constant = True
        for name, found in value.items():
            here = (*path, name)
            node = self.node(found, here)
            key = self._key(name, here)
            if node is None or key is None:
                continue
            constant = constant and isinstance(node, Constant) and isinstance(key, str)
            items.append((key, node))
        if constant:
            return Constant({k: n.value for k, n in items if isinstance(n, Constant)}, path)
        return Fields(tuple(items), path)

    def _items(self, value: list[Json], path: Path) -> Node:
        nodes = [self.node(item, (*path, index)) for index, item in enumerate(value)]
        kept = [node for node in nodes if node is not None]
        # A list that lost a null stays a list of nodes: their paths are right, its indexes are not.
        if len(kept) == len(nodes) and all(isinstance(node, Constant) for node in kept):
            return Constant([node.value for node in kept if isinstance(node, Constant)], path)
        return Items(tuple(kept), path)

    def _text(self, value: str, path: Path) -> Node:
        if reads_like_cel(self.draft, value):
            hint = f"write: ${{{value}}}, or ${{'…'}} around text that is meant"
            self.draft.find("RE303", "this is text that reads like CEL", path, hint)
            return Broken(path)
        if "$" not in value:
            return Constant(value, path)
        parts = self._parts(value, path, of_key=False)
        if parts is None:
            return Broken(path)
        if len(parts) == 1:
            (only,) = parts
            return Constant(only, path) if isinstance(only, str) else Value(only, path)
        return Text(parts, path)

    def _key(self, name: str, path: Path) -> str | Text | None:
        if "$" not in name:
            return name
        parts = self._parts(name, path, of_key=True)
        if parts is None:
            return None
        return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else Text(parts, path)

    def _parts(self, text: str, path: Path, *, of_key: bool) -> tuple[str | cel.Program, ...] | None:
        try:
            parts: Parts = parts_of(text)
        except Unclosed as error:
            hint = "close it with }, or write $${ for a literal ${"
            self.draft.find(
                "RE301", "this ${ is not closed", path, hint, offset=error.offset, length=2, of_key=of_key
            )
            return None
        found: list[str | cel.Program] = []
        for part in parts:
            if isinstance(part, str):
                found.append(part)
                continue
            code = self._splice(part, path, of_key=of_key)
            if code is not None:
                self.codes.append(code)
                found.append(code.program)
        return tuple(found) if len(found) == len(parts) else None

    def _splice(self, splice: Splice, path: Path, *, of_key: bool) -> Code | None:
        return compiled(self.draft, splice.text, path, self.names, offset=splice.offset, of_key=of_key)
