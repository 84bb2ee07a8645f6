"""Election of the one process that does a job: the holder of a lock file is the leader."""

from __future__ import annotations

import os
import time
from pathlib import Path

from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.locks.file_lock import FileLock


class LeaderLock:
    """At most one leader per lock file, among processes and among instances in one process.

    Call `try_acquire` repeatedly until it succeeds: the lock of a dead leader is free at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path)

    @property
    def held(self) -> bool:
        """Whether this instance is the leader."""
        return self._lock.descriptor is not None

    def try_acquire(self) -> bool:
        """Become the leader if there is none; never waits. True while leading."""
        if self.held:
            return True
        make_private_folder(self._path.parent)
        self._lock.acquire(wait=False)
        descriptor = self._lock.descriptor
        if descriptor is None:
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())  # for people; only the lock counts
        return True

    def release(self) -> None:
        """Stop being the leader."""
        self._lock.release()

    def leader_pid(self) -> int | None:
        """Return the process that is, or last was, the leader."""
        try:
            return int(self._path.read_text("ascii").strip())
        except (OSError, ValueError):
            return None


class DeferredLeaderLock(LeaderLock):
    """A leader lock that leaves the job to other processes for the first `seconds`."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(path)
        self._seconds = seconds
        self._first_try_at: float | None = None

    def try_acquire(self) -> bool:
        if self._first_try_at is None:
            self._first_try_at = time.monotonic()
        return time.monotonic() - self._first_try_at >= self._seconds and super().try_acquire()
