"""A folder on disk as the tree that rule files are read from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST_FILE = (4 << 20) + 1  # one byte more than the largest that a client reads
MOST_FILES = 20_000
SKIPPED_FOLDERS = {".git", "node_modules", ".venv", "__pycache__"}
MANAGED = "/etc/claude-code/"


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A repository with the user's home and the managed folder, each confined to itself.

    Symbolic links are followed inside their own root only. `home` and `managed` may be left
    out: a server reads no home folder.
    """

    root: Path
    home: Path | None = None
    managed: Path | None = None

    def _locate(self, path: str) -> Path | None:
        """Return the real path of a tree path; None if it leaves its root."""
        base: Path | None
        if path.startswith("~/"):
            base, rest = self.home, path[2:]
        elif path.startswith(MANAGED):
            base, rest = self.managed, path.removeprefix(MANAGED)
        elif path.startswith("/"):
            return None
        else:
            base, rest = self.root, path
        if base is None or "\0" in rest:
            return None
        try:
            top, real = base.resolve(), (base / rest).resolve()
        except (OSError, RuntimeError):
            return None
        return real if real == top or top in real.parents else None

    def read(self, path: str) -> bytes | None:
        real = self._locate(path)
        if real is None:
            return None
        try:
            handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            return None
        with os.fdopen(handle, "rb") as file:
            return file.read(LONGEST_FILE)

    def exists(self, path: str) -> bool:
        real = self._locate(path)
        return real is not None and real.exists()

    def names(self, folder: str) -> tuple[str, ...]:
        real = self._locate(folder)
        try:
            return () if real is None else tuple(sorted(entry.name for entry in real.iterdir()))
        except OSError:
            return ()

    def files_below(self, folder: str) -> tuple[str, ...]:
        """List the files below a folder, sorted by path; at most `MOST_FILES`."""
        found = []
        for path in self._walk(folder, set()):
            found.append(path)
            if len(found) == MOST_FILES:
                break
        return tuple(sorted(found))

    def _walk(self, folder: str, visited: set[Path]) -> Iterator[str]:
        real = self._locate(folder)
        if real is None or real in visited or not real.is_dir():
            return
        visited.add(real)
        prefix = "" if folder == "." else f"{folder}/"
        for name in self.names(folder):
            path = prefix + name
            located = self._locate(path)
            if located is None:
                continue
            if located.is_dir():
                if name not in SKIPPED_FOLDERS:
                    yield from self._walk(path, visited)
            elif located.is_file():
                yield path
