"""Codes are documented, and stay what they are."""

from rulesengine import api, cel, compiler


def test_every_code_stands_in_one_table_only():
    """Packages have ranges of their own."""
    tables = (api.CODES, cel.CODES, compiler.CODES)
    assert len({code for table in tables for code in table}) == sum(map(len, tables))
    for table, ranges in zip(tables, (("RE0", "RE1"), ("RE2",), ("RE3",)), strict=True):
        assert all(code.startswith(ranges) for code in table)


def test_the_reference_lists_all_codes_in_order():
    """One row per code, as Markdown."""
    rows = api.markdown(cel.CODES, api.CODES).splitlines()[2:]
    assert rows == sorted(rows)
    assert len(rows) == len(cel.CODES) + len(api.CODES)
