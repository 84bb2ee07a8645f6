"""Passages of code and prose: completed to whole functions, without leading imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.kernel.json_types import Json

LONGEST_FUNCTION = 80  # lines; of a longer one only the lines that were found are shown
LEAST_LINES = 2
_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|\}\s*from\s|#include\b|using\s+[\w.]+;|package\s+[\w.]+"
    r"|use\s+[\w:{}, ]+;|(?:const|var|let)\s.*\brequire\()"
)
_IMPORTED = re.compile(r"\s+[\w$.*, ]+,?\s*$|\s*[)}]")  # a name of an import over several lines
_DEFINITION = re.compile(
    r"\s*(?:@|(?:export|public|private|static|async|pub|abstract|final)\s|def\b|class\b|func\b|fn\b"
    r"|function\b|struct\b|enum\b|interface\b|trait\b|impl\b|type\b)"
)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_COMPOUND = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z0-9][A-Z]|^[A-Z]{2,}[a-z]")

LineRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage by its bytes; after it is completed, by its lines and its text."""

    at: int  # place in the ranking
    path: str
    start: int
    end: int
    lines: LineRange = (0, 0)
    text: str = ""


def complete_passages(
    passages: Iterable[PassageText],
    contents: Mapping[str, bytes],
    functions: Mapping[str, Sequence[LineRange]],
    *,
    imports: bool = False,
) -> list[PassageText]:
    """Return the passages with whole functions, each line of a file once, best first.

    They keep leading imports only if `imports`.
    """
    taken: dict[str, set[int]] = {}
    split: dict[str, list[str]] = {}  # a file often has several passages
    completed: list[PassageText] = []
    for passage in passages:
        content = contents[passage.path]
        first = content.count(b"\n", 0, passage.start) + 1
        inner = content[passage.start : passage.end].rstrip(b"\n")
        lines = _complete((first, first + inner.count(b"\n")), functions.get(passage.path, ()))
        rows = split.get(passage.path)
        if rows is None:
            rows = split[passage.path] = content.decode("utf-8", "replace").split("\n")
        covered = taken.setdefault(passage.path, set())
        chosen = longest_run(_trim(rows, lines, imports=imports), covered)
        if chosen is None:
            continue
        covered.update(range(chosen[0], chosen[1] + 1))
        text = "\n".join(rows[chosen[0] - 1 : chosen[1]])
        completed.append(
            PassageText(passage.at, passage.path, passage.start, passage.end, chosen, text)
        )
    return completed


def _complete(lines: LineRange, functions: Sequence[LineRange]) -> LineRange:
    first, last = lines
    for start, end in functions:
        if end - start < LONGEST_FUNCTION and start <= last and end >= first:
            first, last = min(first, start), max(last, end)
    return first, last


def _trim(rows: Sequence[str], lines: LineRange, *, imports: bool) -> LineRange:
    """Leave out blank ends, and what stands before the last of the imports at the start."""
    first, last = lines[0], min(lines[1], len(rows))
    while last > first and not rows[last - 1].strip():
        last -= 1
    if imports:
        return first, last
    start = first
    for line in range(first, last + 1):
        row = rows[line - 1]
        if _DEFINITION.match(row) and not _IMPORT.match(row):
            break
        if _IMPORT.match(row):
            start = line + 1
    while first < start < last and (
        not rows[start - 1].strip() or _IMPORTED.match(rows[start - 1])
    ):
        start += 1
    return (start, last) if last - start + 1 > LEAST_LINES else (first, last)


def longest_run(lines: LineRange, covered: set[int]) -> LineRange | None:
    """Return the longest part that no better passage has; None if too little is left."""
    best: LineRange | None = None
    start: int | None = None
    for line in range(lines[0], lines[1] + 2):
        is_free = line <= lines[1] and line not in covered
        if is_free and start is None:
            start = line
        if not is_free and start is not None:
            if best is None or line - start > best[1] - best[0] + 1:
                best = (start, line - 1)
            start = None
    return best


def is_distinctive(reasons: Mapping[str, Json]) -> bool:
    """Tell whether a passage has what the task names: an exact text, a path, or a compound name.

    A common word that happens to be the name of a function or file is not enough, nor is a number.
    """
    if _LETTERS.search(str(reasons.get("exact", ""))):
        return True
    defined = reasons.get("defines")
    return isinstance(defined, list) and any(_COMPOUND.search(str(name)) for name in defined)
