"""Ids and file names of rules: derived from path and title, legal everywhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container

from commonplace.instructions.adapters.places import place_of
from commonplace.instructions.fields import MAX_ID_CHARS, is_reserved_id

LONGEST_FOLDER, LONGEST_STEM, LONGEST_TITLE = 30, 60, 50
SKILL_NAME_LENGTH = 64
_NOT_WORD = re.compile(r"[^a-z0-9]+")


def slug(text: str, longest: int) -> str:
    """Spell a text in lower-case letters, digits and hyphens; it may come out empty."""
    plain = unicodedata.normalize("NFKD", text[: longest * 8]).encode("ascii", "ignore").decode()
    words = _NOT_WORD.sub("-", plain.lower()).strip("-")
    if len(words) <= longest:
        return words
    cut = words[:longest]
    return (cut.rpartition("-")[0] or cut) if words[longest] != "-" else cut


def candidate_id(path: str, title: str) -> str:
    """Derive an id from where a rule was found and what it is called."""
    folder, _, last = place_of(path).stem.rpartition("/")
    stem, name = slug(last, LONGEST_STEM), slug(title, LONGEST_TITLE)
    own = name if name.startswith(stem) else stem if name in stem else f"{stem}-{name}".strip("-")
    joined = "-".join(filter(None, (slug(folder, LONGEST_FOLDER), own)))
    candidate = joined[: MAX_ID_CHARS - 8].strip("-") or "rule"
    return f"rule-{candidate}" if is_reserved_id(candidate) else candidate


def numbered(candidate: str, taken: Container[str]) -> str:
    """Return the candidate, or the candidate with the first number that is free."""
    if candidate not in taken:
        return candidate
    number = 2
    while f"{candidate}-{number}" in taken:
        number += 1
    return f"{candidate}-{number}"


def skill_name(id_: str, taken: Container[str] = ()) -> str:
    """Return the name of a skill: at most 64 lower-case letters, digits and single hyphens."""
    return numbered(slug(id_, SKILL_NAME_LENGTH - 4) or "rule", taken)
