"""The rights that an engine needs: its own, and for each rule what that rule reads and makes. Pure.

Each rule has roles of its own, so that what one rule may do can be seen, and taken away, by
itself. Rights within the cluster are aggregated into the engine's role by a label; whoever adds
a rule later adds a ClusterRole with that label and touches nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from rulesengine.api import GROUP
from rulesengine.compiler.rule import CompiledRule
from rulesengine.core.json import Object
from rulesengine.core.keys import RuleKey, shortened
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.runtime.interests import wanted_interests

RBAC = "rbac.authorization.k8s.io"
AGGREGATE = f"{GROUP}/aggregate-to-engine"
READ = ("get", "list", "watch")
MAKE = ("create", "patch", "delete")
NAME_LIMIT = 63

Resources = Callable[[GroupVersionKind], ResourceType | None]


@dataclass
class Rights:
    """Verbs by namespace ("" for the whole cluster), group and resource."""

    verbs: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)

    def allow(self, namespace: str, group: str, resource: str, verbs: Iterable[str]) -> None:
        self.verbs.setdefault((namespace, group, resource), set()).update(verbs)

    def namespaces(self) -> list[str]:
        return sorted({namespace for namespace, _, _ in self.verbs})

    def policy(self, namespace: str) -> list[Object]:
        """PolicyRules for one namespace: resources of a group that have the same verbs together."""
        together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for (where, group, resource), verbs in sorted(self.verbs.items()):
            if where == namespace:
                together.setdefault((group, tuple(sorted(verbs))), []).append(resource)
        return [
            {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
            for (group, verbs), resources in sorted(together.items())
        ]


def needs(rule: CompiledRule, resources: Resources) -> Rights:
    """What a rule reads and makes. The kinds must be known; raises KeyError with one that is not."""
    rights = Rights()

    def known(gvk: GroupVersionKind) -> ResourceType:
        found = resources(gvk)
        if found is None:
            raise KeyError(gvk)
        return found

    own = frozenset({rule.key.namespace}) if rule.key.kind == "Rule" else None
    for interest in wanted_interests(rule, (), lambda _: None):
        resource = known(interest.gvk)
        spaces = (interest.namespaces if resource.namespaced else None) or {""}
        for namespace in spaces:
            rights.allow(namespace, resource.gvk.group, resource.plural, READ)
    for gvk in rule.target_kinds:
        resource = known(gvk)
        for namespace in (own if resource.namespaced else None) or {""}:
            rights.allow(namespace, gvk.group, resource.plural, MAKE)
    if rule.source is not None:
        _about_source(rights, rule, known(rule.source.gvk), own)
    return rights


def _about_source(
    rights: Rights, rule: CompiledRule, resource: ResourceType, own: frozenset[str] | None
) -> None:
    assert rule.source is not None
    spaces = (rule.source.namespaces or own if resource.namespaced else None) or {""}
    for namespace in spaces:
        if rule.target_kinds:
            # a server with OwnerReferencesPermissionEnforcement asks for it where children block deletion
            rights.allow(namespace, resource.gvk.group, f"{resource.plural}/finalizers", ["update"])
        if rule.source_status is not None:
            rights.allow(namespace, resource.gvk.group, f"{resource.plural}/status", ["patch"])


def role_name(key: RuleKey) -> str:
    """rulesengine-rule-NAME, or of a Rule rulesengine-rule-NAMESPACE-NAME; shortened with a hash."""
    return shortened("-".join(filter(None, ("rulesengine-rule", key.namespace, key.name))), NAME_LIMIT)


def rule_roles(rule: CompiledRule, resources: Resources, engine: Object) -> Iterator[Object]:
    """The roles of one rule; those within a namespace with their bindings to `engine`, a subject."""
    rights, name = needs(rule, resources), role_name(rule.key)
    for namespace in rights.namespaces():
        policy = rights.policy(namespace)
        if not namespace:
            yield cluster_role(name, policy, {AGGREGATE: "true"})
            continue
        yield role(name, namespace, policy)
        yield binding(name, namespace, engine)


def engine_rights() -> list[Object]:
    """Of the engine itself, in the whole cluster: rules, kinds, namespaces, Events, its webhook."""
    rules = ["clusterrules", "rules"]
    return [
        {"apiGroups": [GROUP], "resources": rules, "verbs": [*READ, "patch"]},
        {"apiGroups": [GROUP], "resources": [f"{each}/status" for each in rules], "verbs": ["patch"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "verbs": list(READ),
        },
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": list(READ)},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["validatingwebhookconfigurations"],
            "resourceNames": ["rulesengine"],
            "verbs": ["get", "update"],
        },
    ]


def home_rights() -> list[Object]:
    """Of the engine in its own namespace: its key, its certificates, its lease."""
    return [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["rulesengine-owner-key", "rulesengine-webhook"],
            "verbs": ["get"],
        },
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["rulesengine-webhook"],
            "verbs": ["update"],
        },
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["rulesengine"],
            "verbs": ["get", "update"],
        },
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    ]


# --- objects ---


def cluster_role(name: str, policy: list[Object], labels: Object | None = None) -> Object:
    metadata: Object = {"name": name} | ({"labels": labels} if labels else {})
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": policy}


def aggregated_role(name: str) -> Object:
    """Its rights are those of every ClusterRole with the label; the server keeps them together."""
    body = cluster_role(name, [])
    del body["rules"]  # the server's to fill in; an empty list would take them away with every apply
    return body | {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {AGGREGATE: "true"}}]}}


def role(name: str, namespace: str, policy: list[Object]) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": policy}


def binding(name: str, namespace: str, subject: Object) -> Object:
    """Binds the role of the same name: a Role, or without a namespace a ClusterRole."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    referred = {"apiGroup": RBAC, "kind": kind.removesuffix("Binding"), "name": name}
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "subjects": [subject],
        "roleRef": referred,
    }
