"""Sections of Markdown: headings with their trail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.search.code.structure import (
    MAX_DEFINITIONS,
    MAX_NAME_CHARACTERS,
    MAX_QUALIFIED_CHARACTERS,
    MAX_SIGNATURE_CHARACTERS,
    Definition,
    Structure,
)

_HEADING = re.compile(rb"(#{1,6})[ \t]+(\S.*?)[ \t]*#*\s*$")
_FENCE = re.compile(rb"[ \t]{0,3}(```+|~~~+)")
SECTION = "section"
JOINER = " > "


def read_markdown(source: bytes) -> Structure:
    """Return the sections of a text. Its chunks are those of the plain chunker."""
    found = list(_headings(source))[:MAX_DEFINITIONS]
    total_lines = source.count(b"\n") + (not source.endswith(b"\n"))
    definitions = []
    trail: list[tuple[int, str]] = []
    for number, (at, line, level, title) in enumerate(found):
        trail = [item for item in trail if item[0] < level] + [(level, title)]
        following = next((later for later in found[number + 1 :] if later[2] <= level), None)
        end, end_line = (
            (following[0], following[1] - 1) if following else (len(source), total_lines)
        )
        definitions.append(
            Definition(
                title[:MAX_NAME_CHARACTERS],
                JOINER.join(name for _, name in trail)[:MAX_QUALIFIED_CHARACTERS],
                SECTION,
                at,
                end,
                line,
                end_line,
                line,
                f"{'#' * level} {title}"[:MAX_SIGNATURE_CHARACTERS],
            )
        )
    return Structure("markdown", definitions=tuple(definitions))


def _headings(source: bytes) -> Iterator[tuple[int, int, int, str]]:
    """Yield the offset, line, level and title of each heading outside code blocks."""
    at = 0
    fence = b""
    for number, line in enumerate(source.split(b"\n"), 1):
        marker = _FENCE.match(line)
        if marker is not None:
            mark = marker.group(1)
            fence = b"" if fence and mark.startswith(fence) else fence or mark
        elif not fence and line[:1] == b"#":
            found = _HEADING.match(line)
            if found is not None:
                yield at, number, len(found.group(1)), found.group(2).decode(errors="replace")
        at += len(line) + 1
