"""Check the rule files of a repository: what clients ignore or cut, and what hides in them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.instructions.clients import codex
from commonplace.instructions.rulefiles.formats import UNREAD, RuleFormat, find_format, format_of
from commonplace.instructions.rulefiles.front_matter import (
    NO_HEADER,
    NOT_YAML,
    RuleText,
    patterns_of,
    split_front_matter,
)
from commonplace.instructions.rulefiles.globs import matches_any
from commonplace.instructions.rulefiles.imports import imported_paths, resolve
from commonplace.instructions.rulefiles.scan import FindingSeverity, scan
from commonplace.instructions.rulefiles.situation import ClientSituation, RuleTree, decode, parent
from commonplace.instructions.rulefiles.tree import MOST_FILES
from commonplace.kernel.hidden_characters import reveal

LONGEST_BYTES = 4 << 20
SKILL_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
SKILL_NAME_LENGTH, SKILL_DESCRIPTION_LENGTH = 64, 1_024


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """Something to look at in a rule file. `line` is 0 where the whole file is meant."""

    code: str
    severity: FindingSeverity
    path: str
    line: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class RuleReport:
    """Every rule file of a repository with its client, and the findings in order of path."""

    files: tuple[tuple[str, str], ...]
    findings: tuple[RuleFinding, ...]

    def count(self, severity: FindingSeverity) -> int:
        return sum(finding.severity is severity for finding in self.findings)


def check_rule_files(tree: RuleTree) -> RuleReport:
    """Check every rule file below the top of a tree."""
    paths = tree.files_below(".")
    files: list[tuple[str, str]] = []
    findings: list[RuleFinding] = []
    for path in paths:
        known = find_format(path)
        if known is not None:
            files.append((path, known.client))
            # The globs of a file in a collection are about other repositories.
            others = paths if format_of(path) is not None else None
            findings += _check_file(tree, path, known, others)
        for pattern, reason in UNREAD:
            if pattern.match(path):
                findings.append(
                    RuleFinding(
                        "unread-file", FindingSeverity.ERROR, path, 0, reason, "Rename the file."
                    )
                )
    findings += _check_codex_budget(tree, paths)
    return RuleReport(tuple(files), tuple(sorted(findings, key=lambda one: (one.path, one.line))))


def _check_file(
    tree: RuleTree, path: str, known: RuleFormat, paths: tuple[str, ...] | None
) -> Iterator[RuleFinding]:
    data = tree.read(path)
    if data is None:
        return
    if len(data) > LONGEST_BYTES:
        yield RuleFinding(
            "too-long", FindingSeverity.ERROR, path, 0, "Larger than 4 MiB.", "Split the file."
        )
        return
    text = decode(data)
    rule = split_front_matter(text)
    yield from _check_length(path, text, known)
    yield from _check_header(path, rule, known)
    if paths is not None:
        yield from _check_globs(path, text, rule, known, paths)
    if known.client in ("claude-code", "gemini"):
        yield from _check_imports(tree, path, rule.body)
    if known.client == "skills":
        yield from _check_skill(path, rule)
    for finding in scan(text):
        hint = "Remove it, or say openly what it says."
        message = f"{finding.message} {reveal(finding.excerpt)}".strip()
        yield RuleFinding(finding.kind, finding.severity, path, finding.line, message, hint)


def _check_length(path: str, text: str, known: RuleFormat) -> Iterator[RuleFinding]:
    if known.most_characters and len(text) > known.most_characters:
        message = f"{len(text)} characters; {known.client} takes {known.most_characters}."
        yield RuleFinding("too-long", FindingSeverity.ERROR, path, 0, message, "Split the file.")
    lines = text.count("\n") + 1
    if known.advised_lines and lines > known.advised_lines:
        message = f"{lines} lines; {known.client} advises at most {known.advised_lines}."
        yield RuleFinding(
            "long", FindingSeverity.NOTE, path, 0, message, "Move parts into scoped rules."
        )


def _check_header(path: str, rule: RuleText, known: RuleFormat) -> Iterator[RuleFinding]:
    for note in rule.notes if known.globs else ():
        message, severity, hint = note, FindingSeverity.NOTE, "Give every field once."
        if note == NOT_YAML:
            message, hint = (
                "The front matter is not YAML; strict readers drop it.",
                "Put globs in quotes.",
            )
            if known.client == "cline":
                severity = FindingSeverity.ERROR
                message = "The front matter is not YAML: Cline applies the rule always."
        elif note == NO_HEADER:
            severity, hint = FindingSeverity.WARNING, "Begin the file with ---, and end with it."
        yield RuleFinding("invalid-front-matter", severity, path, 1, message, hint)
    if known.client == "cline" and isinstance(rule.fields.get("paths"), str):
        message = "Cline ignores `paths` that is not a list and applies the rule always."
        yield RuleFinding("ignored-globs", FindingSeverity.ERROR, path, 1, message, "Write a list.")


def _check_globs(
    path: str, text: str, rule: RuleText, known: RuleFormat, paths: tuple[str, ...]
) -> Iterator[RuleFinding]:
    """Find globs without a file. A repository that is too large is not judged."""
    if not known.globs or len(paths) >= MOST_FILES:
        return
    for pattern in patterns_of(rule.fields.get(known.globs)):
        if pattern.startswith("!") or any(matches_any(other, (pattern,)) for other in paths):
            continue
        at = text.find(pattern)
        line = text.count("\n", 0, at) + 1 if at >= 0 else 1
        message = f"No file matches {pattern}."
        hint = "A pattern without a slash means the top folder: use **/ for any depth."
        yield RuleFinding("dead-glob", FindingSeverity.WARNING, path, line, message, hint)


def _check_imports(tree: RuleTree, path: str, body: str) -> Iterator[RuleFinding]:
    for written in imported_paths(body):
        plain = written.rstrip(".,;:!?)\"'")
        if "." not in posixpath.basename(plain) or plain.startswith("~"):
            continue  # a mention such as @name, or a file of one person
        imported = resolve(path, plain)
        if imported is None:
            message, severity = f"@{plain} lies outside the repository.", FindingSeverity.WARNING
        elif tree.read(imported) is None:
            message, severity = f"@{plain} does not exist.", FindingSeverity.WARNING
        else:
            continue
        hint = "Correct the path, or put the mention into a code span."
        yield RuleFinding("missing-import", severity, path, 0, message, hint)


def _check_skill(path: str, rule: RuleText) -> Iterator[RuleFinding]:
    """Check a skill by the Agent Skills rules: its name, its folder, its description."""
    name, description = rule.fields.get("name"), rule.fields.get("description")
    folder = posixpath.basename(parent(path))
    problems = []
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        problems.append("`name` is missing or not lower-case words joined by hyphens.")
    elif len(name) > SKILL_NAME_LENGTH or name != folder:
        problems.append(f"`name` must equal the folder {folder!r} and have at most 64 characters.")
    if not isinstance(description, str) or not 0 < len(description) <= SKILL_DESCRIPTION_LENGTH:
        problems.append("`description` must have 1 to 1,024 characters.")
    for message in problems:
        yield RuleFinding(
            "invalid-skill", FindingSeverity.ERROR, path, 1, message, "Correct the header."
        )


def _check_codex_budget(tree: RuleTree, paths: tuple[str, ...]) -> Iterator[RuleFinding]:
    """Find AGENTS.md files that Codex would cut when it is started in their folder."""
    for path in paths:
        if posixpath.basename(path) != codex.PLAIN:
            continue
        loading = codex.load(tree, ClientSituation(cwd=parent(path)))
        cut = {rule.path: rule.cut for rule in loading.rules if rule.cut}
        cut |= {rule.path: rule.reason for rule in loading.ignored if "budget" in rule.reason}
        if path in cut:
            message = f"Codex, started in this folder: {cut[path]}."
            hint = "Shorten the files on the way here; together they have 32 KiB."
            yield RuleFinding("codex-budget", FindingSeverity.ERROR, path, 0, message, hint)
