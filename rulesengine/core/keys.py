"""Identities: of objects, of rules, and of work items."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from rulesengine.core.kinds import GroupKind

MANAGER_PREFIX = "rulesengine:"
MANAGER_LIMIT = 128  # the server's limit on a field manager's name
LABEL_LIMIT = 63


class ObjectKey(NamedTuple):
    """What identifies an object in a cluster; `namespace` is empty for cluster-scoped ones."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.group_kind} {where}"


class RuleKey(NamedTuple):
    """A rule: `kind` is "ClusterRule" (empty namespace) or "Rule"."""

    kind: str
    namespace: str
    name: str

    @property
    def manager(self) -> str:
        """The field manager of this rule's templates, at most 128 characters."""
        return shortened(f"{MANAGER_PREFIX}{self.kind}/{self.namespace}/{self.name}", MANAGER_LIMIT)

    @property
    def label(self) -> str:
        """The value of label `rulesengine.dev/rule`: for selecting only, it proves nothing."""
        return shortened(f"{self.namespace}.{self.name}" if self.namespace else self.name, LABEL_LIMIT)

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


class Request(NamedTuple):
    """One work item: a rule and the source object it is about.

    A rule without `for` has one single item, with empty namespace and name.
    """

    rule: RuleKey
    namespace: str
    name: str

    def __str__(self) -> str:
        source = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.rule} of {source}" if source else str(self.rule)


def shortened(text: str, limit: int) -> str:
    """`text`, or where it is longer than `limit`, its beginning and 10 hex digits of its SHA-256."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 11]}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
