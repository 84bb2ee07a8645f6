"""Reviewing a prompt against rules: every pattern runs on RE2, in time linear in the text,
whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SEVERITIES = ("critical", "high", "medium", "low", "info")
MAX_PROMPT_CHARS = 10_000
MATCH_CHARS = 120
MAX_PATTERN_CHARS = 2000
MAX_RULES = 1000
_RE2_MEMORY_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    category: str
    pattern: Any  # a compiled RE2 pattern
    must_contain: bool
    severity: str
    description: str
    remediation: str | None = None
    masked: bool = False  # its matches are secrets: show their beginning only


@dataclass(frozen=True, slots=True)
class Criteria:
    rules: tuple[Rule, ...]
    unsupported: tuple[dict[str, str], ...] = ()  # rules that RE2 cannot run, with the reason
    version: str | None = None


def parse_criteria(raw: Any) -> Criteria:
    """Rules of a criteria file.

    Raises ValueError that says where it is wrong; a pattern RE2 cannot run is set aside instead.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("categories"), list):
        raise ValueError('expected {"categories": [{"id": ..., "rules": [...]}]}')
    rules: list[Rule] = []
    unsupported: list[dict[str, str]] = []
    for number, category in enumerate(raw["categories"]):
        if (
            not isinstance(category, dict)
            or not isinstance(category.get("id"), str)
            or not isinstance(category.get("rules"), list)
        ):
            raise ValueError(f"categories[{number}]: needs an id and rules")
        for item in category["rules"]:
            try:
                rules.append(_rule(item, category["id"], bool(category.get("secret"))))
            except Unsupported as error:
                unsupported.append({"ruleId": error.rule_id, "reason": error.reason})
            if len(rules) > MAX_RULES:
                raise ValueError(f"more than {MAX_RULES} rules")
    version = raw.get("version")
    return Criteria(tuple(rules), tuple(unsupported), str(version) if version is not None else None)


class Unsupported(ValueError):
    def __init__(self, rule_id: str, reason: str) -> None:
        super().__init__(reason)
        self.rule_id = rule_id
        self.reason = reason


def _rule(item: Any, category: str, secret: bool) -> Rule:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item["id"]:
        raise ValueError(f"category {category!r}: a rule needs an id")
    place = f"rule {item['id']!r}"
    patterns = [
        name
        for name in ("pattern", "mustContain")
        if isinstance(item.get(name), str) and item[name]
    ]
    if len(patterns) != 1:
        raise ValueError(f"{place}: needs either pattern or mustContain")
    source = item[patterns[0]]
    if len(source) > MAX_PATTERN_CHARS:
        raise ValueError(f"{place}: the pattern has more than {MAX_PATTERN_CHARS} characters")
    severity = item.get("severity", "medium")
    if severity not in SEVERITIES:
        raise ValueError(f"{place}: severity must be one of {', '.join(SEVERITIES)}")
    remediation = item.get("remediation")
    return Rule(
        item["id"],
        category,
        _compile(item["id"], source),
        patterns[0] == "mustContain",
        severity,
        str(item.get("description") or item["id"]),
        remediation if isinstance(remediation, str) else None,
        secret or bool(item.get("secret")),
    )


def _compile(rule_id: str, source: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False  # it prints on stderr otherwise
    options.case_sensitive = False
    options.max_mem = _RE2_MEMORY_BYTES
    try:
        return re2.compile(source, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise Unsupported(
            rule_id, reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None


def review(prompt: str, criteria: Criteria) -> dict[str, Any]:
    """Issues in order of severity, then of the rules; the first match of each rule is reported."""
    text = prompt.replace("\0", "")
    issues = sorted(
        _issues(text, criteria.rules), key=lambda issue: SEVERITIES.index(issue["severity"])
    )
    counts: dict[str, int] = {}
    for issue in issues:
        counts[issue["severity"]] = counts.get(issue["severity"], 0) + 1
    highest = next((severity for severity in SEVERITIES if severity in counts), "info")
    result: dict[str, Any] = {
        "issues": issues,
        "summary": {"counts": counts, "highestSeverity": highest},
        "length": len(text),
    }
    if criteria.unsupported:
        result["unsupportedRules"] = list(criteria.unsupported)
    return result


def _issues(text: str, rules: Iterable[Rule]) -> Iterable[dict[str, Any]]:
    for rule in rules:
        found = rule.pattern.search(text)
        if (found is None) is not rule.must_contain:
            continue
        issue: dict[str, Any] = {
            "ruleId": rule.id,
            "severity": rule.severity,
            "description": rule.description,
        }
        if found is not None:
            issue["match"] = _shown(found.group(0), rule.masked)
            issue["position"] = found.start()
        issue["category"] = rule.category
        if rule.remediation:
            issue["remediation"] = rule.remediation
        yield issue


def _shown(match: str, masked: bool) -> str:
    if masked:
        return match[:4] + "..."
    return match if len(match) <= MATCH_CHARS else match[: MATCH_CHARS - 3] + "..."


def too_long(prompt: str) -> Mapping[str, Any] | None:
    """Contract 001's answer to a prompt above its limit; None where it fits."""
    if len(prompt) <= MAX_PROMPT_CHARS:
        return None
    return {
        "truncated": True,
        "message": f"The prompt has {len(prompt)} characters; at most {MAX_PROMPT_CHARS} are "
        f"reviewed. Send a part of it.",
        "max": MAX_PROMPT_CHARS,
    }
