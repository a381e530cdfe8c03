"""Nonsense into diff and into the API: findings, a forecast or a refusal, never an exception."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rulesengine import api, runtime
from rulesengine.cli.forecasts import as_data, as_text
from rulesengine.cli.state import load
from rulesengine.client import APIError
from rulesengine.core.errors import FindingsError, UsageError
from rulesengine.testing import in_process
from tests.errors.test_nonsense import RULES, SEED, broken_text, broken_tree

ROOT = Path(__file__).parents[2]
STATE = tuple(
    str(ROOT / "examples" / name / "objects.yaml") for name in ("team-baseline", "deployment-budget")
)
SETTINGS = runtime.Settings()


@pytest.mark.parametrize("part", range(4))
async def test_nonsense_into_diff_and_the_api(part: int) -> None:
    """A thousand broken rules: whatever still loads is forecast and applied, whatever comes of it."""
    rng = random.Random(SEED + 100 + part)
    told = refused = 0
    async with in_process() as cluster:
        await load(cluster, STATE)
        for number in range(250):
            text = nonsense(rng, number)
            models, findings = api.rules_from(text, "rule.yaml")
            refused += bool(findings)
            try:
                forecasts = await runtime.forecast(cluster.connection, models, SETTINGS)
                assert as_text(forecasts)
                assert as_data(forecasts)
                told += bool(models)
            except (FindingsError, UsageError):
                refused += 1
            for document in api.load(text, "rule.yaml").documents:
                try:
                    await cluster.apply(document.value)
                except (APIError, UsageError):
                    refused += 1
    assert told > 5
    assert refused > 50


def nonsense(rng: random.Random, number: int) -> str:
    """Broken text, broken trees, and examples with one line missing, which often still compile."""
    text = rng.choice(RULES)
    match number % 3:
        case 0:
            return broken_text(rng, text)
        case 1:
            documents = [document.value for document in api.load(text, "rule.yaml").documents]
            return "---\n".join(api.dump(broken_tree(rng, document)) for document in documents)
        case _:
            lines = rng.choice(RULES[:3]).splitlines()
            del lines[rng.randrange(len(lines))]
            return "\n".join(lines)
