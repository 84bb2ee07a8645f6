"""Contents of the files of a folder, by the path they are stored at."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

from commonplace.files.engine.folder import FolderFile, Skipped, read_bytes, text_of
from commonplace.files.engine.sync import SyncAction, SyncStep, SyncWrite
from commonplace.files.model import FilePath

RACY_SECONDS = 2.0  # a file written so recently may change again without a new time


class FolderReader:
    """Contents of a folder's files by stored path; unchanged files are not read again."""

    def __init__(self) -> None:
        self._most = 0
        self._stamps: dict[FilePath, tuple[tuple[int, int, int], str]] = {}
        self.digests: dict[FilePath, str] = {}
        self.unreadable: set[FilePath] = set()

    def read(
        self, files: dict[FilePath, FolderFile], skipped: list[Skipped], most_bytes: int
    ) -> None:
        """Hash the files; report those that cannot be stored, or have more than `most_bytes`."""
        self._most = most_bytes
        self.digests, self.unreadable = {}, set()
        stamps = {}
        for path, file in files.items():
            try:
                stamp, is_settled = _stamp(file.source)
                known = self._stamps.get(path)
                if known is None or known[0] != stamp:
                    known = (stamp, hashlib.sha256(self._text(file)).hexdigest())
            except _NotStorableError as problem:
                skipped.append(Skipped(file.path, str(problem)))
            except OSError as error:
                self._note_unreadable(path, file, error, skipped)
            else:
                self.digests[path] = known[1]
                if is_settled:
                    stamps[path] = known
        self._stamps = stamps

    def write_of(
        self, step: SyncStep, file: FolderFile | None, skipped: list[Skipped]
    ) -> SyncWrite | None:
        """Return a step with its content as it is now; None if it cannot be read any more."""
        if file is None:
            return SyncWrite(step)
        source_path = None if file.path == step.path else file.path
        if step.action is not SyncAction.PUT:
            return SyncWrite(step, source_path=source_path)
        try:
            content = self._text(file)
        except _NotStorableError as problem:
            skipped.append(Skipped(file.path, str(problem)))
            return None
        except OSError as error:
            self._note_unreadable(step.path, file, error, skipped)
            return None
        digest = hashlib.sha256(content).hexdigest()
        if digest != step.digest:  # written since it was hashed
            self._stamps.pop(step.path, None)
        return SyncWrite(replace(step, digest=digest), content, source_path)

    def _text(self, file: FolderFile) -> bytes:
        data = read_bytes(file.source, self._most)
        if len(data) > self._most:
            raise _NotStorableError(f"more than {self._most} bytes, the most one file may hold")
        if text_of(data) is None:
            raise _NotStorableError("binary, or text that is not UTF-8")
        return data

    def _note_unreadable(
        self, path: FilePath, file: FolderFile, error: OSError, skipped: list[Skipped]
    ) -> None:
        self.unreadable.add(path)
        reason = f"it cannot be read: {error.strerror or type(error).__name__}"
        skipped.append(Skipped(file.path, reason))


class _NotStorableError(Exception):
    """A file has no text that a project could hold."""


def _stamp(source: Path) -> tuple[tuple[int, int, int], bool]:
    """Return what changes with a file, and whether it will change with the next write."""
    found = source.lstat()
    is_settled = time.time() - found.st_mtime > RACY_SECONDS
    return (found.st_mtime_ns, found.st_size, found.st_ino), is_settled
