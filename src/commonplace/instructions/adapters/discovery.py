"""Which files of a folder hold rules, and why the others do not."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from commonplace.instructions.adapters.dialects import DIALECTS
from commonplace.instructions.adapters.reading import RuleReading, is_amp_file, read_rule_file
from commonplace.instructions.rulefiles.formats import UNREAD, find_format
from commonplace.instructions.rulefiles.front_matter import split_front_matter
from commonplace.instructions.rulefiles.imports import imported_paths, resolve
from commonplace.instructions.rulefiles.situation import RuleTree, decode

MENTIONING = ("AGENTS.md", "AGENT.md")


@dataclass(frozen=True, slots=True)
class ExaminedFile:
    """A file and its reading; `reading` is None where the file holds no rule, with the reason."""

    path: str
    data: bytes = b""
    reading: RuleReading | None = None
    reason: str = ""


def examine(tree: RuleTree, paths: tuple[str, ...]) -> list[ExaminedFile]:
    """Read every rule file among the paths; say of every other file what it is."""
    mentioned = _find_mentioned(tree, paths)
    return [_examine_file(tree, path, mentioned) for path in paths]


def _examine_file(tree: RuleTree, path: str, mentioned: dict[str, str]) -> ExaminedFile:
    if find_format(path) is None and not is_amp_file(path):
        if path not in mentioned:
            return ExaminedFile(path, reason=_explain(path))
        data = tree.read(path)
        if data is None or not _has_globs(data):
            return ExaminedFile(path, reason=f"mentioned by {mentioned[path]}, without globs")
        return ExaminedFile(path, data, read_rule_file(path, data, "amp"))
    data = tree.read(path)
    if data is None:
        return ExaminedFile(path, reason="it cannot be read")
    return ExaminedFile(path, data, read_rule_file(path, data))


def _explain(path: str) -> str:
    for pattern, reason in UNREAD:
        if pattern.match(path):
            return reason
    return "not a rule file"


def _find_mentioned(tree: RuleTree, paths: tuple[str, ...]) -> dict[str, str]:
    """Return the files that an AGENTS.md mentions, as Amp reads them, each with its mention."""
    known = set(paths)
    mentioned: dict[str, str] = {}
    for path in paths:
        if posixpath.basename(path) not in MENTIONING:
            continue
        text = decode(tree.read(path) or b"")
        for written in imported_paths(text) if "@" in text else ():
            target = resolve(path, written.rstrip(".,;:!?)\"'"))
            if target in known:
                mentioned.setdefault(target, path)
    return mentioned


def _has_globs(data: bytes) -> bool:
    parsed = split_front_matter(decode(data))
    return bool(DIALECTS["amp"].read(parsed.fields).globs)
