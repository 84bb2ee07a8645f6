"""Marker file of an instruction folder: the change signal shared with the reference server."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

# Shorter than any caller needs to receive an answer, change the folder and call again.
SHARED_SECONDS = 0.00015
SAME_SECONDS = 0.005
UNSETTLED_NS = 3_000_000_000  # file systems store times with a resolution of up to two seconds
MARKER_BYTES = 256


class CatalogueMarker:
    """The file `.catalog-version`, which every change rewrites with a new token.

    Every read calls fstat on the open file to see whether it was removed or rewritten. While its
    modification time is too recent to distinguish two changes, the text is compared too. Whether
    another file has the name is checked less often, because resolving a path costs more.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)
        self._file = -1
        self._text: bytes | None = None
        self._settled = -1  # modification time, once it is old enough to change with the next write
        self._sure_until = 0.0
        self._same_until = 0.0

    def is_current(self) -> bool:
        """Tell whether the marker is unchanged; calls within 150 µs share one check."""
        now = time.monotonic()
        if now < self._sure_until:
            return True
        try:
            status = os.fstat(self._file)
            if status.st_nlink == 0 or (
                status.st_mtime_ns != self._settled and not self._has_same_text(status.st_mtime_ns)
            ):
                return False
        except OSError:  # not opened yet, or a network file system lost it
            return False
        if now >= self._same_until:
            if not self._has_same_name():
                return False
            self._same_until = now + SAME_SECONDS
        self._sure_until = now + SHARED_SECONDS
        return True

    def _has_same_text(self, modified_ns: int) -> bool:
        if os.pread(self._file, MARKER_BYTES, 0) != self._text:
            return False
        self._settled = modified_ns if time.time_ns() - modified_ns > UNSETTLED_NS else -1
        return True

    def _has_same_name(self) -> bool:
        try:
            named = os.stat(self._name)  # noqa: PTH116 (strings are faster)
            return os.path.samestat(os.fstat(self._file), named)
        except OSError:
            return False

    def exists(self) -> bool:
        """Tell whether the file exists."""
        return os.access(self._name, os.F_OK)

    def read(self) -> str | None:
        """Return the token and remember it, or None if there is no marker."""
        self.close()
        try:
            self._file = self._open()
            self._text = os.pread(self._file, MARKER_BYTES, 0)
        except OSError:
            self.close()
            return None
        return self._text.decode(errors="replace").strip()

    def write(self, token: str) -> bool:
        """Store a token; return False if the folder cannot be written."""
        text = token.encode()
        if self._text is None or not self._overwrite(text):
            self.close()
            try:
                self._file = self._create()
            except OSError:
                return False
            if not self._overwrite(text):
                self.close()
                return False
        self._text, self._settled, self._sure_until = text, -1, 0.0
        return True

    def _overwrite(self, text: bytes) -> bool:
        try:
            status = os.fstat(self._file)
            if status.st_nlink == 0:
                return False
            if os.pwrite(self._file, text, 0) < status.st_size:
                os.ftruncate(self._file, len(text))
        except OSError:
            return False
        return True

    def _open(self) -> int:
        try:
            return os.open(self._name, os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # a read-only folder
            return os.open(self._name, os.O_RDONLY | os.O_CLOEXEC)

    def _create(self) -> int:
        try:
            return os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except PermissionError:  # a file of another user in a writable folder
            self._path.unlink()
            return os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def close(self) -> None:
        """Close the file and forget the token."""
        if self._file >= 0:
            os.close(self._file)
        self._file, self._text, self._settled = -1, None, -1
        self._sure_until = self._same_until = 0.0

    @staticmethod
    def new_token() -> str:
        """Return a token that no process has used."""
        return f"{time.time_ns() // 1_000_000}-{secrets.token_hex(6)}"
