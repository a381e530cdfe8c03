"""Rules as users write them: YAML with positions, models, CRDs. The only door to pydantic and yaml."""

from rulesengine.api.codes import CODES, Codes, markdown
from rulesengine.api.documents import Document, Loaded, load, load_objects, named, objects
from rulesengine.api.dump import dump
from rulesengine.api.models import API_VERSION, GROUP, VERSION, ClusterRule, Rule, RuleModel
from rulesengine.api.nodes import Place
from rulesengine.api.not_yet import NAMES_NOT_YET, NOT_YET, written
from rulesengine.api.places import Path
from rulesengine.api.rules import in_order, rule_from_object, rules_from
from rulesengine.api.settings import read_settings
from rulesengine.api.shape import nearest
from rulesengine.api.structural import crds

__all__ = [
    "API_VERSION",
    "CODES",
    "GROUP",
    "NAMES_NOT_YET",
    "NOT_YET",
    "VERSION",
    "ClusterRule",
    "Codes",
    "Document",
    "Loaded",
    "Path",
    "Place",
    "Rule",
    "RuleModel",
    "crds",
    "dump",
    "in_order",
    "load",
    "load_objects",
    "markdown",
    "named",
    "nearest",
    "objects",
    "read_settings",
    "rule_from_object",
    "rules_from",
    "written",
]
