"""Who does a job that exactly one process should do: a lock on a file, released by the kernel
when its process ends.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from commonplace.storage.disk.private_files import make_private_folder


class Leadership:
    """At most one holder per lock file across processes (and across instances in one process).

    Call `try_acquire` again and again until it succeeds: a dead leader's lock is free at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def try_acquire(self) -> bool:
        """Become the leader if nobody is; never waits. True while held."""
        if self._descriptor is not None:
            return True
        make_private_folder(self._path.parent)
        descriptor = os.open(
            self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600
        )
        if not _lock(descriptor):
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())  # for people; the lock itself decides
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def leader_pid(self) -> int | None:
        """The process that holds, or last held, the lock."""
        try:
            return int(self._path.read_text("ascii").strip())
        except (OSError, ValueError):
            return None


class DeferringLeadership(Leadership):
    """Leave the job to another process for a while: it becomes the leader only where nobody else
    has within `seconds`.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(path)
        self._seconds = seconds
        self._asked_at: float | None = None

    def try_acquire(self) -> bool:
        if self._asked_at is None:
            self._asked_at = time.monotonic()
        return time.monotonic() - self._asked_at >= self._seconds and super().try_acquire()


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        os.lseek(
            descriptor, 1 << 30, os.SEEK_SET
        )  # a byte far behind the pid, which stays readable
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True
else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
