"""Cases as text, played on the embedded server."""

from __future__ import annotations

import pytest

from rulesengine.testing import embedded_stage, play, read_case

RULE = """\
rules:
- apiVersion: rulesengine.dev/v1alpha1
  kind: ClusterRule
  metadata: {name: twins}
  spec:
    for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {team: blue}}}
    resources:
    - name: twin
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${object.metadata.name}-twin"}
        data: {of: "${object.data.k}"}
state:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: s, labels: {team: blue}}, data: {k: a}}
"""
SOURCE = "apiVersion: v1, kind: ConfigMap, metadata: {name: s}"
TWIN = "apiVersion: v1, kind: ConfigMap, metadata: {name: s-twin}"


@pytest.fixture
def verdict_of():
    """Plays `steps` (YAML) after the twins rule and its one source, or a whole case."""

    async def run(steps, *, head=RULE, file="case.yaml", **options):
        case = read_case(head + steps, file)
        async with embedded_stage(case) as stage:
            return await play(case, stage, **options)

    return run
