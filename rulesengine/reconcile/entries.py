"""Resource entries to wanted objects: include, render, place, prove, stamp.

One `Entries` lives for one pass over one work item. Entries are evaluated in dependency
order; each ends as wanted, excluded, waiting or unknown, and none stops another that does
not read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rulesengine.compiler.rule import Adopt, ApplyPolicy, CompiledRule, Deletion, Owner, Resource
from rulesengine.core.errors import EvaluationError, Excluded, Waiting
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.ports import Absent, Live, Snapshot, Unreadable
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.context import Context
from rulesengine.reconcile.health import is_ready
from rulesengine.reconcile.matching import truth, unanswered
from rulesengine.reconcile.names import Lazy, Names, Observed
from rulesengine.reconcile.ownership import ANNOTATION, LABEL, Claim, renewed, timestamp
from rulesengine.reconcile.plan import SourceRef, Unknown, Wait, Wanted


@dataclass(frozen=True, slots=True)
class Left:
    """Not wanted: its includeWhen is false, or it reads an entry that is not wanted."""


@dataclass(frozen=True, slots=True)
class Protected:
    """Wanted in a system namespace, which the rule leaves alone."""


State: TypeAlias = Wanted | Left | Protected | Wait | Unknown


@dataclass(slots=True)
class Entries:
    """The entries of one pass. `made` is what this work item made already, by key, proven."""

    rule: CompiledRule
    snapshot: Snapshot
    context: Context
    source: SourceRef
    source_key: ObjectKey
    made: dict[ObjectKey, tuple[Live, Claim]]
    states: dict[str, State] = field(default_factory=dict)
    _names: Names = field(default_factory=lambda: Names({}, {}))

    def attach(self, names: Names) -> None:
        """Gives `resources` and `ready` to the names that the entries are evaluated with."""
        known = frozenset(resource.name for resource in self.rule.resources)
        names["resources"] = Observed(known, self._resource, self._is_present)
        names["ready"] = _Ready(known, self._is_ready, self._counts)
        self._names = names

    def evaluate(self) -> None:
        """Brings every entry to its state."""
        takers: dict[ObjectKey, str] = {}
        for resource in self.rule.resources:
            state = self.states[resource.name] = self._entry(resource)
            if isinstance(state, Wanted):
                other = takers.setdefault(state.key, resource.name)
                if other != resource.name:
                    message = f"entries {other} and {resource.name} want the same {state.key.group_kind}"
                    for name in (other, resource.name):
                        self.states[name] = Unknown(name, Reason.INVALID_TEMPLATE, message)

    # --- one entry ---

    def _entry(self, resource: Resource) -> State:
        included = self._included(resource)
        if not isinstance(included, bool):
            return included
        if not included:
            return Left()
        try:
            desired = resource.template.render(self._names)
        except Waiting as waiting:
            return Wait(resource.name, waiting.on)
        except Excluded:
            return Left()
        except EvaluationError as error:
            return unanswered(error, resource.name, f"resources {resource.name}")
        desired = {**desired, "metadata": dict(desired["metadata"])}  # what follows writes into it
        placed = self._place(resource, desired)
        if not isinstance(placed, ObjectKey):
            return placed
        if placed == self.source_key:
            return Unknown(resource.name, Reason.TARGET_IS_INPUT, "the template names the source itself")
        if self.context.is_system(self.rule, placed):
            return Protected()
        return self._claimed(resource, desired, placed)

    def _included(self, resource: Resource) -> bool | Wait | Unknown:
        undecided: Wait | Unknown | None = None
        for index, expression in enumerate(resource.include_when):
            where = f"resources {resource.name}: includeWhen[{index}]"
            match truth(expression.evaluate, self._names, resource.name, where):
                case False:
                    return False
                case True:
                    pass
                case open_question:
                    undecided = undecided if isinstance(undecided, Unknown) else open_question
        return True if undecided is None else undecided

    def _place(self, resource: Resource, desired: Object) -> ObjectKey | Unknown:
        """Where the object stands: namespace defaulted, and refused where the kind has none."""
        kind = self.snapshot.resource(resource.gvk)
        if kind is None:
            return Unknown(resource.name, Reason.UNKNOWN_KIND, f"the server does not serve {resource.gvk}")
        meta = desired["metadata"]
        namespace = meta.get("namespace", "")
        if kind.namespaced and not namespace:
            namespace = self.source.namespace
            if not namespace:
                message = f"{resource.gvk.kind} is namespaced: the template must name metadata.namespace"
                return Unknown(resource.name, Reason.INVALID_TEMPLATE, message)
            meta["namespace"] = namespace
        if not kind.namespaced and namespace:
            message = f"{resource.gvk.kind} is cluster-scoped: the template must not name metadata.namespace"
            return Unknown(resource.name, Reason.INVALID_TEMPLATE, message)
        if self.rule.key.kind == "Rule" and namespace != self.rule.key.namespace:
            message = "a Rule makes objects in its own namespace only"
            return Unknown(resource.name, Reason.INVALID_TEMPLATE, message)
        return ObjectKey(resource.gvk.group, resource.gvk.kind, namespace, meta["name"])

    def _claimed(self, resource: Resource, desired: Object, key: ObjectKey) -> State:
        """Finds whose the object is, and stamps `desired` accordingly."""
        live = self.snapshot.get(resource.gvk, key.namespace, key.name)
        if isinstance(live, Unreadable):
            return Unknown(resource.name, Reason.UNREADABLE, live.why)
        found = None if isinstance(live, Absent) else live
        if found is not None and found.deleting:
            return Wait(resource.name, f"the deletion of {key}", Reason.TERMINATING, key)
        earlier = self.context.ownership.verify(found.claim, key) if found and found.claim else None
        if earlier is not None and earlier.rule == self.rule.key:
            if not self._may_take(earlier):
                holder = f"{earlier.source.namespace}/{earlier.source.name}".lstrip("/")
                message = f"{key.group_kind} is made for source {holder}"
                return Unknown(resource.name, Reason.CLAIMED, message, key)
            return self._wanted(resource, desired, key, found, earlier)
        if found is None:
            return self._wanted(resource, desired, key, None, None)
        holder = str(earlier.rule) if earlier is not None else ""
        return self._foreign(resource, desired, key, found, holder)

    def _may_take(self, earlier: Claim) -> bool:
        """Whether this work item holds the claim already, or its holder's source is gone."""
        if earlier.source == self.source_key:
            return True
        if earlier.source.group_kind != self.source_key.group_kind:
            return True  # the rule's `for` names another kind now
        holder = self.snapshot.get(self.source.gvk, earlier.source.namespace, earlier.source.name)
        return isinstance(holder, Absent)

    def _claim(self, resource: Resource, key: ObjectKey, *, adopted: bool = False) -> Claim:
        return Claim(
            rule=self.rule.key,
            rule_uid=self.rule.uid,
            source=self.source_key,
            source_uid=self.source.uid,
            entry=resource.name,
            object=key,
            at=timestamp(self.context.now),
            adopted=adopted,
            keep=resource.policy.deletion is Deletion.ORPHAN,
        )

    def _wanted(
        self, resource: Resource, desired: Object, key: ObjectKey, live: Live | None, earlier: Claim | None
    ) -> Wanted:
        claim = renewed(self._claim(resource, key), earlier, live)
        unchanged = live is not None and claim == earlier
        text = live.claim if live is not None and unchanged else self.context.ownership.stamp(claim)
        owner = None if claim.adopted else self._owner_reference(resource.policy, key)
        self._stamp(desired, text, owner)
        return self._of(resource, desired, key, live)

    def _foreign(
        self, resource: Resource, desired: Object, key: ObjectKey, live: Live, holder: str
    ) -> Wanted:
        adoption = None
        if resource.policy.adopt is not Adopt.NEVER:
            adoption = {**desired, "metadata": dict(desired["metadata"])}
            claim = self._claim(resource, key, adopted=True)
            self._stamp(adoption, self.context.ownership.stamp(claim), None)
        return self._of(resource, desired, key, live, ours=False, holder=holder, adoption=adoption)

    def _of(
        self, resource: Resource, desired: Object, key: ObjectKey, live: Live | None, **more: Any
    ) -> Wanted:
        return Wanted(
            entry=resource.name,
            gvk=resource.gvk,
            key=key,
            desired=desired,
            live=live,
            policy=resource.policy,
            manager=self.rule.key.manager,
            tainted=self.source.gvk.group_kind == ("", "Secret") or key.group_kind == ("", "Secret"),
            hidden=resource.hidden,
            **more,
        )

    def _stamp(self, desired: Object, claim: str, owner: Object | None) -> None:
        meta = desired["metadata"]
        meta["labels"] = {**meta.get("labels", {}), LABEL: self.rule.key.label}
        meta["annotations"] = {**meta.get("annotations", {}), ANNOTATION: claim}
        if owner is not None:
            meta["ownerReferences"] = [owner]

    def _owner_reference(self, policy: ApplyPolicy, key: ObjectKey) -> Object | None:
        """A reference to the source where Kubernetes allows one; an invalid one is never written."""
        allowed = not self.source.namespace or self.source.namespace == key.namespace
        if policy.owner is Owner.NONE or policy.deletion is Deletion.ORPHAN or not allowed:
            return None
        reference: Object = {
            "apiVersion": self.source.gvk.api_version,
            "kind": self.source.gvk.kind,
            "name": self.source.name,
            "uid": self.source.uid,
        }
        if policy.owner is Owner.CONTROLLER:
            reference |= {"controller": True, "blockOwnerDeletion": True}
        return reference

    # --- what other entries see of an entry ---

    def _live(self, name: str) -> Live | None:
        state = self.states.get(name)
        if isinstance(state, Wanted):
            return state.live if state.ours else None
        if isinstance(state, Left | Protected):
            return None
        for live, claim in self.made.values():
            if claim.entry == name:
                return live
        return None

    def _is_present(self, name: str) -> bool:
        return self._live(name) is not None

    def _resource(self, name: str) -> Object:
        if isinstance(self.states.get(name), Left | Protected):
            raise Excluded(name)
        live = self._live(name)
        if live is None:
            raise Waiting(f"resource {name}")
        return live.object()

    def _counts(self, name: str) -> bool:
        return not isinstance(self.states.get(name), Left | Protected)

    def _is_ready(self, name: str) -> bool:
        live = self._live(name)
        if live is None or live.deleting:
            return False
        resource = next(entry for entry in self.rule.resources if entry.name == name)
        if not resource.ready_when:
            return is_ready(resource.gvk.group_kind, live.object())
        here = self._names.extended(self=live.object())
        return all(truth(e.evaluate, here, name, "readyWhen") is True for e in resource.ready_when)


class _Ready(Lazy):
    """`ready`: health by entry; excluded entries are absent."""

    def __init__(self, known: frozenset[str], compute: Any, counts: Any) -> None:
        super().__init__(known, compute)
        self._counts = counts

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) and self._counts(name)

    def __iter__(self) -> Any:
        return iter([name for name in self._known if self._counts(name)])

    def __len__(self) -> int:
        return sum(1 for _ in self)
