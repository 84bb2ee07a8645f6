"""Values of code structure: definitions, references, imports, and where chunks start.

Offsets are bytes of the UTF-8 text, lines count from 1, and both ends of a range of lines belong to
it. A qualified name joins the names of the enclosing definitions with dots, whatever the language.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

MAX_DEFINITIONS = 4_000
MAX_REFERENCES = 4_000  # distinct names
MAX_REFERENCE_LINES = 32  # of one name in one file
MAX_IMPORTS = 500
MAX_NAME_CHARACTERS = 128
MAX_QUALIFIED_CHARACTERS = 256
MAX_SIGNATURE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Definition:
    """A named part of a file."""

    name: str
    qualified: str
    kind: str
    start: int
    end: int
    start_line: int
    end_line: int
    line: int  # of the name
    signature: str


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a file uses a name: up to MAX_REFERENCE_LINES lines, and those of calls among them."""

    name: str
    lines: tuple[int, ...]
    calls: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """What a file imports, as it is written, and on which line."""

    target: str
    line: int


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk: its bytes, the definition that it belongs to, and the context above it."""

    start: int
    end: int
    symbol: str = ""
    kind: str = ""
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """What a file defines and uses, and its chunks.

    Without `spans` the text is cut without its structure.
    """

    language: str = ""
    spans: tuple[Span, ...] = ()
    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = ()
    note: str = ""  # why the structure is not used or not complete


class LineIndex:
    """Lines of a text by byte offset. Only `\\n` ends a line."""

    def __init__(self, source: bytes) -> None:
        sizes = (len(line) + 1 for line in source.split(b"\n"))
        self.starts = list(accumulate(sizes, initial=0))[:-1]
        self._size = len(source)

    def line_of(self, offset: int) -> int:
        """Return the number of the line with this byte."""
        return bisect_right(self.starts, offset)

    def last_line_of(self, start: int, end: int) -> int:
        """Return the number of the line with the last byte of a range."""
        return self.line_of(max(start, end - 1))

    def start_of(self, line: int) -> int:
        """Return the first byte of a line; the size of the text beyond the last one."""
        return self.starts[line - 1] if line <= len(self.starts) else self._size

    def after(self, offset: int) -> int:
        """Return the start of the line after the byte before `offset`."""
        return self.start_of(self.line_of(max(0, offset - 1)) + 1)
