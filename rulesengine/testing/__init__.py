"""A cluster for tests and demos, and cases: rules played through in the process or on a real one."""

from rulesengine.testing.cases import Case
from rulesengine.testing.cluster import Cluster, in_process
from rulesengine.testing.player import embedded_stage, play, real_stage
from rulesengine.testing.reading import may_be_case, read_case
from rulesengine.testing.verdicts import Problem, Verdict

__all__ = [
    "Case",
    "Cluster",
    "Problem",
    "Verdict",
    "embedded_stage",
    "in_process",
    "may_be_case",
    "play",
    "read_case",
    "real_stage",
]
