"""The scan of rules for hidden text, and what a finding leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from commonplace.instructions.engine.entry.checks import EntryRefused, FieldProblem
from commonplace.instructions.rulefiles.scan import FindingSeverity, ScanFinding, scan
from commonplace.kernel.json_types import Json

HiddenText = Literal["report", "block"]
MOST_NAMED = 5


def find_hidden_text(text: str, *, secrets: bool = True) -> tuple[ScanFinding, ...]:
    """Return what a reader of a rule would not see, or should not run unread; not notes."""
    return tuple(
        finding
        for finding in scan(text, secrets=secrets)
        if finding.severity is not FindingSeverity.NOTE
    )


def is_blocked(findings: Sequence[ScanFinding], hidden_text: HiddenText) -> bool:
    """Tell whether the policy refuses a rule with these findings. A credential hides nothing."""
    return hidden_text == "block" and any(
        finding.severity is FindingSeverity.ERROR and finding.kind != "secret"
        for finding in findings
    )


def review_hidden_text(entry: Mapping[str, Json], hidden_text: HiddenText) -> list[str]:
    """Return warnings about the texts of an entry. Raises EntryRefused if the policy refuses it.

    Hidden characters are not among the warnings: every write is warned of those.
    """
    warnings = []
    for name in ("title", "body", "description", "rationale"):
        text = entry.get(name)
        if not isinstance(text, str) or not text:
            continue
        findings = [
            finding
            for finding in find_hidden_text(text, secrets=False)
            if finding.severity is FindingSeverity.ERROR
        ]
        if is_blocked(findings, hidden_text):
            places = "; ".join(_describe(name, finding) for finding in findings[:MOST_NAMED])
            raise EntryRefused(
                "hidden_text",
                f"{places}. Remove it, or say openly what it says.",
                *(FieldProblem(name, _describe(name, finding)) for finding in findings[:20]),
            )
        warnings += [
            f"{_describe(name, finding)}: {finding.message}"
            for finding in findings[:MOST_NAMED]
            if finding.kind != "hidden-character"
        ]
    return warnings


def _describe(name: str, finding: ScanFinding) -> str:
    return f"{name}, line {finding.line}, column {finding.column}: {finding.kind}"
