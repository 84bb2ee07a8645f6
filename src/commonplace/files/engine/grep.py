"""Lines of a file that match a literal or an RE2 pattern.

A match never crosses a line break, and RE2 runs in linear time: a file is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol

from commonplace.files.errors import INVALID_QUERY
from commonplace.files.model import FilePath, LineMatch, Slice
from commonplace.kernel.errors import CommonplaceError

MAX_PATTERN_BYTES = 1_000
MAX_PATTERN_MEMORY = 8 << 20
MAX_LINE_CHARACTERS = 400


class Match(Protocol):
    """A match of RE2."""

    def span(self) -> tuple[int, int]: ...


class Pattern(Protocol):
    """A compiled pattern of RE2, which has no type stubs."""

    def search(self, text: bytes, pos: int = 0, /) -> Match | None: ...


def compile_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> Pattern:
    """Return a compiled RE2 pattern over bytes; INVALID_QUERY."""
    import re2

    if not pattern or len(pattern.encode("utf-8", "replace")) > MAX_PATTERN_BYTES:
        raise CommonplaceError(
            INVALID_QUERY, f"pattern: 1 to {MAX_PATTERN_BYTES} bytes.", details={"field": "pattern"}
        )
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_PATTERN_MEMORY
    options.never_nl = True
    options.literal = literal
    options.case_sensitive = not ignore_case
    source = pattern if literal else f"(?m){pattern}"
    try:
        compiled: Pattern = re2.compile(source.encode(), options)
        return compiled
    except (re2.error, UnicodeEncodeError) as invalid:
        raise CommonplaceError(
            INVALID_QUERY,
            f"pattern: {_reason(invalid)}.",
            hint="The syntax is RE2 (no look-around, no back-references); pass literal=true to "
            "search for the text as it is.",
            details={"field": "pattern"},
        ) from invalid


def _reason(invalid: Exception) -> str:
    reason = invalid.args[0] if invalid.args else invalid
    return (reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason))[:200]


def scan_files(
    pattern: Pattern,
    files: Sequence[Slice],
    most: int,
    context: int,
    check: Callable[[], None],
) -> tuple[list[tuple[FilePath, LineMatch]], int]:
    """Return up to `most` matching lines, and how many files were read for them.

    `context` is how many lines to show before and after each. `check` is called before each file
    and may raise.
    """
    found: list[tuple[FilePath, LineMatch]] = []
    for number, file in enumerate(files, 1):
        check()
        room = most - len(found)
        matches = list(islice(matching_lines(pattern, file.content), room))
        if context:
            matches = add_context(file.content, matches, context)
        found += [(file.entry.path, match) for match in matches]
        if len(found) == most:
            return found, number
    return found, len(files)


def add_context(content: bytes, matches: Sequence[LineMatch], context: int) -> list[LineMatch]:
    """Return the matches of a file with the lines around them; no line is shown twice."""
    widened = []
    last = 0  # the last line that is shown
    for at, match in enumerate(matches):
        following = matches[at + 1].line if at + 1 < len(matches) else None
        room = context if following is None else min(context, following - match.line - 1)
        before = _lines_before(content, match.start, min(context, match.line - 1 - last))
        after = _lines_after(content, match.start, room)
        last = match.line + len(after)
        widened.append(replace(match, before=tuple(before), after=tuple(after)))
    return widened


def _lines_before(content: bytes, start: int, most: int) -> list[str]:
    lines: list[str] = []
    end = content.rfind(b"\n", 0, start)  # the line break before the line of the match
    while end >= 0 and len(lines) < most:
        first = content.rfind(b"\n", 0, end) + 1
        lines.append(_cut_line(content, first, end, first))
        end = first - 1
    return lines[::-1]


def _lines_after(content: bytes, start: int, most: int) -> list[str]:
    lines: list[str] = []
    first = content.find(b"\n", start) + 1
    while 0 < first < len(content) and len(lines) < most:
        end = content.find(b"\n", first)
        end = len(content) if end < 0 else end
        lines.append(_cut_line(content, first, end, first))
        first = end + 1
    return lines


def matching_lines(pattern: Pattern, content: bytes) -> Iterator[LineMatch]:
    """Yield each matching line once; it ends before LF or CR LF."""
    return (
        _line_by_line(pattern, content) if b"\r\n" in content else _match_content(pattern, content)
    )


def _match_content(pattern: Pattern, content: bytes) -> Iterator[LineMatch]:
    line, counted, at = 1, 0, 0
    while at <= len(content):
        found = pattern.search(content, at)
        if found is None:
            return
        start, end = found.span()
        if start == end == len(content) and (not content or content.endswith(b"\n")):
            return  # an empty match after the last line break
        line += content.count(b"\n", counted, start)
        counted = start
        first = content.rfind(b"\n", 0, start) + 1
        last = content.find(b"\n", start)
        last = len(content) if last < 0 else last
        yield LineMatch(line, start, end, _cut_line(content, first, last, start))
        at = last + 1


def _line_by_line(pattern: Pattern, content: bytes) -> Iterator[LineMatch]:
    """Match each line by itself: RE2 does not treat CR LF as a line break."""
    first, line = 0, 1
    while first < len(content):
        after = content.find(b"\n", first)
        after = len(content) if after < 0 else after
        last = after - 1 if content[first:after].endswith(b"\r") and after < len(content) else after
        found = pattern.search(content[first:last])
        if found is not None:
            start, end = found.span()
            yield LineMatch(
                line, first + start, first + end, _cut_line(content, first, last, first + start)
            )
        first, line = after + 1, line + 1


def _cut_line(content: bytes, first: int, last: int, start: int) -> str:
    if last - first <= MAX_LINE_CHARACTERS:
        return content[first:last].decode("utf-8", "ignore").rstrip("\r")
    begin = max(first, min(start - MAX_LINE_CHARACTERS // 4, last - MAX_LINE_CHARACTERS))
    end = min(last, begin + MAX_LINE_CHARACTERS)
    text = content[begin:end].decode("utf-8", "ignore").rstrip("\r")
    return ("…" if begin > first else "") + text + ("…" if end < last else "")
