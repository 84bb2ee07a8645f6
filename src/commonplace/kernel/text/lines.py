"""Lines of a text, counted as editors do: from 1, ended by a line feed alone."""

from __future__ import annotations

from typing import AnyStr


def cut_lines(text: str, first: int, last: int) -> str:
    """Return the lines from `first` to `last`, both included, with their ends; "" if none."""
    start = _line_start(text, "\n", first, 0, 1)
    return text[start : _line_start(text, "\n", last + 1, start, first)]


def line_span(content: bytes, first: int, last: int | None) -> tuple[int, int]:
    """Return the bytes from line `first` to line `last`, ends included; None is the last line.

    Beyond the last line both are the size of the content.
    """
    start = _line_start(content, b"\n", first, 0, 1)
    if last is None:
        return start, len(content)
    return start, _line_start(content, b"\n", last + 1, start, first)


def count_lines(content: bytes) -> int:
    """Return how many lines there are; the last one may lack its line feed."""
    return content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


def _line_start(text: AnyStr, feed: AnyStr, line: int, position: int, at: int) -> int:
    """Return where a line starts, counted on from a position that starts the line `at`."""
    while at < line:
        end = text.find(feed, position)
        if end < 0:
            return len(text)
        position, at = end + 1, at + 1
    return position
