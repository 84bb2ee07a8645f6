"""The kinds of rule files, recognised by their path."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleFormat:
    """A kind of rule file: who reads it, where its globs are, how long it may be."""

    client: str
    pattern: re.Pattern[str]
    globs: str = ""
    """The front matter field that holds globs, if the format has one."""
    most_characters: int = 0
    advised_lines: int = 0


def _format(
    client: str,
    pattern: str,
    globs: str = "",
    most_characters: int = 0,
    advised_lines: int = 0,
) -> RuleFormat:
    return RuleFormat(
        client, re.compile(rf"(?:.*/)?{pattern}\Z"), globs, most_characters, advised_lines
    )


FORMATS = (
    _format("claude-code", r"\.claude/rules/.*\.md", "paths"),
    _format("claude-code", r"(?:\.claude/)?CLAUDE(?:\.local)?\.md", advised_lines=200),
    _format("cursor", r"\.cursor/rules/.*\.mdc", "globs", advised_lines=500),
    _format("cursor", r"\.cursorrules"),
    _format("copilot", r"\.github/instructions/.*\.instructions\.md", "applyTo"),
    _format("copilot", r"\.github/copilot-instructions\.md"),
    _format("cline", r"\.clinerules(?:/(?!workflows/|hooks/|skills/).*\.(?:md|txt))?", "paths"),
    _format("kiro", r"\.kiro/steering/.*\.md", "fileMatchPattern"),
    _format("devin", r"\.(?:devin|windsurf)/rules/.*\.md", "globs", most_characters=12_000),
    _format("devin", r"\.windsurfrules"),
    _format("junie", r"\.junie/(?:guidelines|AGENTS)\.md"),
    _format("gemini", r"GEMINI\.md"),
    _format("skills", r"[^/]+/SKILL\.md"),
    _format("agents-md", r"AGENTS(?:\.override)?\.md"),
)

UNREAD = (
    (re.compile(r"(?:.*/)?\.cursor/rules/.*\.md\Z"), "Cursor reads .mdc files only."),
    (
        re.compile(r"(?:.*/)?\.github/instructions/.*(?<!\.instructions)\.md\Z"),
        "Copilot reads files that end in .instructions.md only.",
    ),
    (re.compile(r"(?:.*/)?\.claude/rules/.*\.(?:txt|mdc)\Z"), "Claude Code reads .md files only."),
)
"""Files in a rule folder that no client reads, and why."""


def format_of(path: str) -> RuleFormat | None:
    """Return the kind of a rule file; None if a path is not one."""
    return next((known for known in FORMATS if known.pattern.match(path)), None)


_LOOSE = (
    (re.compile(r".*\.mdc\Z"), ".cursor/rules/x.mdc"),
    (re.compile(r".*\.instructions\.md\Z"), ".github/instructions/x.instructions.md"),
)
"""Files outside every rule folder, as in a collection, and a place where they could be."""


def find_format(path: str) -> RuleFormat | None:
    """Return the kind of a rule file, also of one in a collection; None if it is not one."""
    known = format_of(path)
    if known is not None:
        return known
    return next((format_of(place) for pattern, place in _LOOSE if pattern.match(path)), None)
