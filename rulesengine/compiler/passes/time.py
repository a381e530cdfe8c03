"""Time: where `now` may be read, and `spec.resync`.

A value that moves with time must not be written: it would be written again and again. So `now`
is for conditions; in a template only for fields that are left to others once they are set, in a
patch only where it is never taken back.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from rulesengine.api import Path
from rulesengine.compiler.draft import Code, Draft, Entry
from rulesengine.compiler.passes.order import all_codes
from rulesengine.compiler.passes.variables import place
from rulesengine.compiler.schedule import NoSchedule, Schedule, cron, every

PATH: Path = ("spec", "resync")
_WRITTEN = ("template", "patch")


def run(draft: Draft) -> None:
    """Fills `reads_now` and `resync`."""
    draft.reads_now = any(_reads_now(draft, code) for code in all_codes(draft))
    draft.resync = _resync(draft)
    for entry in draft.entries:
        for code in entry.codes:
            if code.path[3:4] and code.path[3] in _WRITTEN and _reads_now(draft, code):
                _check(draft, entry, code)
    for code in draft.status_codes:
        if _reads_now(draft, code):
            _find(draft, code, "conditions get their lastTransitionTime by themselves")


def _reads_now(draft: Draft, code: Code) -> bool:
    return any(path[0] == "now" for path in draft.reads(code.program))


def _check(draft: Draft, entry: Entry, code: Code) -> None:
    policies = (draft.model.spec.resources[entry.index].apply_policy, draft.model.spec.apply_policy)
    if code.path[3] == "patch":
        deletion = next((p.deletion for p in policies if p is not None and p.deletion), None)
        if deletion != "Orphan":
            _find(draft, code, "say applyPolicy.deletion: Orphan, or use now in includeWhen only")
        return
    field = code.path[4:]
    pointers = [pointer for policy in policies if policy is not None for pointer in policy.ignore]
    if not any(_covers(pointer, field) for pointer in pointers):
        pointer = "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in field)
        _find(draft, code, f"list {pointer} in applyPolicy.ignore, or use now in conditions only")


def _covers(pointer: str, field: Path) -> bool:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return len(steps) <= len(field) and all(
        want in ("*", str(have)) for want, have in zip(steps, field, strict=False)
    )


def _find(draft: Draft, code: Code, hint: str) -> None:
    message = "what is written cannot depend on now: it would be written again and again"
    at, length = place(code, "now", "")
    if not any(path[0] == "now" for path in code.program.reads):
        at, length = code.offset, 1
    draft.find("RE327", message, code.path, hint, offset=at, length=length, of_key=code.of_key)


def _resync(draft: Draft) -> Schedule | None:
    spec = draft.model.spec.resync
    if spec is None:
        return None
    zone = _zone(draft, spec.time_zone)
    field = "interval" if spec.interval is not None else "schedule"
    if spec.interval is not None and spec.time_zone is not None:
        message = "an interval is the same in every time zone"
        draft.find("RE328", message, (*PATH, "timeZone"), "remove it, or write a schedule", of_key=True)
    try:
        return every(spec.interval) if spec.interval is not None else cron(spec.schedule or "", zone)
    except NoSchedule as error:
        hint = "30m, 1h, 24h" if field == "interval" else '"0 7 * * 1-5": at 7:00 from Monday to Friday'
        draft.find("RE328", str(error), (*PATH, field), f"for example {hint}")
        return None


def _zone(draft: Draft, name: str | None) -> tzinfo:
    try:
        return ZoneInfo(name) if name is not None else UTC
    except (KeyError, ValueError, OSError):
        message = "there is no such time zone"
        draft.find("RE328", message, (*PATH, "timeZone"), "for example Europe/Berlin")
        return UTC
