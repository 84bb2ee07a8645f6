"""Names and stamps of the JSON files of a folder."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

FileStamp = tuple[int, int, int]  # modification time in nanoseconds, size, inode


def list_members(root: str) -> Iterator[os.DirEntry[str]]:
    """Yield the entries that may be instructions by their name; none if there is no folder."""
    try:
        listing = os.scandir(root)
    except FileNotFoundError:
        return
    with listing:
        for item in listing:
            if item.name.endswith(".json") and not item.name.startswith("."):
                yield item


def list_stamps(root: str) -> Iterator[tuple[str, FileStamp]]:
    """Yield the name and stamp of every JSON file: modification time, size, inode."""
    for item in list_members(root):
        with contextlib.suppress(FileNotFoundError):
            status = item.stat(follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                yield item.name, (status.st_mtime_ns, status.st_size, status.st_ino)
