"""Every code has a folder with a rule that is wrong in that way and the message that people get.

`UPDATE_ERRORS=1 pytest tests/errors` writes the messages anew; read the difference.
"""

import os
from pathlib import Path

import pytest

from rulesengine import api, cel, compiler, schema
from rulesengine.core.errors import FindingsError

HERE = Path(__file__).parent
FOLDERS = sorted(path.parent for path in HERE.glob("RE*/rule.yaml"))
KINDS = {resource.gvk: resource for resource in schema.builtin.resources()}


def findings(data):
    models, found = api.rules_from(data, "rule.yaml")
    for model in models:
        try:
            rule = compiler.compile_rule(model, schemas=schema.builtin.schema, resources=KINDS.get)
            found += rule.warnings
        except FindingsError as error:
            found += error.findings
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_message_is_the_agreed_one(folder):
    """Place, what was found, what was expected, what to do."""
    found = findings((folder / "rule.yaml").read_bytes())
    shown = "".join(f"{finding.render()}\n" for finding in found)
    expected = folder / "expected.txt"
    if "UPDATE_ERRORS" in os.environ:
        expected.write_text(shown, encoding="utf-8")
    assert shown == expected.read_text(encoding="utf-8")
    assert folder.name in {finding.code for finding in found}
    assert all(finding.span is not None for finding in found)


def test_every_code_has_a_folder():
    """A code that nothing can give is not in the table; one without an example is not agreed."""
    known = {*api.CODES, *compiler.CODES}
    assert known == {folder.name for folder in FOLDERS} & known
    assert {folder.name for folder in FOLDERS} <= known | set(cel.CODES)
