"""What one rule sees: objects, certain absence, or why nothing is known."""

from __future__ import annotations

from typing import Any

from rulesengine.cache import CacheSnapshot, Handle, Interest
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind
from rulesengine.core.ports import Absent, Snapshot, Unreadable
from tests.unit.cache.fakes import (
    CONFIG_MAP,
    CONFIG_MAPS,
    WIDGET,
    Bench,
    bookmark,
    claimed,
    config_map,
    line,
    names,
    settle,
)

RULE = RuleKey("ClusterRule", "", "r")


def snapshot(*handles: Handle, written: tuple[GroupKind, ...] = ()) -> Snapshot:
    by_kind: dict[GroupVersionKind, list[Handle]] = {}
    for handle in handles:
        by_kind.setdefault(handle.gvk, []).append(handle)
    known: dict[GroupVersionKind, Any] = {CONFIG_MAP: CONFIG_MAPS}
    versions = {gvk.group_kind: gvk for gvk in (CONFIG_MAP, WIDGET)}
    return CacheSnapshot(by_kind, known.get, lambda _: written, versions.__getitem__)


async def test_reads_answer_with_object_absence_or_reason(bench: Bench) -> None:
    """The three are never mixed up."""
    handle = await bench.follow(config_map("a", 5))
    seen = snapshot(handle)
    assert seen.get(CONFIG_MAP, "ns", "a") is handle.get("ns", "a")
    assert seen.get(CONFIG_MAP, "ns", "b") == Absent(None)
    other = seen.get(WIDGET, "ns", "a")
    assert isinstance(other, Unreadable)
    assert "is not watched" in other.why
    assert seen.resource(CONFIG_MAP) is CONFIG_MAPS
    assert seen.resource(WIDGET) is None
    assert seen.version(CONFIG_MAP.group_kind) == CONFIG_MAP


async def test_a_narrowed_source_does_not_hide_the_same_kind_as_target(bench: Bench) -> None:
    """Whichever handle has the object answers."""
    part = await bench.follow(config_map("a", 5), field_selector="metadata.name=a")
    target = await bench.follow(config_map("a", 5), config_map("b", 6, metadata=claimed()), role="target")
    seen = snapshot(part, target)
    assert seen.get(CONFIG_MAP, "ns", "a") is part.get("ns", "a")
    assert seen.get(CONFIG_MAP, "ns", "b") is target.get("ns", "b")
    assert seen.get(CONFIG_MAP, "ns", "c") == Absent(None)


async def test_what_a_rule_made_is_known_only_when_every_written_kind_is(bench: Bench) -> None:
    """One kind that cannot be read makes all of it unreadable, with the reason."""
    config_maps = await bench.follow(
        config_map("x", 5, metadata=claimed()), config_map("y", 6), role="target"
    )
    kinds = (CONFIG_MAP.group_kind, WIDGET.group_kind)
    assert isinstance(snapshot(config_maps, written=kinds).made(RULE, "ns", "s"), Unreadable)
    widgets = bench.cache.acquire(Interest(WIDGET, "target"))
    await settle()
    seen = snapshot(config_maps, widgets, written=kinds)
    unreadable = seen.made(RULE, "ns", "s")
    assert isinstance(unreadable, Unreadable)
    assert unreadable.kind == WIDGET
    widget = {**config_map("w", 7, metadata=claimed()), "apiVersion": "example.com/v1", "kind": "Widget"}
    await bench.send(line("ADDED", widget), bookmark(9, end=True))
    made = seen.made(RULE, "ns", "s")
    assert not isinstance(made, Unreadable)
    assert names(made) == ["w", "x"]
    assert seen.written_kinds(RULE) == kinds
    assert list(snapshot(written=()).made(RULE, "ns", "s")) == []  # type: ignore[arg-type]
