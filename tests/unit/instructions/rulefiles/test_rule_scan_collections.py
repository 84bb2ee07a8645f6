"""The scan raises no false alarm on the real rule files."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.instructions.rulefiles.scan import FindingSeverity, scan

AGREED = {
    ("ansible.instructions.md", "html-comment"),  # says where the text was copied from
    ("update-docs-on-code-change.instructions.md", "html-comment"),  # a table of settings
    ("code-review-generic.instructions.md", "secret"),  # an example of a key in code
    ("security-and-owasp.instructions.md", "secret"),  # another
}
"""Findings that a person would agree with."""


@pytest.mark.oracle
def test_only_agreed_findings_are_raised(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = {
        (path.name, finding.kind, finding.severity)
        for path in (data / "rules").glob("c[uo][rp]*/*.m*")
        for finding in scan(path.read_text(encoding="utf-8"))
    }
    assert {(name, kind) for name, kind, _ in found} == AGREED
    assert {severity for *_, severity in found} == {FindingSeverity.WARNING}
    assert capfd.readouterr().err == "", "RE2 complains about a pattern"
