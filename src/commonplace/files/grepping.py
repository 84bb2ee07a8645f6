"""Search of exact text: files page by page, without the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from commonplace.files.engine.grep import Pattern, scan_files
from commonplace.files.model import FilePath, LineMatch, Project, is_prefix_of_paths
from commonplace.files.store.protocol import FileStore

PAGE_FILES = 64
PAGE_BYTES = 4_000_000


async def grep_files(
    files: FileStore,
    tenant: str,
    project: Project,
    prefix: str,
    pattern: Pattern,
    most: int,
    check: Callable[[], None],
) -> tuple[list[tuple[FilePath, LineMatch]], int]:
    """Return matching lines in path order, more than `most` if there are more, and files read.

    `check` may raise between files (deadline).
    """
    matches: list[tuple[FilePath, LineMatch]] = []
    searched, after = 0, ""
    while is_prefix_of_paths(prefix):
        check()
        page = await files.after(tenant, project, prefix, after, PAGE_FILES, PAGE_BYTES)
        if not page:
            break
        room = most + 1 - len(matches)
        found, count = await asyncio.to_thread(scan_files, pattern, page, room, check)
        matches += found
        searched += count
        if len(matches) > most:
            break
        after = page[-1].entry.path
    return matches, searched
