"""Ownership markers: comments that say which rule a text is, and how it was written.

A file with one rule ends in a marker. A file that several rules share has a pair of markers around
each; the second repeats the hash of the text, so a text cannot contain its own end.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.instructions.adapters.rule import HASH_LENGTH, hash_text
from commonplace.instructions.fields import is_valid_id

_HASH = rf"[0-9a-f]{{{HASH_LENGTH}}}"
_ID = r"[a-z0-9._-]{1,120}"
_LAST = re.compile(rf"(?:\A|\n)<!-- commonplace rule=({_ID}) hash=({_HASH}) -->[ \t\r\n]*\Z")
_BEGIN = re.compile(rf"^<!-- commonplace begin=({_ID}) hash=({_HASH}) -->[ \t]*\r?\n", re.M)
_END = re.compile(rf"^<!-- commonplace end=({_HASH}) -->[ \t]*(?:\r?\n|\Z)", re.M)


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with its owner. `hash` is that of the text as it was written."""

    id: str
    text: str
    hash: str
    line: int = 1
    span: tuple[int, int] = (0, 0)
    """Where the section is in its file, markers included."""

    @property
    def intact(self) -> bool:
        return hash_text(self.text) == self.hash


@dataclass(frozen=True, slots=True)
class SharedText:
    """A file that several rules share: their sections, and what a person wrote around them."""

    sections: tuple[MarkedText, ...]
    rest: str


def mark_file(id_: str, content: str) -> str:
    """Append the marker of a rule to the content of its own file, which ends in a line break."""
    return f"{content}\n<!-- commonplace rule={id_} hash={hash_text(content)} -->\n"


def read_file_marker(content: str) -> MarkedText | None:
    """Return the content without its marker; None if it has none."""
    found = _LAST.search(content, max(0, len(content) - 400))
    if found is None or not is_valid_id(found[1]):
        return None
    text = content[: found.start()]
    return MarkedText(found[1], text, found[2])


def mark_section(id_: str, text: str) -> str:
    """Put a pair of markers around the section of a rule, which ends in a line break."""
    digest = hash_text(text)
    begin = f"<!-- commonplace begin={id_} hash={digest} -->\n"
    return f"{begin}{text}<!-- commonplace end={digest} -->\n"


def read_sections(content: str) -> SharedText:
    """Take a shared file apart. A begin without its end is text of a person."""
    ends: dict[str, list[re.Match[str]]] = {}
    for end in _END.finditer(content):
        ends.setdefault(end[1], []).append(end)
    breaks = [found.end() for found in re.finditer("\n", content)] if ends else []
    sections, rest, at = [], [], 0
    for begin in _BEGIN.finditer(content):
        candidates = ends.get(begin[2], [])
        place = bisect_left(candidates, begin.end(), key=re.Match.start)
        if begin.start() < at or place == len(candidates) or not is_valid_id(begin[1]):
            continue
        end = candidates[place]
        rest.append(content[at : begin.start()])
        text = content[begin.end() : end.start()]
        line = bisect_right(breaks, begin.end()) + 1
        span = (begin.start(), end.end())
        sections.append(MarkedText(begin[1], text, begin[2], line, span))
        at = end.end()
    return SharedText(tuple(sections), "".join(rest) + content[at:])


def replace_sections(content: str, sections: Mapping[str, str]) -> str:
    """Put new sections in the place of old ones; a person's text around them stays as it is.

    An old section without a new one is removed; a new one without an old one is appended.
    """
    shared = read_sections(content)
    waiting, pieces, at = dict(sections), [], 0
    for section in shared.sections:
        pieces += [content[at : section.span[0]], waiting.pop(section.id, "")]
        at = section.span[1]
    kept = "".join(pieces) + content[at:]
    added = "\n".join(waiting.values())
    if not added:
        return kept
    return f"{kept.rstrip()}\n\n{added}" if kept.strip() else added
