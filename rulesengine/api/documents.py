"""Text to documents: each an object (a plain JSON value) that knows where its fields stand.

`load` never raises for what a file holds: problems are findings. `load_objects` is for
callers that need all of it or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rulesengine.api.nodes import ReadError, compose
from rulesengine.api.places import Extent, Path, Places
from rulesengine.api.source import Piece, Source, decoded
from rulesengine.api.values import Values
from rulesengine.core.errors import FindingsError
from rulesengine.core.findings import Finding, Span
from rulesengine.core.json import Json


@dataclass(frozen=True, slots=True)
class Document:
    """One value of a file with its places; `prefix` is where it stands within its document."""

    value: Json
    source: Source
    places: Places
    prefix: Path = ()

    def key(self, path: Path) -> Span | None:
        """Where the key of a field stands."""
        return self.places.key((*self.prefix, *path))

    def locate(self, path: Path) -> Span | None:
        """Where a field's value stands."""
        return self.places.value((*self.prefix, *path))

    def extent(self, path: Path) -> Extent | None:
        """From where to where a field reaches in the file."""
        return self.places.extent((*self.prefix, *path))

    def character(self, path: Path, offset: int, length: int, *, of_key: bool = False) -> Span | None:
        """Where some characters of a text value stand, or of a key."""
        return self.places.character((*self.prefix, *path), offset, length, of_key=of_key)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file holds. Documents with problems are not among `documents`."""

    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]


def load(text: str | bytes, file: str) -> Loaded:
    """Every document of a YAML or JSON file, whatever its shape."""
    source, findings = decoded(text, file)
    documents: list[Document] = []
    for piece in source.pieces() if source is not None else ():
        if source is not None and not piece.is_empty:
            document, problems = _document(source, piece)
            documents += [document] if document is not None else []
            findings += problems
    return Loaded(tuple(documents), tuple(findings))


def objects(document: Document) -> tuple[list[Document], list[Finding]]:
    """The Kubernetes objects of a document: itself, or the items of a List (of any kind)."""
    value = document.value
    problem = _not_an_object(value)
    if problem:
        hint = "start with `apiVersion:` and `kind:`"
        return [], [Finding("RE010", problem, span=document.locate(()), hint=hint)]
    items = value.get("items")
    if not (value["kind"].endswith("List") and isinstance(items, list)):
        return [document], []
    found: list[Document] = []
    findings: list[Finding] = []
    for index, item in enumerate(items):
        inner = Document(item, document.source, document.places, (*document.prefix, "items", index))
        more, problems = objects(inner)
        found += more
        findings += problems
    return found, findings


def load_objects(text: str | bytes, file: str, *, any_shape: bool = False) -> list[Any]:
    """The objects of a file, Lists opened; raises FindingsError for any problem.

    `any_shape`: the documents as they are, be they objects or not.
    """
    loaded = load(text, file)
    findings = list(loaded.findings)
    found: list[Any] = []
    for document in loaded.documents:
        if any_shape:
            found.append(document.value)
            continue
        opened, problems = objects(document)
        found += [item.value for item in opened]
        findings += problems
    if findings:
        raise FindingsError(findings)
    return found


def _document(source: Source, piece: Piece) -> tuple[Document | None, list[Finding]]:
    try:
        root = compose(piece.text, piece.origin)
    except ReadError as error:
        return None, [_finding(source, error)]
    if root is None:
        return None, []
    values = Values()
    value = values.value(root)
    if values.problems:
        return None, [_finding(source, problem) for problem in values.problems]
    return Document(value, source, Places(source, root)), []


def _finding(source: Source, error: ReadError) -> Finding:
    return Finding(error.code, error.message, span=source.span(error.at), hint=error.hint)


def _not_an_object(value: Json) -> str:
    """Why a value is no Kubernetes object, or ""."""
    if not isinstance(value, dict):
        return f"expected a Kubernetes object, found {named(value)}"
    for field in ("apiVersion", "kind"):
        found = value.get(field)
        if not isinstance(found, str) or not found:
            what = "no" if found is None or found == "" else f"{named(found)} as"
            return f"expected a Kubernetes object, found a mapping with {what} {field}"
    return ""


def named(value: Json) -> str:
    """The type of a value in a user's words, never the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number with a fraction"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"
