"""Rules as a graph, for people (text), for documents (mermaid, dot), and as a picture (svg.py)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rulesengine.cli.output import wants_colour
from rulesengine.cli.relations import Entry, Relations, RuleNode
from rulesengine.core.kinds import GroupVersionKind

RED, PLAIN = "\x1b[31m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Box:
    """A node of a picture: a kind, or a rule with its entries as lines."""

    name: str
    lines: tuple[str, ...]
    rule: bool
    red: bool


@dataclass(frozen=True, slots=True)
class Arrow:
    start: str
    end: str
    label: str
    red: bool


def boxes_and_arrows(relations: Relations) -> tuple[list[Box], list[Arrow]]:
    """Kinds and rules; an arrow from a kind to the rule that reads it, and to the kind that it writes."""
    boxes: dict[str, Box] = {}
    arrows: list[Arrow] = []
    looping = {name for loop in relations.loops for name in loop}
    red_writes = {(w, e) for w, e, r in relations.feeds if relations.in_loop(w, r)}
    written = _looping_kinds(relations, red_writes)
    for rule in relations.rules:
        boxes[rule.name] = Box(rule.name, tuple(_lines(rule)), rule=True, red=rule.name in looping)
        for read in rule.reads:
            kind = shown(read.kind)
            boxes.setdefault(kind, Box(kind, (), rule=False, red=False))
            arrows.append(Arrow(kind, rule.name, read.role, red=(kind, rule.name) in written))
        for entry in rule.entries:
            kind = shown(entry.kind)
            boxes.setdefault(kind, Box(kind, (), rule=False, red=False))
            label = entry.name if entry.verb == "template" else f"{entry.verb} {entry.name}"
            arrows.append(Arrow(rule.name, kind, label, red=(rule.name, entry.name) in red_writes))
    return list(boxes.values()), arrows


def _looping_kinds(relations: Relations, red_writes: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Pairs of a kind and a rule that reads it, where that is part of a loop."""
    kinds = {(r.name, e.name): shown(e.kind) for r in relations.rules for e in r.entries}
    return {
        (kinds[writer, entry], reader)
        for writer, entry, reader in relations.feeds
        if (writer, entry) in red_writes and relations.in_loop(writer, reader)
    }


def shown(kind: GroupVersionKind) -> str:
    """`Deployment.apps`, `ConfigMap`."""
    return str(kind.group_kind)


def _lines(rule: RuleNode) -> Iterator[str]:
    for entry in rule.entries:
        after = f" after {', '.join(entry.after)}" if entry.after else ""
        yield f"{entry.name}{'[]' if entry.many else ''}{'?' if entry.conditional else ''}{after}"


def as_text(relations: Relations) -> str:
    """One paragraph for each rule, then what feeds what, then loops."""
    lines: list[str] = []
    for rule in relations.rules:
        lines.append(rule.name)
        lines += [f"  reads   {shown(read.kind)} ({read.role})" for read in rule.reads]
        lines += [f"  {_WORDS[entry.verb]:7} {_described(entry)}" for entry in rule.entries]
    if relations.feeds:
        lines.append("")
    for writer, entry, reader in relations.feeds:
        line = f"{writer} {entry} feeds {reader}"
        lines.append(_red(line) if relations.in_loop(writer, reader) else line)
    for loop in relations.loops:
        lines.append(_red(f"loop: {' → '.join((*loop, loop[0]))}"))
    return "\n".join(lines) + "\n"


_WORDS = {"template": "makes", "patch": "patches", "delete": "deletes"}


def _described(entry: Entry) -> str:
    notes = [f"resource {entry.name}"]
    notes += ["for each"] if entry.many else []
    notes += ["if included"] if entry.conditional else []
    notes += [f"after {', '.join(entry.after)}"] if entry.after else []
    return f"{shown(entry.kind)} ({', '.join(notes)})"


def _red(text: str) -> str:
    return f"{RED}{text}{PLAIN}" if wants_colour() else text


def as_mermaid(relations: Relations) -> str:
    boxes, arrows = boxes_and_arrows(relations)
    ids = {box.name: f"n{number}" for number, box in enumerate(boxes)}
    lines = ["flowchart LR"]
    for box in boxes:
        text = "<br/>".join(_quoted_html(line) for line in (box.name, *box.lines))
        lines.append(f'  {ids[box.name]}["{text}"]' if box.rule else f'  {ids[box.name]}(["{text}"])')
    for number, arrow in enumerate(arrows):
        lines.append(f'  {ids[arrow.start]} -->|"{_quoted_html(arrow.label)}"| {ids[arrow.end]}')
        if arrow.red:
            lines.append(f"  linkStyle {number} stroke:red,color:red")
    lines += [f"  style {ids[box.name]} stroke:red" for box in boxes if box.red]
    return "\n".join(lines) + "\n"


def _quoted_html(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def as_dot(relations: Relations) -> str:
    boxes, arrows = boxes_and_arrows(relations)
    lines = ["digraph rules {", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    for box in boxes:
        label = "\\n".join(_escaped(line) for line in (box.name, *box.lines))
        shape = "box" if box.rule else "ellipse"
        colour = ", color=red" if box.red else ""
        lines.append(f'  "{_escaped(box.name)}" [shape={shape}, label="{label}"{colour}];')
    for arrow in arrows:
        colour = ", color=red, fontcolor=red" if arrow.red else ""
        ends = f'"{_escaped(arrow.start)}" -> "{_escaped(arrow.end)}"'
        lines.append(f'  {ends} [label="{_escaped(arrow.label)}"{colour}];')
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
