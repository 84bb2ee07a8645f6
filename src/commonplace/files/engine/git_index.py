"""The index of a git repository, read without git: which files of a checkout are tracked.

The format is described in git's `Documentation/gitformat-index.txt` (versions 2 to 4). An index
that cannot be read, or that is split over two files, yields None; the caller then knows no tracked
files and keeps to the ignore rules alone.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

GITLINK = 0o160000
DIRECTORY = 0o040000
EXTENDED = 0x4000
LONG_NAME = 0x0FFF
STAT_BYTES = 40  # times, device, inode, mode, user, group, size
MODE_AT = 24


@dataclass(frozen=True, slots=True)
class TrackedFiles:
    """Names relative to the top of the repository, and the submodules among them."""

    names: frozenset[str]
    submodules: frozenset[str]


def read_index(data: bytes, hash_bytes: int = 20) -> TrackedFiles | None:
    """Return the tracked names of an index file. `hash_bytes` is 32 for SHA-256 repositories."""
    try:
        return _read(data, hash_bytes)
    except (struct.error, ValueError, IndexError):  # cut short, or not an index
        return None


def _read(data: bytes, hash_bytes: int) -> TrackedFiles | None:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return None
    names: set[str] = set()
    submodules: set[str] = set()
    at, previous = 12, b""
    fixed = STAT_BYTES + hash_bytes + 2
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", data, at + MODE_AT)
        (flags,) = struct.unpack_from(">H", data, at + fixed - 2)
        start = at + fixed + (2 if flags & EXTENDED else 0)
        if version == 4:
            removed, start = _offset(data, start)
            end = data.index(b"\0", start)
            previous = previous[: len(previous) - removed] + data[start:end]
            at = end + 1
        else:
            length = flags & LONG_NAME
            end = data.index(b"\0", start) if length == LONG_NAME else start + length
            previous = data[start:end]
            at += (end - at + 8) // 8 * 8  # padded with one to eight NUL bytes
        kind = mode & 0o170000
        if kind == GITLINK:
            submodules.add(os.fsdecode(previous))
        elif kind != DIRECTORY:  # of a sparse index: nothing of it is checked out
            names.add(os.fsdecode(previous))
    if _is_split(data, at, hash_bytes):
        return None
    return TrackedFiles(frozenset(names), frozenset(submodules))


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of variable length (version 4); return it and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _is_split(data: bytes, at: int, hash_bytes: int) -> bool:
    while at + 8 <= len(data) - hash_bytes:
        name, size = struct.unpack_from(">4sI", data, at)
        if name == b"link":
            return True
        at += 8 + size
    return False
