"""Where a query matched in an instruction: snippets with the matched words marked."""

from __future__ import annotations

from typing import Any

from commonplace.instructions.model import Instruction
from commonplace.search.lexical.text import matches, query_terms, snippet

WIDTH = 240
OPEN, CLOSE = "**", "**"


def highlights(entry: Instruction, query: str) -> dict[str, Any]:
    """The entry's id, the fields that matched, and a marked snippet of each."""
    terms = query_terms(query)
    needle = query.strip().lower()
    fields = []
    for name in ("title", "body"):
        text = str(entry.document[name])
        shown = _around(text, needle) or snippet(text, terms, WIDTH)
        marked, count = _marked(shown, needle, terms)
        if count:
            fields.append({"field": name, "snippet": marked, "matches": count})
    return {
        "id": entry.id,
        "fields": fields,
        "snippet": fields[-1]["snippet"]
        if fields
        else snippet(str(entry.document["body"]), terms, WIDTH),
    }


def _around(text: str, needle: str) -> str | None:
    at = text.lower().find(needle) if needle else -1
    if at < 0 or len(text.lower()) != len(text):
        return None
    start = max(0, at - WIDTH // 4)
    end = min(len(text), max(start + WIDTH, at + len(needle)))
    return (
        ("…" if start else "")
        + " ".join(text[start:end].split())
        + ("…" if end < len(text) else "")
    )


def _marked(text: str, needle: str, terms: list[str]) -> tuple[str, int]:
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
