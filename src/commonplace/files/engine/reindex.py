"""Index changes: which chunks of a changed file must be analysed again."""

from __future__ import annotations

import hashlib
from collections import defaultdict

from commonplace.files.model import AddedChunk, FilePath, IndexChange, IndexedChunk, Terms
from commonplace.search.chunk import Chunk, split
from commonplace.search.lexical.text import analyze

TEXT = "text"
CONTEXT = "context"
WEIGHTS = {TEXT: 1.0, CONTEXT: 0.4}
"""The search fields of a chunk: its own text, and the words of its path and headings."""


def difference(path: FilePath, content: bytes, indexed: tuple[IndexedChunk, ...]) -> IndexChange:
    """Compare the chunks a file should have with those it has.

    Equal chunks keep their id and only move. Chunks of white space alone are left out: nobody can
    find them, and a model would embed nothing.
    """
    kept: dict[tuple[str, str], list[IndexedChunk]] = defaultdict(list)
    for old in reversed(indexed):
        kept[old.content_hash, old.context].append(old)  # popped from the end: first one first
    moved: list[IndexedChunk] = []
    added: list[AddedChunk] = []
    chunks = (chunk for chunk in split(content.decode()) if not chunk.text.isspace())
    for index, chunk in enumerate(chunks):
        digest = hashlib.sha256(chunk.text.encode()).hexdigest()
        context = context_of(path, chunk)
        same = kept.get((digest, context))
        if same:
            old = same.pop()
            if (old.index, old.start, old.end) != (index, chunk.start, chunk.end):
                moved.append(IndexedChunk(old.id, index, chunk.start, chunk.end, digest, context))
        else:
            added.append(AddedChunk(index, chunk.start, chunk.end, chunk.text, digest, context))
    removed = tuple(sorted(old.id for left in kept.values() for old in left))
    return IndexChange(removed, tuple(moved), tuple(added))


def terms_of(chunk: AddedChunk) -> Terms:
    """Analyse the text of a chunk.

    This is most of the work of indexing, so a large file is analysed in steps.
    """
    return {TEXT: analyze(chunk.text), CONTEXT: analyze(chunk.context)}


def context_of(path: FilePath, chunk: Chunk) -> str:
    """Return the path and the headings above a chunk, as words."""
    return "\n".join((path.replace("/", " ").strip(), *chunk.headings))
