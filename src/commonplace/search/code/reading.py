"""The structure of a source file: read by its grammar, or the reason why not."""

from __future__ import annotations

from commonplace.search.code.languages import EXTRA, LANGUAGES, MARKDOWN
from commonplace.search.code.markdown import read_markdown
from commonplace.search.code.outline import outline_of, references_of
from commonplace.search.code.recovery import read_tolerantly
from commonplace.search.code.spans import SpanMaker
from commonplace.search.code.structure import LineIndex, Structure

MAX_SOURCE_BYTES = 1_000_000
LONG_LINE_BYTES = 400  # on average: minified or generated text, not written by a person
UNREADABLE = "the grammar cannot read most of it"
MISSING = f"the grammar is not installed; install {EXTRA}"


def obstacle(language: str, source: bytes) -> str:
    """Return why a file is not read by its grammar; empty if nothing speaks against it."""
    if language not in LANGUAGES:
        return "no grammar for this kind of file"
    if not LANGUAGES[language].installed:
        return MISSING
    if len(source) > MAX_SOURCE_BYTES:
        return f"larger than {MAX_SOURCE_BYTES} bytes"
    if len(source) > LONG_LINE_BYTES * (source.count(b"\n") + 1):
        return "minified: its lines are too long"
    return ""


def read_structure(language: str, source: bytes) -> Structure:
    """Return the structure of a file whose text is trusted to be parsed in this process.

    Raises what a parser raises; takes as long as the parser takes.
    """
    if language == MARKDOWN:
        return read_markdown(source)
    note = obstacle(language, source)
    if note:
        return Structure(language, note=note)
    syntax = read_tolerantly(language, source)
    if syntax is None:
        return Structure(language, note=UNREADABLE)
    lines = LineIndex(source)
    definitions, file = outline_of(source, syntax.definitions, lines)
    references, imports = references_of(source, syntax.names, definitions, lines)
    maker = SpanMaker(source, lines, LANGUAGES[language].comments, syntax.root, syntax.edges)
    return Structure(language, maker.spans(file), tuple(definitions), references, imports)
