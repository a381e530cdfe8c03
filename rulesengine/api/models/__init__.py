"""The rule language as pydantic models: names, types, limits, defaults and descriptions.

Everything else about the shape of a rule is made from them: what a file may say, the CRDs,
and what `kubectl explain` tells.
"""

from rulesengine.api.models.base import Metadata, Model
from rulesengine.api.models.policy import ApplyPolicy
from rulesengine.api.models.resources import ClusterResource, Resource
from rulesengine.api.models.rules import API_VERSION, GROUP, VERSION, ClusterRule, Rule, RuleModel
from rulesengine.api.models.selectors import LabelSelector
from rulesengine.api.models.source import ClusterSource, Source
from rulesengine.api.models.spec import ClusterRuleSpec, RuleSpec, SourceStatus
from rulesengine.api.models.status import RuleStatus

__all__ = [
    "API_VERSION",
    "GROUP",
    "VERSION",
    "ApplyPolicy",
    "ClusterResource",
    "ClusterRule",
    "ClusterRuleSpec",
    "ClusterSource",
    "LabelSelector",
    "Metadata",
    "Model",
    "Resource",
    "Rule",
    "RuleModel",
    "RuleSpec",
    "RuleStatus",
    "Source",
    "SourceStatus",
]
