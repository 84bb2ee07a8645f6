"""Durable writes to an instruction folder: temporary file, sync, rename, sync of the folder."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from commonplace.instructions.errors import CATALOGUE_UNWRITABLE
from commonplace.instructions.model import Stamp
from commonplace.instructions.store.directory import InstructionDirectory
from commonplace.kernel.durability import sync_file, sync_folder
from commonplace.kernel.errors import CommonplaceError

T = TypeVar("T")
GROUP_SIZE = 64  # files held open at once
ORPHAN_SECONDS = 600  # older temporary files belong to a process that died
_TEMPORARY = re.compile(r"\.[^/]*\.tmp")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class _OpenFile:
    """A file written under a temporary name, still open and not synced."""

    id: str
    temporary: str
    content: bytes
    descriptor: int


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file written and synced under a temporary name, ready to be renamed."""

    id: str
    temporary: str
    stamp: Stamp
    content: bytes


class FileStager:
    """Write side of an instruction folder."""

    def __init__(self, directory: InstructionDirectory) -> None:
        self._directory = directory
        self._retries = directory.retries

    def stage(
        self, contents: Sequence[tuple[str, bytes]], meanwhile: Callable[[], None] = lambda: None
    ) -> list[StagedFile]:
        """Write and sync all files under temporary names, or none.

        `meanwhile` runs while the disk writes the first group.
        """
        staged: list[StagedFile] = []
        try:
            for start in range(0, len(contents), GROUP_SIZE):
                group = contents[start : start + GROUP_SIZE]
                staged += self._stage_group(group, meanwhile if not start else lambda: None)
        except BaseException:
            self.discard(staged)
            raise
        return staged

    def _stage_group(
        self, contents: Sequence[tuple[str, bytes]], meanwhile: Callable[[], None]
    ) -> list[StagedFile]:
        """Start writing all files before waiting for the first, so that the syncs overlap."""
        files: list[_OpenFile] = []
        try:
            for id_, content in contents:
                files.append(self._write_temporary(id_, content))
            for file in files:
                _start_writeback(file.descriptor)
            meanwhile()
            return [
                StagedFile(file.id, file.temporary, self._sync(file), file.content)
                for file in files
            ]
        except BaseException:
            for file in files:
                with contextlib.suppress(OSError):
                    Path(file.temporary).unlink()
            raise
        finally:
            for file in files:
                os.close(file.descriptor)

    def _write_temporary(self, id_: str, content: bytes) -> _OpenFile:
        self._directory.file_of(id_)
        temporary = f"{self._directory.root}/.{id_}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
        descriptor = self._retry(
            lambda: _write_new(temporary, content), f"{id_}.json could not be written"
        )
        return _OpenFile(id_, temporary, content, descriptor)

    def _sync(self, file: _OpenFile) -> Stamp:
        try:
            sync_file(file.descriptor)
            return _stamp(file.descriptor)
        except OSError:
            # After a failed sync the content is undefined, and a second sync may falsely succeed.
            again = self._retry(
                lambda: _write_new(file.temporary, file.content, sync=True),
                f"{file.id}.json could not be written",
            )
            try:
                return _stamp(again)
            finally:
                os.close(again)

    def place(self, staged: StagedFile) -> None:
        """Give a staged file its name."""
        target = self._directory.file_of(staged.id)
        self._retry(
            lambda: os.replace(staged.temporary, target),  # noqa: PTH105 (strings are faster)
            f"{staged.id}.json could not be put in place",
        )

    def discard(self, staged: Iterable[StagedFile]) -> None:
        """Delete staged files that were not placed."""
        for file in staged:
            with contextlib.suppress(OSError):
                Path(file.temporary).unlink()

    def remove(self, id_: str) -> None:
        """Delete an instruction's file."""
        with contextlib.suppress(FileNotFoundError):
            self._retry(
                lambda: Path(self._directory.file_of(id_)).unlink(),
                f"{id_}.json could not be removed",
            )

    def sync_folder(self) -> None:
        """Make renames and removals durable."""
        sync_folder(self._directory.root)

    def remove_orphans(self) -> None:
        """Delete temporary files that a killed process left behind."""
        with contextlib.suppress(OSError):
            for path in self._directory.path.iterdir():
                if (
                    _TEMPORARY.fullmatch(path.name)
                    and time.time() - path.lstat().st_mtime > ORPHAN_SECONDS
                ):
                    path.unlink()

    def _retry(self, work: Callable[[], T], message: str) -> T:
        attempt = 0
        while True:
            try:
                return work()
            except FileNotFoundError:
                raise
            except OSError as error:
                if attempt >= self._retries.writes:
                    raise CommonplaceError(
                        CATALOGUE_UNWRITABLE,
                        f"{message}: {error.strerror}.",
                        hint="Check that the instruction folder is writable and the disk has room.",
                        retryable=True,
                    ) from error
                time.sleep(self._retries.write_backoff_seconds * 2**attempt)
                attempt += 1


def _write_new(path: str, content: bytes, *, sync: bool = False) -> int:
    """Create a file with this content and return its open descriptor."""
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | _NOFOLLOW, 0o644
    )
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        if sync:
            sync_file(descriptor)
    except BaseException:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            Path(path).unlink()
        raise
    return descriptor


def _start_writeback(descriptor: int) -> None:
    """Ask the kernel to start writing a file to disk, without waiting for it."""
    if hasattr(os, "posix_fadvise"):  # Linux
        with contextlib.suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _stamp(descriptor: int) -> Stamp:
    status = os.fstat(descriptor)
    return status.st_mtime_ns, status.st_size, status.st_ino
