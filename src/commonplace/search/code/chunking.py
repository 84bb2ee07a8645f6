"""Chunks of a file: along its structure, or as text where there is none."""

from __future__ import annotations

from commonplace.search.chunk import Chunk, split
from commonplace.search.code.structure import LineIndex, Structure

CHUNKER_VERSION = 4  # raise it when the same text gives other chunks, definitions or references
"""1 was the chunker of plain text alone."""


def split_source(source: bytes, structure: Structure | None = None) -> list[Chunk]:
    """Return the chunks of a UTF-8 text, in order, with their symbols and lines."""
    lines = LineIndex(source)
    if structure is not None and structure.spans:
        return [
            Chunk(
                span.start,
                span.end,
                source[span.start : span.end].decode(),
                span.headings,
                span.symbol,
                span.kind,
                lines.line_of(span.start),
                lines.last_line_of(span.start, span.end),
            )
            for span in structure.spans
        ]
    chunks = []
    sections = structure.definitions if structure is not None else ()
    for chunk in split(source.decode()):
        symbol = " > ".join(chunk.headings) if sections else ""
        chunks.append(
            Chunk(
                chunk.start,
                chunk.end,
                chunk.text,
                chunk.headings,
                symbol,
                "section" if symbol else "",
                lines.line_of(chunk.start),
                lines.last_line_of(chunk.start, chunk.end),
            )
        )
    return chunks
