"""Search of exact text: files page by page, without the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.files.checks import check_prefix, clamp_limit, invalid
from commonplace.files.engine.grep import compile_pattern, scan_files
from commonplace.files.engine.path_globs import PathGlobs
from commonplace.files.model import (
    FilePath,
    GrepResult,
    LineMatch,
    Project,
    is_prefix_of_paths,
)
from commonplace.files.store.protocol import FileStore

PAGE_FILES = 64
PAGE_BYTES = 4_000_000
MOST_MATCHES = 500
MOST_CONTEXT = 20
MOST_CHARACTERS = 400_000  # of all lines in an answer


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """What to look for, in which files, and how many lines to show around a match."""

    pattern: str
    prefix: str = ""
    literal: bool = False
    ignore_case: bool = False
    limit: int = 100
    context: int = 0
    globs: tuple[str, ...] = ()


async def grep_files(
    files: FileStore, tenant: str, project: Project, query: GrepQuery, check: Callable[[], None]
) -> GrepResult:
    """Return matching lines in path order.

    `check` may raise between files (deadline).
    """
    check_prefix(query.prefix)
    most, notes = clamp_limit("limit", query.limit, query.limit, MOST_MATCHES)
    if not 0 <= query.context <= MOST_CONTEXT:
        raise invalid("context", f"context is 0 to {MOST_CONTEXT} lines")
    pattern = compile_pattern(query.pattern, literal=query.literal, ignore_case=query.ignore_case)
    globs = PathGlobs(query.globs)
    prefix = _longer(query.prefix, globs.prefix)
    matches: list[tuple[FilePath, LineMatch]] = []
    searched, after = 0, ""
    while prefix is not None and is_prefix_of_paths(prefix):
        check()
        page = await files.after(tenant, project, prefix, after, PAGE_FILES, PAGE_BYTES)
        if not page:
            break
        wanted = [file for file in page if globs.match(file.entry.path)]
        room = most + 1 - len(matches)
        found, count = await asyncio.to_thread(
            scan_files, pattern, wanted, room, query.context, check
        )
        matches += found
        searched += count
        if len(matches) > most:
            break
        after = page[-1].entry.path
    fitting = _count_fitting(matches[:most])
    if fitting < min(len(matches), most):
        notes += (f"cut at {MOST_CHARACTERS:,} characters: ask for less context or fewer files",)
    return GrepResult(matches[:fitting], searched, len(matches) > fitting, notes)


def _longer(one: str, other: str) -> str | None:
    """Return the longer of two prefixes, None if no path has both."""
    short, long = sorted((one, other), key=len)
    return long if long.startswith(short) else None


def _count_fitting(matches: list[tuple[FilePath, LineMatch]]) -> int:
    """Return how many matches an answer holds, at least one."""
    characters = 0
    for at, (_, match) in enumerate(matches):
        characters += sum(map(len, (*match.before, match.text, *match.after)))
        if at and characters > MOST_CHARACTERS:
            return at
    return len(matches)
