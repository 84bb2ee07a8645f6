"""Review of a prompt against rules. Patterns run on RE2, in time linear in the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from commonplace.kernel.json_types import Json

SEVERITIES = ("critical", "high", "medium", "low", "info")
MAX_PROMPT_CHARS = 10_000
MATCH_CHARS = 120
MAX_PATTERN_CHARS = 2000
MAX_RULES = 1000
_RE2_MEMORY_BYTES = 8 * 1024 * 1024


class PatternMatch(Protocol):
    """A match of a compiled pattern."""

    def group(self, number: int, /) -> str: ...

    def start(self) -> int: ...


class CompiledPattern(Protocol):
    """A pattern compiled by RE2."""

    def search(self, text: str, /) -> PatternMatch | None: ...


@dataclass(frozen=True, slots=True)
class PromptRule:
    """A pattern that a prompt must or must not contain."""

    id: str
    category: str
    pattern: CompiledPattern
    must_contain: bool
    severity: str
    description: str
    remediation: str | None = None
    masked: bool = False  # matches are secrets: show only their beginning


@dataclass(frozen=True, slots=True)
class UnsupportedRule:
    """A rule whose pattern RE2 cannot run, and why."""

    rule_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class PromptCriteria:
    """Rules of a criteria file."""

    rules: tuple[PromptRule, ...]
    unsupported: tuple[UnsupportedRule, ...] = ()
    version: str | None = None


def parse_criteria(raw: Json) -> PromptCriteria:
    """Parse PROMPT-CRITERIA.json. Raises ValueError that says where it is wrong.

    A pattern that RE2 cannot run is reported as unsupported instead.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("categories"), list):
        raise ValueError('expected {"categories": [{"id": ..., "rules": [...]}]}')
    rules: list[PromptRule] = []
    unsupported: list[UnsupportedRule] = []
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
            except UnsupportedPattern as error:
                unsupported.append(UnsupportedRule(error.rule_id, error.reason))
            if len(rules) > MAX_RULES:
                raise ValueError(f"more than {MAX_RULES} rules")
    version = raw.get("version")
    return PromptCriteria(
        tuple(rules), tuple(unsupported), str(version) if version is not None else None
    )


class UnsupportedPattern(ValueError):
    """RE2 cannot run the pattern of a rule."""

    def __init__(self, rule_id: str, reason: str) -> None:
        super().__init__(reason)
        self.rule_id = rule_id
        self.reason = reason


def _rule(item: Json, category: str, secret: bool) -> PromptRule:
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
    return PromptRule(
        item["id"],
        category,
        _compile(item["id"], source),
        patterns[0] == "mustContain",
        severity,
        str(item.get("description") or item["id"]),
        remediation if isinstance(remediation, str) else None,
        secret or bool(item.get("secret")),
    )


def _compile(rule_id: str, source: str) -> CompiledPattern:
    import re2

    options = re2.Options()
    options.log_errors = False  # RE2 writes them to stderr
    options.case_sensitive = False
    options.max_mem = _RE2_MEMORY_BYTES
    try:
        pattern: CompiledPattern = re2.compile(source, options)
        return pattern
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise UnsupportedPattern(
            rule_id, reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None


@dataclass(frozen=True, slots=True)
class PromptIssue:
    """A rule that a prompt breaks; `match` is None if the prompt lacks a required text."""

    rule: PromptRule
    match: str | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class PromptReview:
    """Issues in order of severity, then of the rules."""

    issues: tuple[PromptIssue, ...]
    length: int
    unsupported: tuple[UnsupportedRule, ...] = ()

    def counts(self) -> dict[str, int]:
        """Count the issues by severity, most severe first."""
        return dict(Counter(issue.rule.severity for issue in self.issues))

    def highest_severity(self) -> str:
        """Return the severity of the worst issue."""
        return self.issues[0].rule.severity if self.issues else "info"


def review(prompt: str, criteria: PromptCriteria) -> PromptReview:
    """Check a prompt against all rules; the first match of each rule is reported."""
    text = prompt.replace("\0", "")
    issues = sorted(
        _issues(text, criteria.rules), key=lambda issue: SEVERITIES.index(issue.rule.severity)
    )
    return PromptReview(tuple(issues), len(text), criteria.unsupported)


def _issues(text: str, rules: Iterable[PromptRule]) -> Iterator[PromptIssue]:
    for rule in rules:
        match = rule.pattern.search(text)
        if (match is None) is not rule.must_contain:
            continue
        if match is None:
            yield PromptIssue(rule)
        else:
            yield PromptIssue(rule, _shorten_match(match.group(0), rule.masked), match.start())


def _shorten_match(match: str, masked: bool) -> str:
    if masked:
        return match[:4] + "..."
    return match if len(match) <= MATCH_CHARS else match[: MATCH_CHARS - 3] + "..."
