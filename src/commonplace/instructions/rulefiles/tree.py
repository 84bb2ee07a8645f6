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
DEEPEST = 100
MANAGED = "/etc/claude-code/"


@dataclass(frozen=True, slots=True)
class TreeSurvey:
    """The files below a folder, and the paths that were left out with reasons."""

    files: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


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
        return self.survey(folder).files

    def survey(self, folder: str = ".") -> TreeSurvey:
        """List the files below a folder, and what was left out, each with the reason."""
        files: list[str] = []
        left_out: list[tuple[str, str]] = []
        for path, reason in self._walk(folder, set(), 0):
            if reason:
                left_out.append((path, reason))
            elif len(files) == MOST_FILES:
                left_out.append((folder, f"only the first {MOST_FILES} files were read"))
                break
            else:
                files.append(path)
        return TreeSurvey(tuple(sorted(files)), tuple(sorted(left_out)))

    def _walk(self, folder: str, visited: set[Path], depth: int) -> Iterator[tuple[str, str]]:
        """Yield every path below a folder, with the reason if it is left out."""
        real = self._locate(folder)
        if real is None or not real.is_dir():
            return
        if real in visited:
            yield folder, "a link to a folder that is searched anyway"
            return
        visited.add(real)
        prefix = "" if folder == "." else f"{folder}/"
        for name in self.names(folder):
            path = prefix + name
            located = self._locate(path)
            if not name.isprintable() and not _is_text(name):
                yield path.encode("utf-8", "replace").decode(), "its name is not UTF-8"
            elif located is None:
                yield path, "a link that leaves the folder"
            elif located.is_dir():
                if name in SKIPPED_FOLDERS:
                    yield path, "not searched"
                elif depth == DEEPEST:
                    yield path, f"deeper than {DEEPEST} folders"
                else:
                    yield from self._walk(path, visited, depth + 1)
            else:
                yield path, "" if located.is_file() else "not a regular file"


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)
