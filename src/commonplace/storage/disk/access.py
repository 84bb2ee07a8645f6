"""What the disk refuses, as an error that names the place, the reason and what to do: never a
traceback, never "a defect".
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import PATH_UNUSABLE, STORAGE_FULL, disk_full

PROBE_BYTES = 65_536
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
REFUSALS = FULL | {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EIO,
    errno.ENAMETOOLONG,
}
"""Reasons that lie in the machine, wherever they are met.

A file that is missing or there already may be a defect of ours.
"""


def unusable(error: OSError, place: Path | str | None = None) -> CommonplaceError:
    """`place` is named where the system did not say which one it was."""
    named = error.filename2 or error.filename  # of two, the one that was to be made
    where = os.fsdecode(named) if isinstance(named, (str, bytes)) else str(place or "the output")
    if error.errno in FULL:
        return CommonplaceError(
            STORAGE_FULL,
            f"Cannot write {where}: the disk is full.",
            hint="Free space, then retry.",
            retryable=True,
        )
    reason = (
        "a file is there already"
        if error.errno == errno.EEXIST
        else error.strerror or str(error) or type(error).__name__
    )
    return CommonplaceError(
        PATH_UNUSABLE,
        f"Cannot use {where}: {reason}.",
        hint="Check the path and its permissions, or name another.",
        details={"path": where},
    )


def existing_folder(path: Path) -> None:
    """Raise unless the folder is there: what reads all of a data folder must not take a wrong
    name for an empty one.
    """
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise CommonplaceError(
            PATH_UNUSABLE,
            f"The data folder {path} {what}.",
            hint="Name the right one with --data; `commonplace config show` tells which is in "
            "effect.",
            details={"path": str(path)},
        )


@contextlib.contextmanager
def usable(place: Path) -> Iterator[None]:
    """Work that needs a place on the disk and nothing else of the system."""
    try:
        yield
    except OSError as error:
        raise disk_full() if error.errno in FULL else unusable(error, place) from error


def append_whole(descriptor: int, content: bytes) -> None:
    """Append all of a record or nothing of it.

    For files that no other process appends to meanwhile.
    """
    written = os.write(descriptor, content)
    if written != len(content):
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def require_writable(folder: Path) -> None:
    """Raise a typed error unless a small file can be written to a folder now.

    Leaves nothing behind.
    """
    path = folder / f".probe-{os.getpid()}-{threading.get_ident()}.tmp"
    with usable(folder):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            if os.write(descriptor, bytes(PROBE_BYTES)) != PROBE_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)
            path.unlink(missing_ok=True)
