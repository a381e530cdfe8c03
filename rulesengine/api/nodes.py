"""YAML events to nodes: the tree of one document, every node with its place.

PyYAML gives events; composing is done here, without recursion and with limits, because its
own composer recurses as deep as the text says and knows no kubectl. Nothing is interpreted
yet: `values` makes JSON of nodes, `places` finds positions in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import yaml

MAX_DEPTH = 100  # Kubernetes objects stay below 30; the API server's own limit is 10,000
MAX_EXPANDED = 100_000  # nodes that aliases may add to one document

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster where libyaml is there


class Place(NamedTuple):
    """Line and column, both from 0, as PyYAML counts them; columns in code points."""

    line: int
    column: int


ORIGIN = Place(0, 0)


class ReadError(Exception):
    """What makes a document unreadable: a code, where, what, and what to do."""

    def __init__(self, code: str, message: str, at: Place, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.at = at
        self.hint = hint
        super().__init__(message)


@dataclass(slots=True)
class Scalar:
    """A leaf. `style` is "" for plain, else ', ", | or >; `tag` an explicit one."""

    text: str
    style: str
    tag: str
    start: Place
    end: Place
    size: int = 1
    height: int = 0


@dataclass(slots=True)
class Sequence:
    items: list[Node] = field(default_factory=list)
    tag: str = ""
    start: Place = ORIGIN
    end: Place = ORIGIN
    size: int = 1
    height: int = 1


@dataclass(slots=True)
class Mapping:
    """`items` are keys and values in turn while composing, and always of even length after."""

    items: list[Node] = field(default_factory=list)
    tag: str = ""
    start: Place = ORIGIN
    end: Place = ORIGIN
    size: int = 1
    height: int = 1

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Keys with their values, in the order of the text."""
        items = iter(self.items)
        return zip(items, items, strict=True)


Node: TypeAlias = Scalar | Sequence | Mapping


def compose(text: str, origin: Place = ORIGIN) -> Node | None:
    """The tree of the one document in `text`, None when it is empty. Raises ReadError.

    `origin` is where `text` begins in its file; all places are the file's.
    """
    composer = _Composer(origin)
    loader = _LOADER(text)
    try:
        while loader.check_event():
            event = loader.get_event()
            if isinstance(event, yaml.StreamEndEvent):
                break
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, origin) from error
    finally:
        loader.dispose()
    return composer.root


def _syntax(error: yaml.MarkedYAMLError, origin: Place) -> ReadError:
    mark = error.problem_mark or error.context_mark
    at = _at(mark, origin) if mark is not None else origin
    problem = error.problem or "the text ends too early"
    doing = f" ({error.context})" if error.context else ""
    hint = ""
    if "\\t" in problem or "'\t'" in problem or "cannot start any token" in problem:
        hint = "indent with spaces, and quote text that begins with a special character"
    elif "mapping values are not allowed" in problem:
        hint = "quote text that has ': ' in it, and check the indentation"
    return ReadError("RE002", f"this is not YAML: {problem}{doing}", at, hint)


class _Composer:
    """Takes events, keeps a stack of open collections. One document only."""

    def __init__(self, origin: Place) -> None:
        self.root: Node | None = None
        self._origin = origin
        self._open: list[Sequence | Mapping] = []
        self._anchors: dict[str, Node] = {}
        self._expanded = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                style = "" if event.style is None else event.style
                node = Scalar(
                    event.value, style, event.tag or "", self._at(event.start_mark), self._at(event.end_mark)
                )
                self._add(node, event.anchor)
            case yaml.AliasEvent():
                self._add(self._aliased(event), None)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                kind = Sequence if isinstance(event, yaml.SequenceStartEvent) else Mapping
                start = self._at(event.start_mark)
                opened = kind([], event.tag or "", start, start)
                self._add(opened, event.anchor)
                self._open.append(opened)
                self._check_depth(0, start)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._close(self._at(event.end_mark))
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise ReadError("RE002", "a second document begins here", self._at(event.start_mark))
            case _:
                pass  # begin and end of the stream, end of the document

    def _at(self, mark: Any) -> Place:
        return _at(mark, self._origin)

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].items.append(node)
        else:
            self.root = node

    def _close(self, end: Place) -> None:
        closed = self._open.pop()
        closed.end = end
        closed.size = 1 + sum(item.size for item in closed.items)
        closed.height = 1 + max((item.height for item in closed.items), default=0)

    def _aliased(self, event: yaml.AliasEvent) -> Node:
        at = self._at(event.start_mark)
        node = self._anchors.get(event.anchor or "")
        if node is None:
            raise ReadError("RE007", f"alias *{event.anchor} has no anchor before it", at)
        if any(node is opened for opened in self._open):
            raise ReadError("RE007", f"alias *{event.anchor} stands within its own anchor", at)
        self._expanded += node.size
        if self._expanded > MAX_EXPANDED:
            message = f"the aliases expand to more than {MAX_EXPANDED} values"
            raise ReadError("RE006", message, at, "write the values out, or split the file")
        self._check_depth(node.height, at)
        return node

    def _check_depth(self, more: int, at: Place) -> None:
        if len(self._open) + more > MAX_DEPTH:
            raise ReadError("RE005", f"values nest deeper than {MAX_DEPTH} levels", at)


def _at(mark: Any, origin: Place) -> Place:
    return Place(mark.line + origin.line, mark.column + (origin.column if mark.line == 0 else 0))
