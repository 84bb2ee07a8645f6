"""Index changes: which chunks of a changed file must be analysed again."""

from __future__ import annotations

import hashlib
from collections import defaultdict

from commonplace.files.model import (
    AddedChunk,
    FilePath,
    IndexChange,
    IndexedChunk,
    Source,
    Terms,
)
from commonplace.files.symbols import FileSymbols
from commonplace.search.chunk import Chunk
from commonplace.search.code.chunking import split_source
from commonplace.search.code.reading import MISSING
from commonplace.search.code.structure import Structure
from commonplace.search.lexical.text import ANALYSIS_VERSION, analyze

TEXT = "text"
CONTEXT = "context"
WEIGHTS = {TEXT: 1.0, CONTEXT: 0.4}
"""The search fields of a chunk: its own text, and the words of its path and headings."""


def difference(path: FilePath, source: Source, structure: Structure | None = None) -> IndexChange:
    """Compare the chunks a file should have with those it has.

    Equal chunks keep their id and only move; if their words were made by an older text analysis,
    they are made again. Chunks of white space alone are left out: nobody can find them, and a model
    would embed nothing.
    """
    kept: dict[tuple[str, str], list[IndexedChunk]] = defaultdict(list)
    for old in reversed(source.indexed):
        kept[old.content_hash, old.context].append(old)  # popped from the end: first one first
    moved: list[IndexedChunk] = []
    added: list[AddedChunk] = []
    reworded: list[AddedChunk] = []
    chunks = (chunk for chunk in split_source(source.content, structure) if chunk.text.strip())
    for index, chunk in enumerate(chunks):
        digest = hashlib.sha256(chunk.text.encode()).hexdigest()
        context = context_of(path, chunk)
        place = (chunk.symbol, chunk.kind, chunk.start_line, chunk.end_line)
        same = kept.get((digest, context))
        if not same:
            added.append(
                AddedChunk(index, chunk.start, chunk.end, chunk.text, digest, context, *place)
            )
            continue
        old = same.pop()
        new = IndexedChunk(old.id, index, chunk.start, chunk.end, digest, context, *place)
        if new != old:
            moved.append(new)
        if source.analysis < ANALYSIS_VERSION:
            reworded.append(
                AddedChunk(
                    index, chunk.start, chunk.end, chunk.text, digest, context, *place, old.id
                )
            )
    removed = tuple(sorted(old.id for left in kept.values() for old in left))
    return IndexChange(removed, tuple(moved), tuple(added), tuple(reworded))


def symbols_of(path: FilePath, source: Source, structure: Structure) -> FileSymbols | None:
    """Return what the index keeps about a file beside its chunks; None if there is no file."""
    if source.content_hash is None:
        return None
    words = tuple(dict.fromkeys(analyze(path.replace("/", " "))))
    return FileSymbols(structure, words, structure.note == MISSING)


def terms_of(chunk: AddedChunk) -> Terms:
    """Analyse the text of a chunk.

    This is most of the work of indexing, so a large file is analysed in steps.
    """
    return {TEXT: analyze(chunk.text), CONTEXT: analyze(chunk.context)}


def context_of(path: FilePath, chunk: Chunk) -> str:
    """Return the path and the headings above a chunk, as words."""
    return "\n".join((path.replace("/", " ").strip(), *chunk.headings))
