"""What a step expects against what is there; everything that is otherwise, not the first alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from rulesengine.api import Path
from rulesengine.core.json import Json, Object
from rulesengine.core.kinds import GroupVersionKind
from rulesengine.testing.cases import Case, Expect
from rulesengine.testing.compare import difference, differs, named, projected
from rulesengine.testing.queries import holds
from rulesengine.testing.user import User
from rulesengine.testing.verdicts import Problem, Remove, Replace
from rulesengine.testing.wire import Wire


async def problems(case: Case, expect: Expect, at: Path, user: User, wire: Wire) -> list[Problem]:
    """Empty where all of it holds. `at` is where `expect` stands in the file."""
    found = [problem async for problem in _objects(case, expect, at, user)]
    found += _changes(expect, (*at, "changes"), wire)
    found += _events(expect, (*at, "events"), wire)
    if expect.cel:
        objects = await every_object(case, user, wire)
        for index, text in enumerate(expect.cel):
            if problem := holds(text, objects):
                found.append(Problem((*at, "cel", index), f"{text}\n{problem}"))
    return found


async def _objects(case: Case, expect: Expect, at: Path, user: User) -> AsyncIterator[Problem]:
    for index, wanted in enumerate(expect.objects):
        path = (*at, "objects", index)
        if (problem := _contains(wanted, await user.get(wanted), path)) is not None:
            yield problem
    for index, wanted in enumerate(expect.absent):
        if await user.get(wanted) is not None:
            path = (*at, "absent", index)
            yield Problem(path, f"{named(wanted)} is there", corrections=(Remove(path),))
    for name, fields in expect.rules.items():
        rule = next(r.value for r in case.rules if r.value["metadata"].get("name") == name)
        about = {key: rule[key] for key in ("apiVersion", "kind", "metadata")}
        path = (*at, "rule") if expect.first else (*at, "rule", name)
        found = await user.get(about)
        if found is None:
            yield Problem(path, f"{named(about)} is not there")
        elif differs(fields, found):
            message = f"{named(about)} is otherwise"
            came = Replace(path, projected(fields, found))
            yield Problem(path, message, difference(fields, found), (came,))


def _contains(wanted: Object, found: Object | None, path: Path) -> Problem | None:
    if found is None:
        return Problem(path, f"{named(wanted)} is not there", corrections=(Remove(path),))
    if not differs(wanted, found):
        return None
    came = tuple(_corrections(wanted, found, path))
    return Problem(path, f"{named(wanted)} is otherwise", difference(wanted, found), came)


def _corrections(wanted: Json, found: Json, path: Path) -> list[Replace | Remove]:
    """The smallest places that differ, so that the rest of the file stays as it is written."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        came: list[Replace | Remove] = []
        for name, value in wanted.items():
            if name not in found:
                came.append(Remove((*path, name)))
            elif differs(value, found[name]):
                came += _corrections(value, found[name], (*path, name))
        return came
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [one for index, (a, b) in pairs if differs(a, b) for one in _corrections(a, b, (*path, index))]
    return [Replace(path, found)]


def _changes(expect: Expect, path: Path, wire: Wire) -> list[Problem]:
    counts = wire.counts()
    wrong = {what: count for what, count in expect.changes.items() if counts[what] != count}
    if not wrong:
        return []
    said = ", ".join(f"{what} {counts[what]}, expected {count}" for what, count in wrong.items())
    came = tuple(Replace((*path, what), counts[what]) for what in wrong)
    return [Problem(path, f"{said}", corrections=came)]


def _events(expect: Expect, path: Path, wire: Wire) -> list[Problem]:
    found = []
    for index, wanted in enumerate(expect.events):
        fields = {name: value for name, value in wanted.items() if name != "count"}
        count = sum(1 for event in wire.events if _is_event(fields, event))
        expected = wanted.get("count")
        if count == expected or (expected is None and count):
            continue
        said = ", ".join(f"{event.get('reason')}: {event.get('note')}" for event in wire.events) or "none"
        message = f"{count} events are like that, expected {'any' if expected is None else expected}"
        came = (Replace((*path, index, "count"), count),) if expected is not None else ()
        found.append(Problem((*path, index), message, f"events of this step: {said}", came))
    return found


def _is_event(fields: Mapping[str, Any], event: Object) -> bool:
    """`note` is part of the text; everything else as in objects."""
    others = {name: value for name, value in fields.items() if name != "note"}
    note = str(fields.get("note", ""))
    return not differs(others, event) and note in str(event.get("note", ""))


async def every_object(case: Case, user: User, wire: Wire) -> list[Object]:
    """The objects of every kind that the case names or the engine wrote, by kind, namespace and name."""
    kinds = _kinds(case.document.value)
    for body in (*(rule.value for rule in case.rules), *case.crds, *case.state):
        kinds |= _kinds(body)
    for write in wire.writes:
        kinds |= _kinds(write.body)
    found: list[Object] = []
    for gvk in sorted(kinds):
        found += await user.all_of(gvk)
    return found


def _kinds(value: Json) -> set[GroupVersionKind]:
    found: set[GroupVersionKind] = set()
    if isinstance(value, dict):
        version, kind = value.get("apiVersion"), value.get("kind")
        if isinstance(version, str) and isinstance(kind, str) and re.fullmatch(r"[A-Z]\w*", kind):
            found.add(GroupVersionKind.parse(version, kind))
        for item in value.values():
            found |= _kinds(item)
    elif isinstance(value, list):
        for item in value:
            found |= _kinds(item)
    return found
