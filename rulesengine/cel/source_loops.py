"""Macros in the fast tier's source: plain loops."""

from __future__ import annotations

from rulesengine.cel.source import NotFast, Writer
from rulesengine.cel.syntax import Fold

_ROUND = {
    "all": 4,
    "exists": 5,
    "exists_one": 3,
    "filter": 14,
    "map": 13,
    "transformList": 13,
    "transformMap": 4,
}
"""At most what the exact tier charges for a round, the body aside."""


def fold(writer: Writer, node: Fold) -> str:
    """An expression for the value of a macro."""
    if node.kind == "bind":
        writer.bind(node.slots[0], writer.atom(writer.value(node.range)))
        return writer.value(node.body)
    if node.kind in ("optMap", "optFlatMap"):
        return f"closed({writer.optional(node)})"
    if node.kind not in _ROUND:
        raise NotFast
    result = writer.fresh()
    over = writer.atom(writer.value(node.range))
    head, over = _head(writer, node, over)
    writer.emit(f"{result} = {_START.get(node.kind, '[]')}")
    with writer.loop(head, over, _ROUND[node.kind]):
        _body(writer, node, result)
    return f"({result} == 1)" if node.kind == "exists_one" else result


_START = {"all": "True", "exists": "False", "exists_one": "0", "transformMap": "{}"}


def _head(writer: Writer, node: Fold, over: str) -> tuple[str, str]:
    names = [writer.fresh() for _ in node.slots]
    for slot, name in zip(node.slots, names, strict=True):
        writer.bind(slot, name)
    if len(names) == 2:
        found = writer.atom(f"pairs({over})")
        return f"for {names[0]}, {names[1]} in {found}:", found
    if writer.type(node.range).kind == "list":
        writer.check(("list", over), f"if {over}.__class__ is not list: raise U")
    else:
        writer.check(("loop", over), f"if {over}.__class__ is not list: is_map({over})")
    return f"for {names[0]} in {over}:", over


def _body(writer: Writer, node: Fold, result: str) -> None:
    if node.kind in ("all", "exists"):
        decided = node.kind == "exists"
        truth = writer.truth(node.body)
        writer.emit(f"if {'' if decided else 'not '}{truth}:")
        writer.emit(f"    {result} = {decided}")
        writer.emit("    break")
        return
    condition = node.condition if node.kind not in ("filter", "exists_one") else node.body
    if condition is None:
        _yield(writer, node, result)
        return
    writer.emit(f"if {writer.truth(condition)}:")
    with writer.block():
        _yield(writer, node, result)


def _yield(writer: Writer, node: Fold, result: str) -> None:
    match node.kind:
        case "exists_one":
            writer.emit(f"{result} += 1")
        case "filter":
            writer.emit(f"{result}.append({writer.slot(node.slots[0])})")
        case "transformMap":
            value = writer.value(node.body)
            writer.emit(f"{result}[{writer.slot(node.slots[0])}] = {value}")
        case _:
            writer.emit(f"{result}.append({writer.value(node.body)})")
