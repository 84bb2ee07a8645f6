"""Draft a pattern from several entries without a language model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.memory.model import Entry
from commonplace.memory.text import TITLE_CHARACTERS
from commonplace.search.lexical.text import analyze, is_stop_word

_SHARED_TERMS = 12
_LINES = 8
_WORD = re.compile(r"[^\W\d_][\w.+-]*[^\W_]|[^\W\d_]")
_ERROR_LINE = re.compile(
    r"(?i)\b(?:[a-z]*error|[a-z]*exception|traceback|fatal|panic|failed|failure|denied|refused|"
    r"timed? ?out|erreur|échec|errno|"
    r"e[a-z]{4,12}:|exit code|http [45]\d\d|[45]\d\d )"
)
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\d+|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class PatternDraft:
    """A pattern before it is an entry."""

    title: str
    content: str
    tags: tuple[str, ...]
    project: str | None


def draft_pattern(entries: Sequence[Entry], title: str | None = None) -> PatternDraft:
    """Write what at least half of the sources, and two of them, have in common, in Markdown."""
    least = max(2, (len(entries) + 1) // 2)
    words = shared_words(entries, least)
    lines = shared_lines(entries, least)
    errors = [line for line in lines if _ERROR_LINE.search(line)]
    other = [line for line in lines if line not in errors]
    heading = title or _title(entries, words)
    parts = [f"Drafted from {len(entries)} entries about the same thing."]
    if words:
        parts.append("## Common words\n" + ", ".join(words))
    if errors:
        parts.append(
            "## Errors\n"
            + "\n".join(f"- `{line.replace('`', chr(39))}`" for line in errors[:_LINES])
        )
    if other:
        parts.append("## In several entries\n" + "\n".join(f"- {line}" for line in other[:_LINES]))
    parts.append(_table(entries))
    tags = Counter(tag for entry in entries for tag in entry.tags)
    shared_tags = tuple(tag for tag, count in tags.most_common(5) if count >= least)
    projects = {entry.project for entry in entries}
    return PatternDraft(
        heading, "\n\n".join(parts), shared_tags, projects.pop() if len(projects) == 1 else None
    )


def shared_words(entries: Sequence[Entry], least: int) -> list[str]:
    """Return the words that enough sources contain, in their most frequent form.

    The most widespread words come first; words with the same stem count as one.
    """
    spread: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for entry in entries:
        stems_seen: set[str] = set()
        for word in _WORD.findall(f"{entry.title} {entry.content} {' '.join(entry.tags)}"[:20_000]):
            stems = [stem for stem in analyze(word) if not is_stop_word(stem) and len(stem) > 1]
            if stems:
                stem = stems[0]
                forms.setdefault(stem, Counter())[word if not word.istitle() else word.lower()] += 1
                stems_seen.add(stem)
        spread.update(stems_seen)
    widespread = [
        (count, sum(forms[stem].values()), stem) for stem, count in spread.items() if count >= least
    ]
    widespread.sort(key=lambda item: (-item[0], -item[1], item[2]))
    return [
        min(forms[stem].items(), key=lambda form: (-form[1], form[0]))[0]
        for _, _, stem in widespread[:_SHARED_TERMS]
    ]


def shared_lines(entries: Sequence[Entry], least: int) -> list[str]:
    """Return the lines and sentences that enough sources contain, as first written.

    Numbers and quoted names may differ.
    """
    first: dict[str, str] = {}
    spread: Counter[str] = Counter()
    for entry in entries:
        shapes: set[str] = set()
        for line in re.split(r"\n+|(?<=[.!?])\s+", entry.content[:20_000]):
            plain = " ".join(line.split()).strip(" -*•")
            shape = _VARIABLE.sub("#", plain.casefold()).rstrip(".!? ")
            if 12 <= len(plain) <= 300 and shape not in shapes:
                shapes.add(shape)
                first.setdefault(shape, plain)
        spread.update(shapes)
    return [first[shape] for shape, count in spread.most_common() if count >= least][: 2 * _LINES]


def _title(entries: Sequence[Entry], words: list[str]) -> str:
    """Return the title of the source whose title has most of the shared words."""
    if words:
        wanted = {stem for word in words for stem in analyze(word)}
        best = max(
            entries,
            key=lambda entry: (
                len(wanted & set(analyze(entry.title))),
                -len(entry.title),
                entry.id,
            ),
        )
    else:
        best = entries[0]
    return f"Pattern: {best.title}"[:TITLE_CHARACTERS].rstrip()


def _table(entries: Sequence[Entry]) -> str:
    rows = [
        f"| {entry.id} | {entry.type} | {entry.title.replace('|', chr(92) + '|')} | "
        f"{entry.created_at:%Y-%m-%d} | {entry.confidence} |"
        for entry in entries
    ]
    return "\n".join(
        ["## Sources", "| id | type | title | date | confidence |", "|---|---|---|---|---|", *rows]
    )
