"""The part of a file that a page shows: at most WINDOW_BYTES, with the lines of a passage."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.console.page import Page
from commonplace.console.pages.files.places import Place
from commonplace.kernel.json_types import JsonObject

WINDOW_BYTES = 150_000
HIGHLIGHT_CHARS = 48_000  # more would take longer than a page may
MAX_EDIT_BYTES = 1_000_000
BEFORE_BYTES = 4000  # shown before a passage of a large file
MARKDOWN = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Window:
    """A range of a file's bytes as text, with the number of its first line."""

    text: str
    start: int
    end: int
    size: int
    content_hash: str
    first_line: int = 1
    hit_first: int = 0
    hit_last: int = 0

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end >= self.size

    @property
    def previous_offset(self) -> int | None:
        return max(0, self.start - WINDOW_BYTES) if self.start > 0 else None

    @property
    def next_offset(self) -> int | None:
        return self.end if self.end < self.size else None


async def read_window(
    page: Page, place: Place, offset: int = 0, span: tuple[int, int] | None = None
) -> Window:
    """Read the part of a file around a byte or a passage. Raises CallFailed."""
    start = offset
    if span is not None:
        start = 0 if span[1] <= WINDOW_BYTES else max(0, span[0] - BEFORE_BYTES)
    read: JsonObject = await page.ask(
        "file_read", {**place.arguments, "offset": start, "length": WINDOW_BYTES}
    )
    first_line = 1 + await _count_lines_before(page, place, read["file_seek_start_bytes"])
    text = str(read["content"])
    begins = int(read["file_seek_start_bytes"])
    hits = lines_of_span(text, begins, span) if span is not None else None
    return Window(
        text,
        begins,
        int(read["file_seek_end_bytes"]),
        int(read["size"]),
        str(read["content_hash"]),
        first_line,
        first_line + hits[0] if hits else 0,
        first_line + hits[1] if hits else 0,
    )


async def _count_lines_before(page: Page, place: Place, offset: int) -> int:
    if offset <= 0:
        return 0
    before = await page.ask("file_read", {**place.arguments, "offset": 0, "length": offset})
    return str(before["content"]).count("\n")


def lines_of_span(text: str, begins: int, span: tuple[int, int]) -> tuple[int, int] | None:
    """Return the first and last line of a range of bytes, counted from 0 within the text."""
    raw = text.encode()
    start, end = max(0, span[0] - begins), min(len(raw), span[1] - begins)
    if start >= end:
        return None
    passage = raw[start:end].rstrip(b"\r\n") or raw[start:end]
    first = raw.count(b"\n", 0, start)
    return first, first + passage.count(b"\n")


def is_editable(text: str, size: int) -> bool:
    """Whether a text survives a text area: browsers replace NUL characters."""
    return size <= MAX_EDIT_BYTES and "\0" not in text


def language_of(place: Place, text: str) -> str:
    """Return what chooses the highlighting; empty for a text that is too long for it."""
    return place.name if "." in place.name and len(text) <= HIGHLIGHT_CHARS else ""


def is_markdown(place: Place) -> bool:
    return place.name.lower().endswith(MARKDOWN)
