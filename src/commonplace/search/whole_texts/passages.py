"""Passages of a text for search by meaning: what one vector each stands for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from commonplace.search.chunk import Chunk, split
from commonplace.search.model import Passage

MOST_PASSAGES = 40  # of one text: a body of a million characters costs seconds, not minutes
MAX_SUMMARY_CHARS = 600
MAX_READ_CHARS = 400_000  # of a body that is cut; the passages are a sample of them
SEPARATOR = "#"


def cut_passages(name: str, title: str, body: str, summary: str = "") -> list[Passage]:
    """Return the passages of a text: each says the title and its headings, the first the summary.

    A long text is sampled evenly, with its beginning.
    """
    chunks = _sample(split(body[:MAX_READ_CHARS]), MOST_PASSAGES)
    texts = [_spell(title, chunk) for chunk in chunks] or [title]
    if summary:
        texts = [f"{title}\n{summary[:MAX_SUMMARY_CHARS]}", *texts[: MOST_PASSAGES - 1]]
    return [
        Passage(f"{name}{SEPARATOR}{number}", text, _digest(text))
        for number, text in enumerate(texts)
    ]


def name_of(key: str) -> str:
    """Return the name of the text that a passage belongs to."""
    return key.rpartition(SEPARATOR)[0]


def _spell(title: str, chunk: Chunk) -> str:
    trail = [heading for heading in chunk.headings[-1:] if heading not in (title, chunk.text)]
    opening = "" if chunk.text.lstrip("# ").startswith(title) else f"{title}\n"
    inside = trail and trail[0] not in chunk.text[:250]
    return f"{opening}{trail[0]}\n{chunk.text}" if inside else f"{opening}{chunk.text}"


def _sample(chunks: Sequence[Chunk], most: int) -> Sequence[Chunk]:
    if len(chunks) <= most:
        return chunks
    step = (len(chunks) - 1) / (most - 1)
    return [chunks[round(number * step)] for number in range(most)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
