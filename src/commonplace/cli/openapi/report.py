"""Reports of findings and changes: SARIF for code scanning, Markdown for pull requests."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace import __version__
from commonplace.kernel.json_types import JsonObject

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"critical": "error", "error": "error", "warning": "warning", "info": "note"}
_MARKS = {"critical": "**critical**", "error": "**breaking**", "warning": "warning", "info": "info"}


def sarif(results: Sequence[JsonObject], artifact: str, rules: dict[str, str]) -> JsonObject:
    """Return a SARIF log of results with rule, severity, message, path and optional line."""
    used = sorted({result["rule"] for result in results})
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "commonplace",
                        "version": __version__,
                        "rules": [
                            {"id": rule, "shortDescription": {"text": rules.get(rule, rule)}}
                            for rule in used
                        ],
                    }
                },
                "results": [_result(result, artifact, used) for result in results],
            }
        ],
    }


def _result(result: JsonObject, artifact: str, used: list[str]) -> JsonObject:
    place: JsonObject = {"artifactLocation": {"uri": artifact}}
    if result.get("line"):
        place["region"] = {"startLine": result["line"]}
    return {
        "ruleId": result["rule"],
        "ruleIndex": used.index(result["rule"]),
        "level": _LEVELS[result["severity"]],
        "message": {"text": result["message"]},
        "locations": [
            {
                "physicalLocation": place,
                "logicalLocations": [{"fullyQualifiedName": result["path"] or "/"}],
            }
        ],
    }


def changes_markdown(answer: JsonObject, base: str, revision: str) -> str:
    """Return a pull-request comment: the verdict, a table, the number of omitted changes."""
    lines = [f"### API changes: `{base}` → `{revision}`", "", answer["summary"], ""]
    if answer["changes"]:
        lines += ["| | change | where | rule |", "|---|---|---|---|"]
        lines += [
            f"| {_MARKS[c['severity']]} | {_cell(c['message'])} | `{_cell(c['path'])}` | "
            f"`{c['rule']}` |"
            for c in answer["changes"]
        ]
        hidden = answer["total_changes"] - answer["returned"]
        if hidden > 0:
            lines += ["", f"... and {hidden} more."]
    return "\n".join(lines) + "\n"


def findings_markdown(answer: JsonObject, name: str) -> str:
    verdict = "valid" if answer["valid"] else "**not valid**"
    lines = [f"### `{name}` is {verdict} OpenAPI {answer['version']}", ""]
    lines += [f"{answer['error_count']} errors, {answer['warning_count']} warnings.", ""]
    rows = [*answer["errors"], *answer["warnings"]]
    if rows:
        lines += ["| | line | problem | where | rule |", "|---|---:|---|---|---|"]
        lines += [
            f"| {f['severity']} | {f.get('line', '')} | {_cell(f['message'])} | "
            f"`{_cell(f['path'])}` | `{f['rule']}` |"
            for f in rows
        ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("`", "'")
