"""Forms of a report on rule files: SARIF 2.1.0 for code hosts, Markdown for pull requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from urllib.parse import quote

from commonplace import __version__
from commonplace.instructions.clients.check import RuleFinding, RuleReport
from commonplace.instructions.rulefiles.scan import FindingSeverity
from commonplace.kernel.hidden_characters import reveal
from commonplace.kernel.json_types import JsonObject

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_json(report: RuleReport) -> JsonObject:
    return {
        "files": [{"path": path, "client": client} for path, client in report.files],
        "findings": [asdict(finding) for finding in report.findings],
        "counts": {severity.value: report.count(severity) for severity in FindingSeverity},
    }


def as_sarif(report: RuleReport) -> JsonObject:
    codes = sorted({finding.code for finding in report.findings})
    driver = {
        "name": "commonplace",
        "version": __version__,
        "rules": [{"id": code} for code in codes],
    }
    results = [_sarif_result(finding) for finding in report.findings]
    run = {"tool": {"driver": driver}, "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(finding: RuleFinding) -> JsonObject:
    place: JsonObject = {"artifactLocation": {"uri": quote(finding.path)}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.code,
        "level": finding.severity.value,
        "message": {"text": f"{reveal(finding.message)} {finding.hint}"},
        "locations": [{"physicalLocation": place}],
    }


def summary(report: RuleReport) -> str:
    """Count the files and findings in a sentence."""
    counted = [(report.count(severity), severity.value) for severity in FindingSeverity]
    found = [f"{count} {name}{'s' * (count > 1)}" for count, name in counted if count]
    return f"{len(report.files)} checked, {', '.join(found) or 'nothing found'}."


def as_markdown(report: RuleReport) -> str:
    """Write a summary that a pull request can show; text of findings stays text."""
    lines = [f"**Rule files:** {summary(report)}", ""]
    if report.findings:
        lines += ["| severity | place | finding |", "|---|---|---|", *_rows(report.findings)]
    return "\n".join(lines) + "\n"


def _rows(findings: Iterable[RuleFinding]) -> Iterable[str]:
    for finding in findings:
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        cells = (finding.severity.value, _code(place), f"{finding.code}: {_code(finding.message)}")
        yield f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Show text as code that can break neither the table nor the page."""
    plain = " ".join(reveal(text).split()).replace("`", "'").replace("|", "¦")
    return f"`{plain}`"
