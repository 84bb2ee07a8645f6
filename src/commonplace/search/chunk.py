"""Text to chunks along its structure: headings, paragraphs, code blocks, lines.

Chunks cover the text; offsets are exact UTF-8 bytes. Boundaries depend on the text near them (a
heading, or a block chosen by its checksum), not on the distance from the start: an edit moves only
the boundaries beside it, and unchanged regions give the same chunks again.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BYTES = 1600  # about what a small embedding model reads at once
ANCHOR_FROM_BYTES = 800  # a longer chunk may end before an anchor block
HEADING_FROM_BYTES = 300  # shorter sections stay with their neighbour
ANCHOR_ONE_IN = 4
MAX_HEADINGS_CHARACTERS = 200

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t]*#*\s*$")
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_TOP_LEVEL = re.compile(r"[A-Za-z_@\"'<\[{(/#*$-]")
_GAP = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The bytes `[start, end)` as `text`, and the headings above them, outermost first.

    `symbol` is the definition or section that most of it belongs to; lines count from 1, and 0
    means that nobody counted them.
    """

    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()
    symbol: str = ""
    kind: str = ""
    start_line: int = 0
    end_line: int = 0


@dataclass(slots=True)
class _Block:
    text: str
    size: int
    level: int = 0  # of the heading that opens it; 0 = none
    title: str = ""


def split(text: str) -> list[Chunk]:
    """Return the chunks of a text, in order; a short text is one chunk, an empty one none."""
    chunks: list[Chunk] = []
    parts: list[str] = []
    start = size = 0
    trail: list[tuple[int, str]] = []
    under: tuple[str, ...] = ()
    whole = len(text) <= MAX_BYTES and len(text.encode()) <= MAX_BYTES
    for block in _blocks(text):
        if parts and not whole and _ends_before(block, size):
            chunks.append(Chunk(start, start + size, "".join(parts), under))
            start, size, parts = start + size, 0, []
        if block.level:
            trail = [item for item in trail if item[0] < block.level] + [(block.level, block.title)]
        if not parts:
            under = _titles(trail)
        parts.append(block.text)
        size += block.size
    if parts:
        chunks.append(Chunk(start, start + size, "".join(parts), under))
    return chunks


def _ends_before(block: _Block, size: int) -> bool:
    if size + block.size > MAX_BYTES:
        return True
    if block.level and size >= HEADING_FROM_BYTES:
        return True
    return size >= ANCHOR_FROM_BYTES and zlib.crc32(block.text[:80].encode()) % ANCHOR_ONE_IN == 0


def _titles(trail: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title[:MAX_HEADINGS_CHARACTERS] for _, title in trail)


def _blocks(text: str) -> Iterator[_Block]:
    """Yield headings, paragraphs and code blocks; oversized ones as lines or pieces of lines."""
    lines: list[str] = []
    heading: tuple[int, str] = (0, "")
    fence = ""
    blank = indented = False
    for line in _lines(text):
        marker = _FENCE.match(line)
        found = None if fence or line[0] != "#" else _HEADING.match(line)
        opens_code = marker is not None and not fence
        top_level = blank or (indented and _TOP_LEVEL.match(line) is not None)
        is_blank = line.isspace()
        if lines and not fence and not is_blank and (found or opens_code or top_level):
            yield from _fit(lines, heading)
            lines, heading = [], (0, "")
        if found:
            heading = (len(found.group(1)), found.group(2))
        if marker is not None:
            fence = "" if fence and marker.group(1).startswith(fence) else fence or marker.group(1)
        lines.append(line)
        blank, indented = is_blank, line[0] in " \t" and not is_blank
    if lines:
        yield from _fit(lines, heading)


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends.

    Only `\\n` ends a line: other separators, and a lone carriage return, are text.
    """
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        yield text[at:end]
        at = end


def _fit(lines: list[str], heading: tuple[int, str]) -> Iterator[_Block]:
    joined = "".join(lines)
    size = len(joined) if joined.isascii() else len(joined.encode())
    if size <= MAX_BYTES:
        yield _Block(joined, size, *heading)
        return
    for line in lines:
        size = len(line) if line.isascii() else len(line.encode())
        for piece in [line] if size <= MAX_BYTES else _pieces(line):
            yield _Block(piece, len(piece.encode()), *heading)
            heading = (0, "")


def _pieces(line: str) -> Iterator[str]:
    """Yield the pieces of an oversized line, cut at white space if there is any."""
    room = MAX_BYTES if line.isascii() else MAX_BYTES // 4  # a character has up to four bytes
    at = 0
    while len(line) - at > room:
        end = at + room
        gaps = [gap.end() for gap in _GAP.finditer(line, at + room // 2, end)]
        # the gap with the least checksum around it: the same place whatever comes before
        if gaps:
            end = min(gaps, key=lambda gap: (zlib.crc32(line[gap - 8 : gap + 16].encode()), gap))
        yield line[at:end]
        at = end
    if at < len(line):
        yield line[at:]
