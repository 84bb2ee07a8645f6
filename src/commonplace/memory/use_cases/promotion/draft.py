"""Draft a rule from lessons without a language model."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from commonplace.memory.engine.generalize import shared_lines
from commonplace.memory.model import Entry

ID_CHARACTERS = 80
CATEGORY_CHARACTERS = 49
DESCRIPTION_CHARACTERS = 300
# A whole id, or in brackets the beginning of one; `memory:` stands before it in references.
_ENTRY_ID = re.compile(
    r"\b(?:memory:)?[0-7][0-9A-HJKMNP-TV-Z]{25}\b"
    r"|(?<=\[)(?:memory:)?0(?![XB])(?=[0-9]*[A-Z])[0-9A-HJKMNP-TV-Z]{4,24}(?=\])"
)
_MENTION = re.compile(rf"[ \t]*[\[(]?(?:{_ENTRY_ID.pattern})[\])]?")
_REFERENCE = re.compile(rf"\W*(?:{_ENTRY_ID.pattern})")
_LEAST_WORDS = 4  # that a sentence says beside the entry that it names
_HEADING = re.compile(r"#{1,6} ")
_TABLE_RULE = re.compile(r"\|[-| :]+\|")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule before it is submitted; an empty id is chosen from the title."""

    id: str = ""
    title: str = ""
    body: str = ""
    description: str = ""
    owner: str = ""
    applies_to: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    requirement: str = "recommended"
    priority: int = 50

    def hash(self, lessons: Mapping[str, str]) -> str:
        """Identify the draft and the texts that it comes from."""
        basis = [asdict(self), sorted(lessons.items())]
        return hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()[:32]


def draft_rule(lessons: Sequence[Entry], given: RuleDraft) -> RuleDraft:
    """Complete what is given from the lessons: a title, a text without ids, categories."""
    title = given.title.strip() or _title(lessons)
    body = given.body.strip() or _body(lessons)
    return replace(
        given,
        id=given.id.strip() or rule_id(title),
        title=title,
        body=body,
        description=given.description.strip() or _first_sentence(body, title),
        categories=given.categories or _categories(lessons),
    )


def rule_id(title: str) -> str:
    """Return the id that a title suggests."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:ID_CHARACTERS].strip("-")
    return f"lesson.{slug}" if slug else "lesson.rule"


def _title(lessons: Sequence[Entry]) -> str:
    """Return the title of the newest general lesson, else of the newest one."""
    newest = max(lessons, key=lambda entry: (entry.memory_type == "semantic", entry.created_at))
    return newest.title.removeprefix("Pattern: ").strip()


def _body(lessons: Sequence[Entry]) -> str:
    """Return the text of one lesson, or what several say, one after another."""
    if len(lessons) == 1:
        return without_ids(lessons[0].content) or lessons[0].title
    parts = []
    common = shared_lines(lessons, max(2, (len(lessons) + 1) // 2))
    if common:
        parts.append("\n".join(f"- {line}" for line in common))
    for entry in lessons:
        text = without_ids(entry.content)
        parts.append(f"**{entry.title}**\n\n{text}" if text else f"**{entry.title}**")
    return without_ids("\n\n".join(parts))


def without_ids(text: str) -> str:
    """Return a text without references to entries, nor tables and headings left empty by that.

    The ids of a tenant's entries are nothing for others to read. A sentence that says something
    beside them stays without them.
    """
    lines = [
        said
        for line in text.strip().splitlines()
        if (said := _without_references(line)) or not line.strip()
    ]
    kept: list[str] = []
    for place, line in enumerate(lines):
        following = next((other for other in lines[place + 1 :] if other.strip()), "")
        is_row = line.lstrip().startswith("|")
        if is_row and _is_empty_table(lines, place):
            continue
        if _HEADING.match(line) and (
            not following
            or _HEADING.match(following)
            or (following.startswith("|") and _is_empty_table(lines, lines.index(following)))
        ):
            continue
        kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _without_references(line: str) -> str:
    """Return a line without its references to entries, empty if it is nothing else."""
    if not _ENTRY_ID.search(line):
        return line
    if _REFERENCE.match(line) or line.lstrip().startswith("|"):
        return ""  # an entry of a list, or a row of a table
    sentences = (_MENTION.sub("", sentence) for sentence in _kept_sentences(line))
    return " ".join(sentences).rstrip()


def _kept_sentences(line: str) -> list[str]:
    """Return the sentences of a line that say something beside the entries they name."""
    return [
        sentence
        for sentence in _SENTENCE_END.split(line)
        if not _ENTRY_ID.search(sentence)
        or len(_ENTRY_ID.sub("", sentence).split()) >= _LEAST_WORDS
    ]


def _is_empty_table(lines: Sequence[str], place: int) -> bool:
    """Tell whether the table around a line has a head and no rows."""
    first = last = place
    while first > 0 and lines[first - 1].startswith("|"):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].startswith("|"):
        last += 1
    return last - first == 1 and _TABLE_RULE.fullmatch(lines[last].strip()) is not None


def _first_sentence(body: str, title: str) -> str:
    line = next((line for line in body.splitlines() if line[:1].isalpha()), title)
    return _SENTENCE_END.split(line, maxsplit=1)[0][:DESCRIPTION_CHARACTERS].strip()


def _categories(lessons: Sequence[Entry]) -> tuple[str, ...]:
    """Return the tags that at least half of the lessons have, as categories."""
    counts = Counter(tag for entry in lessons for tag in dict.fromkeys(entry.tags))
    least = (len(lessons) + 1) // 2
    slugs = (
        re.sub(r"[^a-z0-9_-]+", "-", tag.lower()).strip("-_")[:CATEGORY_CHARACTERS]
        for tag, count in counts.most_common(5)
        if count >= least
    )
    return tuple(dict.fromkeys(filter(None, slugs)))
