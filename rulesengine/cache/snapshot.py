"""What one rule sees of the cluster: core.ports.Snapshot over its handles. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rulesengine.cache.cache import Handle
from rulesengine.cache.status import Phase
from rulesengine.core.keys import RuleKey
from rulesengine.core.kinds import GroupKind, GroupVersionKind, ResourceType
from rulesengine.core.ports import Absent, Live, Unreadable


@dataclass(frozen=True, slots=True)
class CacheSnapshot:
    """`handles` are the rule's, in any order; for a kind with several, the first that covers
    the namespace and has the object answers, so a source narrowed by a field selector and the
    same kind as target do not hide each other.

    `known` is discovery without asking, `written` the kinds a rule's status lists, `versions`
    the version in which a written kind is watched.
    """

    handles: Mapping[GroupVersionKind, Sequence[Handle]]
    known: Callable[[GroupVersionKind], ResourceType | None]
    written: Callable[[RuleKey], tuple[GroupKind, ...]]
    versions: Callable[[GroupKind], GroupVersionKind]

    def resource(self, gvk: GroupVersionKind) -> ResourceType | None:
        return self.known(gvk)

    def version(self, kind: GroupKind) -> GroupVersionKind:
        return self.versions(kind)

    def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> Live | Absent | Unreadable:
        found: Absent | Unreadable = Unreadable(f"{gvk} is not watched", gvk)
        for handle in self.handles.get(gvk, ()):
            if not handle.covers(namespace):
                continue
            answer = handle.read(namespace, name)
            if not isinstance(answer, (Absent, Unreadable)):
                return answer
            if isinstance(answer, Absent) or not isinstance(found, Absent):
                found = answer
        return found

    def made(self, rule: RuleKey, namespace: str, name: str) -> Iterable[Live] | Unreadable:
        records: list[Live] = []
        for kind in self.written(rule):
            gvk = self.versions(kind)
            handles = [h for h in self.handles.get(gvk, ()) if not h.interest.field_selector]
            if not handles:
                return Unreadable(f"{gvk} is not watched", gvk)
            if handles[0].status.phase is Phase.UNSERVED:
                continue  # a kind that is not served has no objects; when it comes, all is looked at anew
            if not handles[0].synced:
                return Unreadable(handles[0].status.why, gvk)
            records += handles[0].store.by_claim(rule, namespace, name)
        return records

    def written_kinds(self, rule: RuleKey) -> tuple[GroupKind, ...]:
        return self.written(rule)
