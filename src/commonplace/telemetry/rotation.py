"""Append-only text files, rotated by size: x.jsonl -> x.1.jsonl -> x.2.jsonl.

Several processes may share one.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

KEPT = 9


class RotatedFile:
    """A file to which each line is appended in one write.

    Errors of writing are ignored: logs and traces are best effort.
    """

    def __init__(self, path: Path, max_bytes: int, kept: int = KEPT) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._lock = threading.Lock()
        self._descriptor = -1

    def problem(self) -> OSError | None:
        """Return the reason why the file cannot be written, or None. `write` never reports it."""
        with self._lock:
            try:
                self._ensure_open(0)
            except OSError as refused:
                return refused
        return None

    def write(self, line: str) -> None:
        """Append a line."""
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock, contextlib.suppress(OSError):
            self._ensure_open(len(data))
            os.write(self._descriptor, data)

    def close(self) -> None:
        """Close the file. A later `write` opens it again."""
        with self._lock:
            self._close()

    def _ensure_open(self, incoming: int) -> None:
        if self._descriptor >= 0:
            own = os.fstat(self._descriptor)
            if own.st_nlink == 0 or not self._is_current(own):
                self._close()
            elif own.st_size and own.st_size + incoming > self._max_bytes:
                self._close()
                self._rotate()
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
                self._rotate()
                self._descriptor = os.open(
                    self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
                )

    def _is_current(self, own: os.stat_result) -> bool:
        """Tell whether the name still refers to our file: another process may have rotated it."""
        try:
            current = self.path.stat()
        except OSError:
            return False
        return (current.st_ino, current.st_dev) == (own.st_ino, own.st_dev)

    def _rotate(self) -> None:
        for number in range(self._kept - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._make_path(number).replace(self._make_path(number + 1))
        with contextlib.suppress(FileNotFoundError):
            self.path.replace(self._make_path(1))

    def _make_path(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
