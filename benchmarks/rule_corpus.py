"""Catalogue of the rule search benchmark: real rule files, and sections of documentation."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = Path(os.environ.get("COMMONPLACE_TEST_DATA", ROOT.parent / "shared" / "data")) / "rules"
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_DESCRIPTION = re.compile(r"^description:[ \t]*(.*)$", re.MULTILINE)
_HEADING = re.compile(r"^# +(.+?)\s*#*$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_SUFFIXES = ("-cursorrules-prompt-file", "-cursorrules-prompt-", "-cursorrules-", ".instructions")


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule as the benchmark puts it into the catalogue; `path` has no suffix."""

    path: str
    title: str
    description: str
    body: str


def read_rules(folder: Path = RULES) -> list[RuleText]:
    """Read every `.mdc` and `.instructions.md` file, in order of path."""
    paths = [*folder.glob("cursor/*.mdc"), *folder.glob("copilot/*.instructions.md")]
    return [_read(path, folder) for path in sorted(paths)]


def _read(path: Path, folder: Path) -> RuleText:
    text = path.read_text("utf-8", "replace")
    head = _FRONT_MATTER.match(text)
    fields, body = (head[1], text[head.end() :]) if head else ("", text)
    name = path.relative_to(folder).as_posix().removesuffix(".mdc").removesuffix(".instructions.md")
    described = _DESCRIPTION.search(fields)
    heading = _HEADING.search(_CODE.sub("", body))
    title = heading[1] if heading else _spell(name.rpartition("/")[2])
    return RuleText(
        name,
        re.sub(r"[*`]", "", title).strip()[:200],
        described[1].strip().strip("\"'") if described else "",
        body.strip(),
    )


def _spell(stem: str) -> str:
    for suffix in _SUFFIXES:
        stem = stem.partition(suffix)[0]
    return stem.replace("-", " ").replace("_", " ")
