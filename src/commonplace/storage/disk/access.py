"""Errors of the disk as errors that name the path, the reason and what to do."""

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
"""Errors that come from the machine. A missing or existing file may be a defect of ours instead."""


def unusable_path(error: OSError, place: Path | str | None = None) -> CommonplaceError:
    """Return the error of a path that cannot be used.

    `place` is named if the operating system did not say which path it was.
    """
    named = error.filename2 or error.filename  # of two paths, the one to be created
    where = os.fsdecode(named) if isinstance(named, (str, bytes)) else str(place or "the output")
    if error.errno in FULL:
        return CommonplaceError(
            STORAGE_FULL,
            f"Cannot write {where}: the disk is full.",
            hint="Free space, then retry.",
            retryable=True,
        )
    reason = (
        "a file exists there"
        if error.errno == errno.EEXIST
        else error.strerror or str(error) or type(error).__name__
    )
    return CommonplaceError(
        PATH_UNUSABLE,
        f"Cannot use {where}: {reason}.",
        hint="Check the path and its permissions, or name another.",
        details={"path": where},
    )


def require_folder(path: Path) -> None:
    """Raise PATH_UNUSABLE unless a folder exists, so that a wrong name is not taken for empty."""
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise CommonplaceError(
            PATH_UNUSABLE,
            f"The data folder {path} {what}.",
            hint="Give the right one with --data; `commonplace config show` prints the one in "
            "effect.",
            details={"path": str(path)},
        )


@contextlib.contextmanager
def explain_disk_errors(place: Path) -> Iterator[None]:
    """Replace every `OSError` of a block by an error that names the path."""
    try:
        yield
    except OSError as error:
        raise disk_full() if error.errno in FULL else unusable_path(error, place) from error


def append_record(descriptor: int, content: bytes) -> None:
    """Append a record completely or not at all.

    Only for files that no other process appends to at the same time.
    """
    written = os.write(descriptor, content)
    if written != len(content):
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def require_writable(folder: Path) -> None:
    """Raise unless a small file can be written to a folder now. The file is removed again."""
    path = folder / f".probe-{os.getpid()}-{threading.get_ident()}.tmp"
    with explain_disk_errors(folder):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            if os.write(descriptor, bytes(PROBE_BYTES)) != PROBE_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)
            path.unlink(missing_ok=True)
