"""Fields of the language whose behaviour a later version brings: refused when used, never ignored.

One table. A row is a path ("*" for any element), and where only some values are meant,
those. An empty list uses nothing and is let through.
"""

from __future__ import annotations

from typing import Final

from rulesengine.api.places import Path

_ENTRY: Final = ("spec", "resources", "*")
_POLICIES: Final = (("spec", "applyPolicy"), (*_ENTRY, "applyPolicy"))

NOT_YET: Final[dict[tuple[str, ...], frozenset[str]]] = {
    ("spec", "serviceAccountRef"): frozenset(),
    ("spec", "serviceAccountName"): frozenset(),
    ("spec", "lookups"): frozenset(),
    ("spec", "waitFor"): frozenset(),
    ("spec", "watches"): frozenset(),
    ("spec", "for", "predicates"): frozenset(),
    (*_ENTRY, "forEach"): frozenset(),
    (*_ENTRY, "dependsOn"): frozenset(),
    (*_ENTRY, "waitFor"): frozenset(),
    (*_ENTRY, "readyWhen"): frozenset(),
    (*_ENTRY, "patch"): frozenset(),
    (*_ENTRY, "delete"): frozenset(),
    **{(*policy, "strategy"): frozenset({"CreateOnly"}) for policy in _POLICIES},
    **{(*policy, "onImmutable"): frozenset({"Recreate"}) for policy in _POLICIES},
    **{(*policy, "ignore"): frozenset() for policy in _POLICIES},
}

# Names that expressions will know: name → what it belongs to.
NAMES_NOT_YET: Final[dict[str, str]] = {
    "lookups": "spec.lookups",
    "event": "spec.for.predicates",
    "target": "patches",
    "self": "readyWhen",
}


def unsupported(path: Path, value: object) -> str:
    """The message where `path` with that value is not supported in this version, else ""."""
    row = NOT_YET.get(tuple("*" if isinstance(step, int) else step for step in path))
    if row is None or value is None or value == []:
        return ""
    if not row:
        return f"{written(path)} is not supported in this version"
    if isinstance(value, str) and value in row:
        return f"{written(path)}: {value} is not supported in this version"
    return ""


def written(path: Path) -> str:
    """A path as people write it: spec.resources[0].name."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("_", "").replace("-", "").isalnum():
            text += f".{step}" if text else step
        else:
            shown = step if len(step) <= 60 else f"{step[:60]}…"
            text += f"[{shown!r}]"
    return text
