"""Case files to cases. Everything that is wrong in a file is said at once, with its place.

Files that a case names (rules, CRDs, state) are read relative to it; a folder means every
YAML and JSON file below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Any

from rulesengine import api
from rulesengine.api import Document, Path
from rulesengine.core.errors import FindingsError
from rulesengine.core.findings import Finding
from rulesengine.core.json import Object
from rulesengine.testing.cases import (
    Advance,
    Case,
    Edit,
    Expect,
    Operation,
    Restart,
    Step,
    Verb,
    WatchFault,
    WriteFault,
)
from rulesengine.testing.clock import seconds_of

SUFFIXES = (".yaml", ".yml", ".json")
FIELDS = ("rules", "crds", "clock", "state", "steps", "rejects", "settled")
CHANGES = ("created", "updated", "deleted", "status")
VERBS = (*(verb.value for verb in Verb), "restart", "advance", "fault")
EXPECT = ("objects", "absent", "changes", "rule", "events", "cel")
EVENT = ("reason", "type", "note", "action", "regarding", "count")
RULE_FIELDS = ("status", "metadata", "spec")
WATCH, WRITE = ("drop", "expire"), (409, 429, 500)
DEFAULT_RULE = "../rule.yaml"


def may_be_case(text: str | bytes, file: str) -> bool:
    """Whether a file in a folder is meant to be a case, well-formed or not: rules and CRDs lie beside them.

    One that cannot be read is where cases are expected: in a folder of that name.
    """
    loaded = api.load(text, file)
    if loaded.findings:
        return FilePath(file).parent.name == "cases"
    value = loaded.documents[0].value if len(loaded.documents) == 1 else None
    return isinstance(value, dict) and "kind" not in value and bool({"steps", "rejects"} & set(value))


def read_case(text: str | bytes, file: str) -> Case:
    """The case in a file. Raises FindingsError."""
    loaded = api.load(text, file)
    if loaded.findings:
        raise FindingsError(loaded.findings)
    if len(loaded.documents) != 1:
        message = f"expected one document with a case, found {len(loaded.documents)}"
        raise FindingsError([Finding("RE010", message, span=None, hint="write each case into its own file")])
    reader = _Reader(loaded.documents[0], file)
    case = reader.case()
    if reader.findings:
        raise FindingsError(api.in_order(reader.findings))
    return case


class _Reader:
    """Walks over one document. What is wrong is noted, and something harmless stands in for it."""

    def __init__(self, document: Document, file: str) -> None:
        self.document = document
        self.file = file
        self.findings: list[Finding] = []

    def case(self) -> Case:
        given = self._mapping(self.document.value, (), FIELDS)
        if ("steps" in given) == ("rejects" in given):
            self._say(
                "RE107", "expected either steps or rejects", (), "say what shall happen, or what is wrong"
            )
        rules = self._rules(given.get("rules", [DEFAULT_RULE]), ("rules",))
        return Case(
            file=self.file,
            document=self.document,
            rules=tuple(rules),
            crds=tuple(self._objects(given, "crds")),
            state=tuple(self._objects(given, "state")),
            clock=self._clock(given.get("clock"), ("clock",)),
            steps=tuple(
                self._step(step, ("steps", index), rules)
                for index, step in enumerate(self._list(given.get("steps", []), ("steps",)))
            ),
            rejects=tuple(self._texts(given.get("rejects", []), ("rejects",))),
            settled=self._flag(given.get("settled", True), ("settled",)),
        )

    # --- what there is at the start ---

    def _rules(self, value: Any, path: Path) -> list[Document]:
        found = list(self._documents(self._list(value, path), path))
        for document in found:
            if document.value.get("kind") not in ("ClusterRule", "Rule"):
                span = document.locate(("kind",)) or document.locate(())
                self.findings.append(Finding("RE111", "expected a ClusterRule or a Rule here", "rules", span))
        if not found and not self.findings:
            self._say("RE102", "a case needs a rule", path)
        return found

    def _objects(self, given: Object, name: str) -> list[Object]:
        items = self._list(given.get(name, []), (name,))
        return [document.value for document in self._documents(items, (name,))]

    def _documents(self, items: list[Any], path: Path) -> Iterator[Document]:
        """Objects with their places: inline ones, and those in the files that are named."""
        for index, item in enumerate(items):
            here = (*path, index)
            if isinstance(item, str):
                for document in self._files(item, here):
                    yield from self._opened(document)
            else:
                self._object(item, here, named=False)
                if isinstance(item, dict):
                    prefix = (*self.document.prefix, *here)
                    yield from self._opened(
                        Document(item, self.document.source, self.document.places, prefix)
                    )

    def _files(self, name: str, path: Path) -> Iterator[Document]:
        start = FilePath(self.file).parent / name
        files = [start]
        if start.is_dir():
            files = sorted(p for p in start.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        try:
            texts = [(file, file.read_bytes()) for file in files]
        except OSError as error:
            hint = "names are relative to the case's own file"
            self._say("RE106", f"file {name} cannot be read: {error.strerror}", path, hint)
            return
        for file, text in texts:
            loaded = api.load(text, str(file))
            self.findings += loaded.findings
            yield from loaded.documents

    def _opened(self, document: Document) -> Iterator[Document]:
        found, findings = api.objects(document)
        self.findings += findings
        yield from found

    def _clock(self, value: Any, path: Path) -> datetime | None:
        if value is None:
            return None
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            self._say("RE106", "expected a time", path, 'write it like "2026-01-05T08:00:00Z"')
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    # --- steps ---

    def _step(self, value: Any, path: Path, rules: list[Document]) -> Step:
        given = self._mapping(value, path, ("do", "expect"))
        done = self._list(given.get("do", []), (*path, "do"))
        found = (self._operation(item, (*path, "do", index)) for index, item in enumerate(done))
        operations = tuple(operation for operation in found if operation is not None)
        expect = given.get("expect")
        return Step(operations, None if expect is None else self._expect(expect, (*path, "expect"), rules))

    def _operation(self, value: Any, path: Path) -> Operation | None:
        given = self._mapping(value, path, (*VERBS, "as"))
        verbs = [verb for verb in VERBS if verb in given]
        if len(verbs) != 1:
            if isinstance(value, dict) and set(given) == set(value):
                known = f"known: {', '.join(VERBS)}"
                self._say("RE107", f"expected exactly one verb, found {len(verbs)}", path, known)
            return None
        (verb,) = verbs
        here, body = (*path, verb), given[verb]
        match verb:
            case "restart":
                if body is not True:
                    self._say("RE104", "expected true", here)
                return Restart()
            case "advance":
                return self._advance(body, here)
            case "fault":
                return self._fault(body, here)
            case _:
                pass
        self._object(body, here)
        manager = given.get("as", "")
        if not isinstance(manager, str):
            self._say("RE103", f"expected a name, found {api.named(manager)}", (*path, "as"))
            manager = ""
        return Edit(Verb(verb), body, manager) if isinstance(body, dict) else None

    def _advance(self, value: Any, path: Path) -> Advance | None:
        try:
            return Advance(seconds_of(value))
        except (TypeError, ValueError):
            self._say("RE106", "expected a span of time", path, "write it like 90s, 2h30m or 1d")
            return None

    def _fault(self, value: Any, path: Path) -> WatchFault | WriteFault | None:
        given = self._mapping(value, path, ("watch", "write", "times"))
        if ("watch" in given) == ("write" in given):
            self._say("RE107", "expected exactly one of watch and write", path)
            return None
        times = self._count(given.get("times", 1), (*path, "times"))
        if "watch" in given:
            how = self._one_of(given["watch"], WATCH, (*path, "watch"))
            return WatchFault(how == "expire", times)
        status = self._one_of(given["write"], WRITE, (*path, "write"))
        return WriteFault(int(status or 0), times)

    def _expect(self, value: Any, path: Path, rules: list[Document]) -> Expect:
        given = self._mapping(value, path, EXPECT)

        def every(name: str, check: Callable[[Any, Path], None]) -> tuple[Any, ...]:
            items = self._list(given.get(name, []), (*path, name))
            for index, item in enumerate(items):
                check(item, (*path, name, index))
            return tuple(items)

        by_name, first = self._by_name(given.get("rule"), (*path, "rule"), rules)
        return Expect(
            objects=every("objects", self._object),
            absent=every("absent", self._object),
            changes=self._changes(given.get("changes", {}), (*path, "changes")),
            rules=by_name,
            first=first,
            events=every("events", self._event),
            cel=tuple(self._texts(given.get("cel", []), (*path, "cel"))),
        )

    def _changes(self, value: Any, path: Path) -> dict[str, int]:
        given = self._mapping(value, path, CHANGES)
        return {name: self._count(count, (*path, name)) for name, count in given.items()}

    def _by_name(self, value: Any, path: Path, rules: list[Document]) -> tuple[dict[str, Object], bool]:
        """Fields of rules by the rule's name; and whether none was named, which means the first."""
        if value is None or not rules:
            return {}, False
        if not isinstance(value, dict):
            self._say("RE103", f"expected a mapping, found {api.named(value)}", path)
            return {}, False
        names = [str(rule.value.get("metadata", {}).get("name")) for rule in rules]
        if set(value) <= set(RULE_FIELDS) and not set(value) & set(names):
            return {names[0]: value}, True
        given = self._mapping(value, path, names)
        for name, fields in given.items():
            self._mapping(fields, (*path, name), RULE_FIELDS)
        return given, False

    def _event(self, value: Any, path: Path) -> None:
        given = self._mapping(value, path, EVENT)
        self._count(given.get("count", 1), (*path, "count"))

    # --- small things ---

    def _object(self, value: Any, path: Path, *, named: bool = True) -> None:
        """An object with apiVersion, kind and, where it must be `named`, a name."""
        if not isinstance(value, dict):
            self._say("RE103", f"expected an object, found {api.named(value)}", path)
            return
        meta = value.get("metadata")
        needed: list[tuple[Path, Any]] = [((name,), value.get(name)) for name in ("apiVersion", "kind")]
        if named:
            name = meta.get("name") if isinstance(meta, dict) else None
            needed.append((("metadata", "name"), name))
        for below, found in needed:
            if not isinstance(found, str) or not found:
                self._say("RE102", f"an object needs {api.written(below)}", (*path, *below))

    def _mapping(self, value: Any, path: Path, known: Iterable[str]) -> dict[str, Any]:
        """`value` without unknown fields and nulls."""
        if not isinstance(value, dict):
            self._say("RE103", f"expected a mapping, found {api.named(value)}", path)
            return {}
        known = list(known)
        for name in value:
            if name not in known:
                here = (*path, name)
                self._say("RE101", f"unknown field {name!r}", here, api.nearest(name, known), of_key=True)
        return {name: item for name, item in value.items() if name in known and item is not None}

    def _list(self, value: Any, path: Path) -> list[Any]:
        if isinstance(value, list):
            return value
        self._say("RE103", f"expected a list, found {api.named(value)}", path)
        return []

    def _texts(self, value: Any, path: Path) -> Iterator[str]:
        for index, item in enumerate(self._list(value, path)):
            if isinstance(item, str):
                yield item
            else:
                self._say("RE103", f"expected text, found {api.named(item)}", (*path, index))

    def _flag(self, value: Any, path: Path) -> bool:
        if not isinstance(value, bool):
            self._say("RE103", f"expected true or false, found {api.named(value)}", path)
        return value is not False

    def _count(self, value: Any, path: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._say("RE103", f"expected a count, found {api.named(value)}", path)
            return 0
        return value

    def _one_of(self, value: Any, known: tuple[Any, ...], path: Path) -> Any:
        if value in known:
            return value
        self._say("RE104", f"expected one of {', '.join(map(str, known))}", path)
        return None

    def _say(self, code: str, message: str, path: Path, hint: str = "", *, of_key: bool = False) -> None:
        span = None
        for length in range(len(path), -1, -1):  # where the field is missing, what is around it
            around = path[:length]
            find = self.document.key if of_key or length < len(path) else self.document.locate
            span = find(around)
            if span is not None:
                break
        self.findings.append(Finding(code, message, api.written(path), span, hint))
