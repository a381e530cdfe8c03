"""Who reads whom among the entries: unknown names, cycles, and the order of evaluation.

`resources.X.f` makes the reader wait for X and come after it. `resources.?X` and `ready.X`
only look: X comes before where that is possible, so that what is seen is what this pass
decided, but nothing waits.
"""

from __future__ import annotations

from collections.abc import Iterator

from rulesengine.api import nearest
from rulesengine.compiler.draft import Code, Draft, Entry
from rulesengine.compiler.passes.variables import place, unknown_variable, used
from rulesengine.compiler.rule import Resource


def run(draft: Draft) -> None:
    """Fills `waits_on` of the entries and `ordered`."""
    known = {entry.name for entry in draft.entries}
    for code in all_codes(draft):
        _check_names(draft, code, known)
    for entry in draft.entries:
        plain: set[str] = set()
        looked: set[str] = set()
        for code in entry.codes:
            for reader in _readers(draft, code):
                waits, looks = _references(reader)
                plain |= waits & known
                looked |= looks & known
        entry.waits_on = frozenset(plain)
        entry.after = frozenset(looked - plain - {entry.name})
    cycle = _cycle(draft.entries)
    if cycle:
        _report(draft, cycle)
    elif not draft.errors:
        draft.ordered = tuple(_resource(entry) for entry in _in_order(draft.entries))


def all_codes(draft: Draft) -> Iterator[Code]:
    yield from draft.variables.values()
    yield from (code for _, code in draft.conditions)
    for entry in draft.entries:
        yield from entry.codes
    yield from draft.status_codes


def _check_names(draft: Draft, code: Code, known: set[str]) -> None:
    for path in sorted(code.program.reads):
        root, rest = path[0], path[1:]
        if root == "variables" and rest and rest[0] not in draft.variable_types and rest[0] != "*":
            unknown_variable(draft, code, rest[0])
        if root not in ("resources", "ready"):
            continue
        if rest and rest[0] not in known and rest[0] != "*":
            at, length = place(code, root, rest[0])
            hint = nearest(rest[0], sorted(known))
            draft.find("RE323", f"there is no resource {rest[0]}", code.path, hint, offset=at, length=length)
        elif root == "resources" and (not rest or rest[0] == "*"):
            at, length = place(code, root, "")
            hint = "write resources.NAME"
            draft.find("RE326", "resources is read as a whole", code.path, hint, offset=at, length=length)


def _readers(draft: Draft, code: Code) -> Iterator[Code]:
    """An expression and the variables that it uses, directly or not."""
    found: set[str] = set()
    wanted = [code]
    while wanted:
        reader = wanted.pop()
        yield reader
        for name in used(reader) - found:
            found.add(name)
            wanted += [draft.variables[name]] if name in draft.variables else []


def _references(code: Code) -> tuple[set[str], set[str]]:
    """The entries that an expression waits for, and those that it only looks at."""
    resources, ready = code.program.references("resources"), code.program.references("ready")
    return set(resources.plain), {*resources.observed, *ready.plain, *ready.observed}


def _cycle(entries: list[Entry]) -> list[str]:
    """The names on a cycle of waiting, the first one again at the end; [] where there is none."""
    waits = {entry.name: sorted(entry.waits_on) for entry in entries}
    done: set[str] = set()
    for start in waits:
        trail: list[str] = []
        wanted = [(start, 0)]  # a name, and how many stand before it on the trail
        while wanted:
            name, depth = wanted.pop()
            if depth < len(trail):
                done.update(trail[depth:])
                del trail[depth:]
            if name in trail:
                return [*trail[trail.index(name) :], name]
            if name not in done:
                trail.append(name)
                wanted += [(following, len(trail)) for following in reversed(waits[name])]
        done.update(trail)
    return []


def _report(draft: Draft, cycle: list[str]) -> None:
    reader, read = cycle[0], cycle[1]
    entry = next(entry for entry in draft.entries if entry.name == reader)
    shown = " → ".join(cycle)
    message = f"resources wait for each other: {shown}"
    if len(cycle) == 2:
        message = f"resource {reader} reads itself and would wait for itself"
    hint = f"resources.?{read} looks without waiting"
    code = next((code for code in entry.codes if read in _references(code)[0]), None)
    if code is None:
        draft.find("RE324", message, ("spec", "resources", entry.index), hint)
        return
    at, length = place(code, "resources", read)
    draft.find("RE324", message, code.path, hint, offset=at, length=length, of_key=code.of_key)


def _in_order(entries: list[Entry]) -> list[Entry]:
    """As declared, except that what is waited for comes first, and what is looked at where possible."""
    left, placed, result = list(entries), set[str](), list[Entry]()
    while left:
        free = [entry for entry in left if entry.waits_on <= placed]
        chosen = next((entry for entry in free if entry.after <= placed), free[0])
        left.remove(chosen)
        placed.add(chosen.name)
        result.append(chosen)
    return result


def _resource(entry: Entry) -> Resource:
    assert entry.template is not None  # no errors: every template is compiled
    return Resource(
        name=entry.name,
        gvk=entry.gvk,
        template=entry.template,
        include_when=entry.include_when,
        waits_on=entry.waits_on,
        policy=entry.policy,
        hidden=entry.hidden,
    )
