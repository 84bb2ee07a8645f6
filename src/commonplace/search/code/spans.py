"""Chunks along definitions: whole where they fit, split on blocks where not, joined where short.

Spans cover the file and start at line starts, except inside lines that are longer than a chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.search.chunk import MAX_BYTES, split
from commonplace.search.code.outline import CodeUnit
from commonplace.search.code.structure import LineIndex, Span

if TYPE_CHECKING:
    from tree_sitter import Node

SHORT_BYTES = 400  # a shorter definition is joined with its neighbour
JOINED_BYTES = 1200  # at most, of joined ones
MAX_BLOCK_DEPTH = 24  # below a definition: deeper blocks are cut at lines
SMALL_NODE_BYTES = 80  # not worth a cut inside
MAX_NAMES = 8  # of joined definitions in the context of a chunk
_BLANK_LINES = re.compile(rb"(?:[ \t\r]*\n)+")


@dataclass(slots=True)
class _Piece:
    start: int
    end: int
    unit: CodeUnit  # the definition that it is or belongs to
    parent: CodeUnit
    continued: bool = False  # does not start with its definition

    @property
    def size(self) -> int:
        return self.end - self.start


class SpanMaker:
    """Cuts one file."""

    def __init__(
        self,
        source: bytes,
        lines: LineIndex,
        comments: tuple[str, ...],
        root: Node | None = None,
        edges: tuple[int, ...] = (),
    ) -> None:
        """`comments`: how lines above a definition start that belong to it.

        `edges`: bytes where the text is cut before any block of the tree.
        """
        self._source = source
        self._lines = lines
        self._comments = tuple(mark.encode() for mark in comments)
        self._root = root
        self._edges = edges

    def spans(self, file: CodeUnit) -> tuple[Span, ...]:
        """Return the spans of a file, in order."""
        if len(self._source) <= MAX_BYTES:
            whole = _Piece(0, len(self._source), file, file)
            return (_span([whole], file.units),) if self._source else ()
        pieces = list(self._pieces(file, file, 0, len(self._source)))
        return tuple(_span(group, []) for group in _joined(pieces))

    def _pieces(self, unit: CodeUnit, parent: CodeUnit, start: int, end: int) -> Iterator[_Piece]:
        """Yield the pieces of a unit: the units inside it, and the text between them."""
        at = start
        begun = False
        for inner in unit.units:
            inner_start = min(max(self._start_with_comments(inner.start, at), at), end)
            inner_end = min(max(self._after(inner.end, end), inner_start), end)
            if inner_end <= at:  # on the line of the one before it
                continue
            if inner_start > at:
                yield from self._text(unit, parent if not begun else unit, at, inner_start, begun)
                begun = True
            if inner_end - inner_start <= MAX_BYTES:
                yield _Piece(inner_start, inner_end, inner, unit)
            else:
                yield from self._pieces(inner, unit, inner_start, inner_end)
            at, begun = inner_end, True
        if at < end:
            yield from self._text(unit, parent if not begun else unit, at, end, begun)

    def _after(self, offset: int, end: int) -> int:
        """Return the start of the next line with text after a definition."""
        at = self._lines.after(offset)
        blank = _BLANK_LINES.match(self._source, at, end)
        return blank.end() if blank else at

    def _text(
        self, unit: CodeUnit, parent: CodeUnit, start: int, end: int, continued: bool
    ) -> Iterator[_Piece]:
        """Yield text of a unit without units inside, cut on its blocks where it is too long."""
        if end - start <= MAX_BYTES:
            yield _Piece(start, end, unit, parent, continued)
            return
        edges = self._block_starts(start, end)
        while end - start > MAX_BYTES:
            edge = _best_edge(edges, start)
            if edge is None:
                break
            yield _Piece(start, edge, unit, parent, continued)
            start, continued = edge, True
        if end - start <= MAX_BYTES:
            yield _Piece(start, end, unit, parent, continued)
            return
        for chunk in split(self._source[start:end].decode(errors="replace")):
            yield _Piece(start + chunk.start, start + chunk.end, unit, parent, continued)
            continued = True

    def _start_with_comments(self, start: int, least: int) -> int:
        """Return the start of the first line of comments directly above a definition."""
        line = self._lines.line_of(start)
        first = self._lines.start_of(line)
        while line > 1:
            above = self._lines.start_of(line - 1)
            text = self._source[above : min(first, above + 200)].strip()
            if above < least or not text.startswith(self._comments):
                break
            line, first = line - 1, above
        return first

    def _block_starts(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return where statements start lines in a range, each with its depth."""
        first, last = bisect_right(self._edges, start), bisect_left(self._edges, end)
        found: dict[int, int] = {
            self._lines.start_of(self._lines.line_of(edge)): -1 for edge in self._edges[first:last]
        }
        found.pop(self._lines.start_of(self._lines.line_of(start)), None)
        if self._root is None:
            return sorted(found.items())
        inner = self._root.descendant_for_byte_range(start, end - 1)
        cursor = (inner or self._root).walk()
        depth = 0
        while True:
            node = cursor.node
            assert node is not None
            inside = node.start_byte < end and node.end_byte > start
            if inside and node.is_named and node.start_byte > start:
                line_start = self._lines.start_of(self._lines.line_of(node.start_byte))
                if line_start > start and not self._source[line_start : node.start_byte].strip():
                    found.setdefault(line_start, depth)
            large = node.end_byte - node.start_byte > SMALL_NODE_BYTES
            if inside and large and depth < MAX_BLOCK_DEPTH and cursor.goto_first_child():
                depth += 1
                continue
            while node.start_byte >= end or not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return sorted(found.items())
                depth -= 1
                node = cursor.node
                assert node is not None


def _best_edge(edges: list[tuple[int, int]], start: int) -> int | None:
    """Return the last of the outermost block starts that leave a piece of fitting size."""
    best: tuple[int, int] | None = None
    for at, depth in edges:
        if at > start + MAX_BYTES:
            break
        if at >= start + MAX_BYTES // 3 and (best is None or depth <= best[1]):
            best = (at, depth)
    return best[0] if best else None


def _joined(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """Yield groups of neighbouring short pieces below one definition."""
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        fits = group and (
            size + piece.size <= JOINED_BYTES
            and min(size, piece.size) < SHORT_BYTES
            and (
                piece.parent is group[0].parent
                or piece.unit is group[0].parent
                or piece.parent is group[0].unit
            )
        )
        if group and not fits:
            yield group
            group, size = [], 0
        group.append(piece)
        size += piece.size
    if group:
        yield group


def _span(group: list[_Piece], units: list[CodeUnit]) -> Span:
    """Return the span of a group; its symbol is the definition with most of its bytes."""
    main = max(group, key=lambda piece: (bool(piece.unit.qualified), piece.size)).unit
    if not main.qualified and units:
        main = max(units, key=lambda unit: unit.end - unit.start)
    names = dict.fromkeys(
        [piece.unit.qualified for piece in group] + [unit.qualified for unit in units]
    )
    named = [name for name in names if name][:MAX_NAMES]
    headings = (" ".join(named),) if named else ()
    if group[0].continued and group[0].unit.signature:
        headings = (group[0].unit.signature, *headings)
    return Span(group[0].start, group[-1].end, main.qualified, main.kind, headings)
