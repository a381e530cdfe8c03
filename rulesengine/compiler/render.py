"""A template's tree to a function that renders it: Python source, generated once per rule.

Constant subtrees are made once and shared by all that is rendered: **what `render` returns
is to be read, not written into**, except for its two outer mappings, the object itself and
its metadata, which are new each time. Only names of ours and `repr` of keys enter the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rulesengine.api import Path, written
from rulesengine.compiler.nodes import Broken, Constant, Fields, Items, Node, Text, Value, programs
from rulesengine.compiler.rule import FieldPath
from rulesengine.compiler.spliced import OMIT, as_text, repeated, spliced
from rulesengine.core.errors import EvaluationError
from rulesengine.core.json import Json

Render = Callable[[Mapping[str, Any]], Json]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A compiled template: `rule.Template`."""

    render: Render
    reads: frozenset[FieldPath]


def template(node: Node) -> Rendered:
    """The template of a tree. Rendering yields JSON; a value that is dropped as a whole is None."""
    reads = frozenset(path for program in programs(node) for path in program.reads)
    if isinstance(node, Constant):
        return Rendered(_constant(node.value), reads)
    return Rendered(_Writer().function(node), reads)


def _constant(value: Json) -> Render:
    return lambda _names: value


@dataclass(slots=True)
class _Writer:
    """Writes the source of one function, and keeps what it refers to."""

    lines: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    places: list[str] = field(default_factory=lambda: [""])

    def function(self, node: Node) -> Render:
        self.scope |= {
            "OMIT": OMIT,
            "spliced": spliced,
            "as_text": as_text,
            "repeated": repeated,
            "located": self._located,
            "EvaluationError": EvaluationError,
        }
        result = self._write(node)
        if self._may_drop(node):
            result = f"(None if {result} is OMIT else {result})"
        body = [f"        {line}" for line in [*self.lines, f"return {result}"]]
        source = "\n".join(
            [
                "def render(names):",
                "    at = 0",
                "    try:",
                *body,
                "    except EvaluationError as error:",
                "        raise located(error, at) from error",
            ]
        )
        exec(compile(source, "<template>", "exec"), self.scope)  # noqa: S102  (source of ours only)
        made: Render = self.scope["render"]
        return made

    def _located(self, error: EvaluationError, at: int) -> EvaluationError:
        """The same error, saying which field of the template it is about."""
        message = f"{self.places[at]}: {error}"
        return EvaluationError(message, reason=error.reason, path=error.path, offset=error.offset)

    def _write(self, node: Node) -> str:
        """Writes statements as needed; the result is an expression for the node's value."""
        match node:
            case Constant(value):
                return repr(value) if isinstance(value, str | int | bool) else self._named("k", value)
            case Value(program, path):
                self._mark(path)
                return self._local(f"spliced({self._named('e', program.evaluate)}(names))")
            case Text(parts, path):
                return self._text(parts, path)
            case Fields(items):
                return self._fields(items)
            case Items(items):
                return self._items(items)
            case Broken():
                raise ValueError("a broken template is not rendered")

    def _text(self, parts: tuple[Any, ...], path: Path) -> str:
        self._mark(path)
        written_parts = [
            repr(part) if isinstance(part, str) else f"as_text({self._named('e', part.evaluate)}(names))"
            for part in parts
        ]
        return self._local(" + ".join(written_parts))

    def _fields(self, items: tuple[tuple[str | Text, Node], ...]) -> str:
        target = self._local("{}")
        templated = False
        for key, node in items:
            value = self._write(node)
            if isinstance(key, Text):
                name = self._text(key.parts, key.path)
                templated = True
            else:
                name = repr(key)
            if templated:
                self.lines.append(f"if {name} in {target}: repeated()")
            guard = f"if {value} is not OMIT: " if self._may_drop(node) else ""
            self.lines.append(f"{guard}{target}[{name}] = {value}")
        return target

    def _items(self, items: tuple[Node, ...]) -> str:
        target = self._local("[]")
        for node in items:
            value = self._write(node)
            guard = f"if {value} is not OMIT: " if self._may_drop(node) else ""
            self.lines.append(f"{guard}{target}.append({value})")
        return target

    def _may_drop(self, node: Node) -> bool:
        return isinstance(node, Value)

    def _mark(self, path: Path) -> None:
        """From here on errors are about `path`."""
        self.places.append(written(path))
        self.lines.append(f"at = {len(self.places) - 1}")

    def _local(self, expression: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def _named(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.scope)}"
        self.scope[name] = value
        return name
