"""Highlights of search results: snippets with the matched words marked."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.instructions.model import Instruction
from commonplace.search.lexical.text import matches, query_terms, snippet

WIDTH = 240
OPEN, CLOSE = "**", "**"


@dataclass(frozen=True, slots=True)
class MatchedField:
    """A field that matched, a marked snippet of it, and the number of matches in the snippet."""

    field: str
    snippet: str
    matches: int


@dataclass(frozen=True, slots=True)
class Highlight:
    """Where a query matched in one instruction."""

    id: str
    fields: tuple[MatchedField, ...]
    snippet: str


def highlight(entry: Instruction, query: str) -> Highlight:
    """Return the fields that matched, with a marked snippet of each."""
    terms = query_terms(query)
    needle = query.strip().lower()
    fields = []
    for name in ("title", "body"):
        text = str(entry.document[name])
        shown = _cut_around(text, needle) or snippet(text, terms, WIDTH)
        marked, count = _mark(shown, needle, terms)
        if count:
            fields.append(MatchedField(name, marked, count))
    best = fields[-1].snippet if fields else snippet(str(entry.document["body"]), terms, WIDTH)
    return Highlight(entry.id, tuple(fields), best)


def _cut_around(text: str, needle: str) -> str | None:
    lowered = text.lower()
    at = lowered.find(needle) if needle else -1
    if at < 0 or len(lowered) != len(text):
        return None
    start = max(0, at - WIDTH // 4)
    end = min(len(text), max(start + WIDTH, at + len(needle)))
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return before + " ".join(text[start:end].split()) + after


def _mark(text: str, needle: str, terms: list[str]) -> tuple[str, int]:
    spans = [(start, end) for start, end, _ in matches(text, terms)]
    lowered = text.lower()
    if needle and len(lowered) == len(text):
        at = lowered.find(needle)
        while at >= 0:
            spans.append((at, at + len(needle)))
            at = lowered.find(needle, at + len(needle))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    for start, end in reversed(merged):
        text = f"{text[:start]}{OPEN}{text[start:end]}{CLOSE}{text[end:]}"
    return text, len(merged)
