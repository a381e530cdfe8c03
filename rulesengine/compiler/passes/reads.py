"""Which fields of the source matter: what any expression reads of it, variables followed."""

from __future__ import annotations

from rulesengine.compiler.draft import Draft
from rulesengine.compiler.passes.order import all_codes
from rulesengine.compiler.rule import FieldPath


def run(draft: Draft) -> None:
    """Fills `source_reads` and `reads_namespace`."""
    found: set[FieldPath] = set()
    for code in all_codes(draft):
        for path in draft.reads(code.program):
            if path[0] == "object":
                found.add(path[1:])
            elif path[0] == "namespaceObject":
                draft.reads_namespace = True
    draft.source_reads = shortest(found)


def shortest(paths: set[FieldPath]) -> frozenset[FieldPath]:
    """Without paths that a shorter one covers."""
    return frozenset(p for p in paths if not any(p[:n] in paths for n in range(len(p))))
