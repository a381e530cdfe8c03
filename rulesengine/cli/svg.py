"""The graph of rules as a picture: boxes in columns, arrows from left to right, loops in red.

A box stands one column right of everything that leads to it; arrows that go back, as in
loops, do not count for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from rulesengine.cli.drawings import Arrow, Box, boxes_and_arrows
from rulesengine.cli.relations import Relations

CHARACTER, LINE, PADDING = 7.2, 17, 10
COLUMN_GAP, ROW_GAP, MARGIN = 150, 24, 20
INK, ALARM, SHADE = "#333", "#c00", "#eef3fb"

Place = tuple[float, float, float, float]  # left, top, width, height


def as_svg(relations: Relations) -> str:
    boxes, arrows = boxes_and_arrows(relations)
    places = _placed(boxes, arrows)
    width = max((x + w for x, _, w, _ in places.values()), default=0) + MARGIN
    height = max((y + h for _, y, _, h in places.values()), default=0) + MARGIN
    parts = [_arrow(arrow, places) for arrow in arrows] + [_box(box, places[box.name]) for box in boxes]
    head = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    style = 'font-family="monospace" font-size="12"'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {head} {style}>', _MARKERS, *parts, "</svg>", ""]
    )


_MARKERS = "<defs>{}</defs>".format(
    "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>'
        for name, colour in (("end", INK), ("red", ALARM))
    )
)


def _placed(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> dict[str, Place]:
    columns: dict[int, list[Box]] = {}
    ranks = _ranks(boxes, arrows)
    for box in boxes:
        columns.setdefault(ranks[box.name], []).append(box)
    places: dict[str, Place] = {}
    left = float(MARGIN)
    for _, column in sorted(columns.items()):
        top, widest = float(MARGIN), 0.0
        for box in column:
            lines = (box.name, *box.lines)
            width = max(map(len, lines)) * CHARACTER + 2 * PADDING
            height = len(lines) * LINE + 2 * PADDING
            places[box.name] = (left, top, width, height)
            top += height + ROW_GAP
            widest = max(widest, width)
        left += widest + COLUMN_GAP
    return places


def _ranks(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> dict[str, int]:
    """The longest way to each box; an arrow back to where one came from is not followed."""
    ranks = {box.name: 0 for box in boxes}
    following: dict[str, set[str]] = {box.name: set() for box in boxes}
    for arrow in arrows:
        if arrow.start not in _reach(arrow.end, following):
            following[arrow.start].add(arrow.end)
    left = [box.name for box in boxes]
    while left:
        name = left.pop(0)
        for end in following[name]:
            if ranks[end] <= ranks[name]:
                ranks[end] = ranks[name] + 1
                left.append(end)
    return ranks


def _reach(start: str, following: dict[str, set[str]]) -> set[str]:
    found, left = {start}, [start]
    while left:
        for name in following[left.pop()] - found:
            found.add(name)
            left.append(name)
    return found


def _box(box: Box, place: Place) -> str:
    left, top, width, height = place
    colour, radius = (ALARM if box.red else INK), (3 if box.rule else 16)
    fill = SHADE if box.rule else "#fff"
    shape = f'x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="{radius}"'
    parts = [f'<rect {shape} fill="{fill}" stroke="{colour}"/>']
    for number, line in enumerate((box.name, *box.lines)):
        y = top + PADDING + LINE * (number + 0.75)
        bold = ' font-weight="bold"' if box.rule and number == 0 else ""
        parts.append(f'<text x="{left + PADDING:.0f}" y="{y:.0f}"{bold}>{escape(line)}</text>')
    return "".join(parts)


def _arrow(arrow: Arrow, places: dict[str, Place]) -> str:
    x1, y1, w1, h1 = places[arrow.start]
    x2, y2, _, h2 = places[arrow.end]
    start, end = (x1 + w1, y1 + h1 / 2), (x2, y2 + h2 / 2)
    reach = max(40.0, abs(end[0] - start[0]) / 2)
    curve = f"M{start[0]:.0f} {start[1]:.0f} C{start[0] + reach:.0f} {start[1]:.0f} "
    curve += f"{end[0] - reach:.0f} {end[1]:.0f} {end[0]:.0f} {end[1]:.0f}"
    colour, marker = (ALARM, "red") if arrow.red else (INK, "end")
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 4)
    return (
        f'<path d="{curve}" fill="none" stroke="{colour}" marker-end="url(#{marker})"/>'
        f'<text x="{middle[0]:.0f}" y="{middle[1]:.0f}" text-anchor="middle" fill="{colour}" '
        f'font-size="10">{escape(arrow.label)}</text>'
    )
