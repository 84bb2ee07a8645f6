"""The reference pages list the rules of the code."""

from __future__ import annotations

from pathlib import Path

from commonplace.openapi.engine.diff import rules as diff_rules
from commonplace.openapi.engine.validate import report

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def test_the_rule_tables_are_generated_from_the_code() -> None:
    assert (REFERENCE / "openapi-rules.md").read_text().endswith(report.rule_table())
    assert (REFERENCE / "openapi-changes.md").read_text().endswith(diff_rules.rule_table())
