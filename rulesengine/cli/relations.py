"""What rules read, what they write, and in what order: rules as a graph of kinds.

By kind, as it can be told from the text alone. An edge is left out where the text shows that
what one rule writes is not what the other reads (labels, namespaces, a name).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rulesengine import api
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.kinds import GroupVersionKind

FOR, WATCH = "for", "watches"
_LITERAL = "${"


@dataclass(frozen=True, slots=True)
class Read:
    """`role`: "for", "lookup NAME", "watches". The rest is what the text says of the objects."""

    kind: GroupVersionKind
    role: str
    labels: tuple[tuple[str, str], ...] = ()
    namespaces: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of `resources`. `verb`: "template", "patch", "delete"; `after` are other entries.

    `whole`: the labels are all there are, so that others are absent.
    """

    name: str
    verb: str
    kind: GroupVersionKind
    after: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    whole: bool = False
    namespace: str = ""
    object_name: str = ""
    conditional: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True)
class RuleNode:
    name: str  # "ClusterRule tenant-baseline"
    reads: tuple[Read, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Relations:
    """`feeds`: (rule, entry, rule) where what the first writes is read by the second.

    `loops` are sets of rules that feed each other, each in the order of the files.
    """

    rules: tuple[RuleNode, ...]
    feeds: tuple[tuple[str, str, str], ...]
    loops: tuple[tuple[str, ...], ...]

    def in_loop(self, writer: str, reader: str) -> bool:
        return any(writer in loop and reader in loop for loop in self.loops)


def relations(rules: Sequence[tuple[api.RuleModel, CompiledRule]]) -> Relations:
    nodes = tuple(_node(model, rule) for model, rule in rules)
    feeds = tuple(dict.fromkeys(_feeds(nodes)))
    return Relations(nodes, feeds, tuple(_loops([node.name for node in nodes], feeds)))


def _node(model: api.RuleModel, rule: CompiledRule) -> RuleNode:
    spec: dict[str, Any] = model.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    after = {resource.name: tuple(sorted(resource.waits_on)) for resource in rule.resources}
    own = model.key.namespace
    source = spec.get("for")
    entries = tuple(
        _entry(item, source, after.get(item["name"], ()), own) for item in spec.get("resources", ())
    )
    return RuleNode(str(model.key), tuple(_reads(spec, own)), entries)


def _reads(spec: dict[str, Any], own: str) -> Iterator[Read]:
    if source := spec.get("for"):
        yield _read(source, FOR, own)
    for lookup in spec.get("lookups", ()):
        yield _read(lookup.get("get") or lookup.get("list") or {}, f"lookup {lookup['name']}", own)
    for watch in spec.get("watches", ()):
        yield _read(watch, WATCH, own)


def _read(given: dict[str, Any], role: str, own: str) -> Read:
    labels = (given.get("selector") or {}).get("matchLabels") or {}
    space = own or given.get("namespace") or ""
    spaces = given.get("namespaces") or ((space,) if space else ())
    return Read(
        _kind(given),
        role,
        tuple((k, v) for k, v in sorted(labels.items()) if _LITERAL not in f"{k}{v}"),
        tuple(name for name in spaces if _LITERAL not in name) if _LITERAL not in "".join(spaces) else (),
        _literal(given.get("name")),
    )


def _entry(item: dict[str, Any], source: dict[str, Any] | None, after: tuple[str, ...], own: str) -> Entry:
    after = tuple(dict.fromkeys((*item.get("dependsOn", ()), *after)))
    common: dict[str, Any] = {
        "name": item["name"],
        "after": after,
        "conditional": bool(item.get("includeWhen")),
        "many": bool(item.get("forEach")),
    }
    if template := item.get("template"):
        meta = template.get("metadata")
        meta = meta if isinstance(meta, dict) else {}
        labels, whole = _labels(meta.get("labels", {}))
        space = own or _literal(meta.get("namespace"))
        return Entry(
            verb="template",
            kind=_kind(template),
            labels=labels,
            whole=whole,
            namespace=space,
            object_name=_literal(meta.get("name")),
            **common,
        )
    verb = "delete" if item.get("delete") else "patch"
    about = item.get("delete") or (item.get("patch") or {}).get("target") or source or {}
    return Entry(
        verb=verb,
        kind=_kind(about),
        namespace=own or _literal(about.get("namespace")),
        object_name=_literal(about.get("name")),
        **common,
    )


def _labels(found: Any) -> tuple[tuple[tuple[str, str], ...], bool]:
    """Literal labels, and whether there can be no others."""
    if not isinstance(found, dict):
        return (), False
    literal = tuple((k, str(v)) for k, v in sorted(found.items()) if _LITERAL not in f"{k}{v}")
    return literal, len(literal) == len(found)


def _kind(given: dict[str, Any]) -> GroupVersionKind:
    return GroupVersionKind.parse(str(given.get("apiVersion", "")), str(given.get("kind", "")))


def _literal(text: Any) -> str:
    return text if isinstance(text, str) and _LITERAL not in text else ""


def _feeds(nodes: Sequence[RuleNode]) -> Iterator[tuple[str, str, str]]:
    for writer in nodes:
        for entry in writer.entries:
            for reader in nodes:
                if reader is writer and entry.verb == "template":
                    continue  # what a rule made is neither its source nor in its lookups
                if reader is not writer and any(_may_meet(entry, read) for read in reader.reads):
                    yield writer.name, entry.name, reader.name


def _may_meet(entry: Entry, read: Read) -> bool:
    """Whether the object that an entry writes may be one that is read."""
    if entry.kind.group_kind != read.kind.group_kind:
        return False
    if entry.namespace and read.namespaces and entry.namespace not in read.namespaces:
        return False
    if entry.object_name and read.name and entry.object_name != read.name:
        return False
    if entry.verb != "template":
        return True
    has = dict(entry.labels)
    return all(has.get(key, value if not entry.whole else None) == value for key, value in read.labels)


def _loops(names: Sequence[str], feeds: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, ...]]:
    """Sets of rules each of which reaches every other one."""
    following: dict[str, set[str]] = {name: set() for name in names}
    for writer, _, reader in feeds:
        following[writer].add(reader)
    reached = {name: _reachable(name, following) for name in names}
    seen: set[str] = set()
    for name in names:
        if name not in seen and name in reached[name]:
            loop = tuple(other for other in names if other in reached[name] and name in reached[other])
            seen.update(loop)
            yield loop


def _reachable(start: str, following: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = [start]
    while left:
        for name in following[left.pop()] - found:
            found.add(name)
            left.append(name)
    return found
