"""Where a rule file lies: the folder it belongs to, and its name inside the rule folder."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from commonplace.instructions.rulefiles.formats import format_of

RULE_FOLDERS = (
    (".claude", ("rules", "skills")),
    (".cursor", ("rules", "skills")),
    (".github", ("instructions", "skills")),
    (".clinerules", ()),
    (".kiro", ("steering", "skills")),
    (".devin", ("rules", "skills")),
    (".windsurf", ("rules", "skills")),
    (".agents", ("skills", "rules")),
    (".codex", ("skills",)),
    (".junie", ()),
)
_KINDS = dict(RULE_FOLDERS)
_SUFFIX = re.compile(r"(?:\.instructions\.md|\.mdc|\.md|\.txt)\Z", re.I)


@dataclass(frozen=True, slots=True)
class RulePlace:
    """`owner` is the folder that the rule is about (`.` is the repository); `loose` files lie
    outside every rule folder, as in a collection.
    """

    owner: str
    stem: str
    loose: bool = False


def place_of(path: str) -> RulePlace:
    """Say which folder a rule file is about, and what it is called there."""
    parts = path.split("/")
    for at, part in enumerate(parts[:-1]):
        if part in _KINDS:
            inner = parts[at + 1 :]
            if len(inner) > 1 and inner[0] in _KINDS[part]:
                inner = inner[1:]
            owner = "/".join(parts[:at]) or "."
            return RulePlace(owner, _join_stem(owner, inner))
    if format_of(path) is None:
        return RulePlace(".", _SUFFIX.sub("", path), loose=True)
    owner = posixpath.dirname(path) or "."
    if parts[-1] == "SKILL.md":
        return RulePlace(".", owner)
    return RulePlace(owner, _join_stem(owner, parts[-1:]))


def _join_stem(owner: str, inner: list[str]) -> str:
    name = inner[-1]
    named = inner[:-1] if name == "SKILL.md" else [*inner[:-1], _SUFFIX.sub("", name)]
    return "/".join([*([] if owner == "." else [owner]), *named])


def move_globs(globs: tuple[str, ...], owner: str) -> tuple[str, ...]:
    """Turn globs that are relative to a folder into globs of the repository."""
    if owner == ".":
        return globs
    return tuple(
        f"!{_below(owner, glob[1:])}" if glob.startswith("!") else _below(owner, glob)
        for glob in globs
    )


def _below(owner: str, glob: str) -> str:
    glob = glob.removeprefix("./")
    return glob if glob.startswith(f"{owner}/") else f"{owner}/{glob.lstrip('/')}"
