"""The structure of a source file: read by its grammar, or the reason why not."""

from __future__ import annotations

from commonplace.search.code.languages import EXTRA, LANGUAGES, MARKDOWN
from commonplace.search.code.markdown import read_markdown
from commonplace.search.code.outline import outline_of, references_of
from commonplace.search.code.spans import SpanMaker
from commonplace.search.code.structure import LineIndex, Structure
from commonplace.search.code.syntax import MAX_BROKEN_SHARE, read_syntax

MAX_SOURCE_BYTES = 1_000_000
LONG_LINE_BYTES = 400  # on average: minified or generated text, not written by a person
_SECOND_TRIES = {"c": "cpp"}  # a header `.h` may be either
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
    syntax = read_syntax(language, source)
    if syntax.broken and language in _SECOND_TRIES:
        second = read_syntax(_SECOND_TRIES[language], source)
        syntax = second if second.broken < syntax.broken else syntax
    if syntax.broken > MAX_BROKEN_SHARE:
        return Structure(language, note="the grammar cannot read most of it")
    lines = LineIndex(source)
    definitions, file = outline_of(source, syntax.definitions, lines)
    references, imports = references_of(source, syntax.names, definitions, lines)
    maker = SpanMaker(source, lines, LANGUAGES[language].comments, syntax.root)
    return Structure(language, maker.spans(file), tuple(definitions), references, imports)
