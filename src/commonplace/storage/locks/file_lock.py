"""Advisory locks on files, between processes and between threads of one process.

The operating system releases a lock when its process ends. `fcntl` is imported by the first lock,
so that importing this module works on every platform.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from commonplace.storage.disk.private_files import FILE_MODE


def lock_descriptor(descriptor: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file. Without `wait`, return False if another holder prevents it."""
    import fcntl

    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock_descriptor(descriptor: int) -> None:
    """Release the lock of an open file without closing it."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


class FileLock:
    """A lock on a file, which is created for its owner alone if it is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int | None:
        """The locked file, or None while the lock is not held."""
        return self._descriptor

    def acquire(self, *, shared: bool = False, wait: bool = True) -> bool:
        """Take the lock; without `wait`, return False if it is taken. True while held.

        Raises `OSError` if the file cannot be opened; its folder must exist.
        """
        if self._descriptor is not None:
            return True
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            if not lock_descriptor(descriptor, shared=shared, wait=wait):
                os.close(descriptor)
                return False
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Release the lock. Does nothing while it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextlib.contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the exclusive lock of a file; waits for other holders."""
    lock = FileLock(path)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()
