"""The scan of rules for hidden text, and what a finding leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from commonplace.instructions.rulefiles.scan import FindingSeverity, ScanFinding, scan

HiddenText = Literal["report", "block"]


def find_hidden_text(text: str) -> tuple[ScanFinding, ...]:
    """Return what a reader of a rule would not see, or should not run unread; not notes."""
    return tuple(finding for finding in scan(text) if finding.severity is not FindingSeverity.NOTE)


def is_blocked(findings: Sequence[ScanFinding], hidden_text: HiddenText) -> bool:
    """Tell whether the policy refuses a rule with these findings."""
    return hidden_text == "block" and any(
        finding.severity is FindingSeverity.ERROR for finding in findings
    )
