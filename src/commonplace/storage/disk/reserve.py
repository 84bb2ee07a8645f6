"""Disk space kept in reserve, so that data can still be deleted when the disk is full.

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
SHARE = 16  # at most one part in 16 of the free space


class Reserve:
    """One file in the data folder, shared by all processes that use it."""

    def __init__(self, data: Path) -> None:
        self._path = data / NAME
        self._lock = threading.Lock()

    def hold(self) -> None:
        """Create the reserve if it is missing and there is room. Never fails."""
        with self._lock, contextlib.suppress(OSError):
            if self._path.exists():
                return
            size = min(MOST_BYTES, shutil.disk_usage(self._path.parent).free // SHARE)
            if size >= LEAST_BYTES:
                self._create(size)

    def release(self) -> bool:
        """Free the space. Return whether there was a reserve."""
        with self._lock:
            try:
                self._path.unlink()
            except OSError:
                return False
        log.warning("the disk is full; the space reserved for deletions was released")
        return True

    def _create(self, size: int) -> None:
        draft = self._path.with_name(f"{NAME}.{os.getpid()}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        try:
            _allocate(descriptor, size)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        draft.rename(self._path)


def _allocate(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    block = bytes(1 << 20)  # macOS: only written blocks are reserved
    while size > 0:
        size -= os.write(descriptor, block[:size])
