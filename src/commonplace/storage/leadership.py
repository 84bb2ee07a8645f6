"""Who does a job that exactly one process should do: a lock on a file, released by the kernel when its process ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path


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
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
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


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # a byte far behind the pid, which stays readable
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
