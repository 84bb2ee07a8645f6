"""Append-only text files that several processes may share and that are rotated by size: x.jsonl
-> x.1.jsonl -> x.2.jsonl.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

KEPT = 9


class RotatedFile:
    """Whole lines are appended in one write each.

    Failing to write never fails the caller: evidence of this kind is best effort.
    """

    def __init__(self, path: Path, max_bytes: int, kept: int = KEPT) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._lock = threading.Lock()
        self._descriptor = -1

    def problem(self) -> OSError | None:
        """Why the file cannot be written, if so. Writing itself never says it."""
        with self._lock:
            try:
                self._ensure_open(0)
            except OSError as refused:
                return refused
        return None

    def write(self, line: str) -> None:
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock, contextlib.suppress(OSError):
            self._ensure_open(len(data))
            os.write(self._descriptor, data)

    def close(self) -> None:
        with self._lock:
            self._close()

    def _ensure_open(self, incoming: int) -> None:
        if self._descriptor >= 0:
            mine = os.fstat(self._descriptor)
            if mine.st_nlink == 0 or not self._still_current(mine):
                self._close()
            elif mine.st_size and mine.st_size + incoming > self._max_bytes:
                self._close()
                self._shift()
        if self._descriptor < 0:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(
                self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
            if (
                os.fstat(self._descriptor).st_size + incoming > self._max_bytes
                and os.fstat(self._descriptor).st_size
            ):
                self._close()
                self._shift()
                self._descriptor = os.open(
                    self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
                )

    def _still_current(self, mine: os.stat_result) -> bool:
        """Whether the name still means our file: another process may have rotated it."""
        try:
            there = self.path.stat()
        except OSError:
            return False
        return (there.st_ino, there.st_dev) == (mine.st_ino, mine.st_dev)

    def _shift(self) -> None:
        for number in range(self._kept - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._numbered(number).replace(self._numbered(number + 1))
        with contextlib.suppress(FileNotFoundError):
            self.path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
