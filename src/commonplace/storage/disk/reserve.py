"""Space held back on the disk of the data folder, so that something can still be deleted when
the disk is full.

A deletion writes before it frees: a log of the database, a line of history, an audit record.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
from pathlib import Path

from commonplace.storage.disk.private_files import FILE_MODE

log = logging.getLogger("commonplace.storage")

NAME = ".reserve"
MOST_BYTES = 16 << 20  # deleting the largest file writes it to the log once: 10 MB by default
LEAST_BYTES = 256 << 10
SHARE = 16  # at most this part of what is free


class Reserve:
    """One file in the data folder, shared by all processes that use it."""

    def __init__(self, data: Path) -> None:
        self._path = data / NAME
        self._guard = threading.Lock()

    def hold(self) -> None:
        """Make the reserve if there is none and room for it.

        Failing to is no error: there is nothing to hold back then.
        """
        with self._guard, contextlib.suppress(OSError):
            if self._path.exists():
                return
            size = min(MOST_BYTES, shutil.disk_usage(self._path.parent).free // SHARE)
            if size >= LEAST_BYTES:
                self._make(size)

    def release(self) -> bool:
        """Give the space back. Returns whether there was any."""
        with self._guard:
            try:
                self._path.unlink()
            except OSError:
                return False
        log.warning("the disk is full; the space held back for deletions was released")
        return True

    def _make(self, size: int) -> None:
        draft = self._path.with_name(f"{NAME}.{os.getpid()}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        draft.rename(self._path)
