"""Cut a text to a number of tokens on whole lines, and say where it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from commonplace.kernel.text.lines import cut_lines

CHARACTERS = 12  # of a token at most, so far as a text is looked at; texts have 2 to 4
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text by bytes; `first` and `last` are its lines if it is made of whole ones."""

    text: str
    start: int
    end: int
    first: int = 0
    last: int = 0


def select_part(
    text: str, span: tuple[int, int] | None = None, lines: tuple[int, int] | None = None
) -> TextPart:
    """Return the part of a text that bytes or lines name, of whole characters; else all of it."""
    if span is not None:
        raw = text.encode()
        start = _character_start(raw, min(span[0], len(raw)))
        end = max(start, _character_start(raw, min(span[1], len(raw))))
        whole = raw[start - 1 : start] in (b"", b"\n") and (
            end == len(raw) or raw[end - 1 : end] == b"\n"
        )
        first = raw.count(b"\n", 0, start) + 1 if whole else 0
        return _make_part(raw[start:end].decode(), start, first)
    first, last = lines or (1, text.count("\n") + 1)
    shown = cut_lines(text, first, last)
    start = len(cut_lines(text, 1, first - 1).encode())
    return _make_part(shown, start, first)


def fit_part(part: TextPart, most: int, count: Count) -> tuple[TextPart, TextPart | None]:
    """Return the beginning of a part within `most` tokens, and what is left.

    It ends with a line, or within one that does not fit as a whole.
    """
    window = part.text[: max(0, most) * CHARACTERS]
    if len(window) == len(part.text) and count(window) <= most:
        return part, None
    ends = [at + 1 for at, character in enumerate(window) if character == "\n"]
    number = _most_that_fit(len(ends), lambda number: count(window[: ends[number - 1]]) <= most)
    size, first = ends[number - 1] if number else 0, part.first
    if not size:  # not even one line
        size = _most_that_fit(len(window), lambda size: count(window[:size]) <= most)
        first = 0
    shown = _make_part(part.text[:size], part.start, first)
    if size == len(part.text):
        return shown, None
    return shown, _make_part(part.text[size:], shown.end, shown.last + 1 if first else 0)


def _make_part(text: str, start: int, first: int) -> TextPart:
    """Return a part; `first` is 0 unless it begins and ends with a line."""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    last = first + lines - 1 if first else 0
    return TextPart(text, start, start + len(text.encode()), first, last)


def _most_that_fit(most: int, fits: Callable[[int], bool]) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _character_start(raw: bytes, position: int) -> int:
    """Return the next position that starts a character."""
    while position < len(raw) and 0x80 <= raw[position] < 0xC0:
        position += 1
    return position
