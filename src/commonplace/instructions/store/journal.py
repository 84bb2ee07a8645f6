"""Journal of changes and writer lock, shared by the processes that serve one folder.

Writers append (sequence, id, hash, token) under a file lock; readers notice new lines with one
system call. Both files live beside the instruction folder, so that git never sees them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from commonplace.instructions.errors import CATALOGUE_BUSY
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.access import append_record
from commonplace.storage.locks.file_lock import lock_descriptor, unlock_descriptor

ROTATE_BYTES = 4 * 1024 * 1024
LOCK_SECONDS = 20.0
CHECK_SECONDS = 1.0
# Contents of the lock file. It is overwritten, never truncated: truncation costs a disk write.
_BEGUN, _END, _DONE = "+", ".", b"-"
_HEADER = b"# commonplace journal 1\n"


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A change: its number, id, new source hash (`-` if removed), and the marker token."""

    sequence: int
    id: str
    hash: str
    token: str

    def encode(self) -> bytes:
        """Return the line as bytes."""
        return f"{self.sequence}\t{self.id}\t{self.hash}\t{self.token}\n".encode()


@dataclass(frozen=True, slots=True)
class JournalTail:
    """Lines since the last read.

    `incomplete` if the journal was rotated or replaced: lines may be missing.
    """

    lines: tuple[JournalLine, ...]
    incomplete: bool = False


def state_directory(directory: Path, fallback: Path) -> Path:
    """Return the folder for lock, journal and history: a hidden sibling of the instructions.

    Below the data folder if the sibling cannot be created. All processes must get the same answer,
    so it depends only on the real path of the instruction folder.
    """
    real = Path(os.path.realpath(directory))
    beside = real.parent / f".{real.name}.commonplace"
    ancestor = beside
    while not ancestor.exists() and ancestor != ancestor.parent:
        ancestor = ancestor.parent
    if os.access(ancestor, os.W_OK | os.X_OK):
        return beside
    return fallback / "instructions-state" / hashlib.sha256(str(real).encode()).hexdigest()[:16]


class Journal:
    """Writer lock and journal of an instruction folder.

    Reading needs no lock; `announce_intent`, `interrupted_ids` and `append` need it.
    """

    def __init__(
        self,
        state: Path,
        *,
        rotate_bytes: int = ROTATE_BYTES,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self._rotate_bytes = rotate_bytes
        self._lock_seconds = lock_seconds
        self._path = state / "journal"
        self._name = str(self._path)  # used on every read: a string is faster than a path
        self._lock_path = state / "lock"
        self._file: int | None = None
        self._check_at = 0.0
        self._offset = 0
        self._sequence = 0
        self._lock: int | None = None  # descriptor while the lock is held
        self._lock_file: int | None = None  # kept open

    @property
    def exists(self) -> bool:
        """Tell whether a journal was opened; the first write creates it."""
        return self._file is not None

    def is_current(self) -> bool:
        """Tell whether nothing was appended since the last read, with one system call."""
        if self._file is None:
            return not os.access(self._name, os.F_OK)
        now = time.monotonic()
        if os.lseek(self._file, 0, os.SEEK_END) != self._offset:
            return False
        if now < self._check_at:
            return True
        self._check_at = now + CHECK_SECONDS
        return os.fstat(self._file).st_nlink > 0  # zero if the file was deleted

    def read_tail(self) -> JournalTail:
        """Return the lines since the last read."""
        incomplete = False
        if self._file is None or os.fstat(self._file).st_nlink == 0:
            incomplete = self._reopen()
        if self._file is None:
            return JournalTail((), incomplete)
        content = b""
        while block := os.pread(self._file, 1 << 20, self._offset + len(content)):
            content += block
        complete = content.rfind(b"\n") + 1
        self._offset += complete
        lines = tuple(_parse(content[:complete]))
        if lines:
            self._sequence = lines[-1].sequence
        return JournalTail(lines, incomplete)

    def _reopen(self) -> bool:
        """Open the current journal file; return whether lines may have been missed."""
        was_open = self._file is not None
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._offset = 0
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            return was_open
        return True

    def close(self) -> None:
        """Close the files."""
        for descriptor in (self._file, self._lock_file):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._lock_file = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock among processes; threads of this process need their own lock.

        The kernel releases the lock of a process that dies.
        """
        descriptor = self._lock_file
        while descriptor is None or not self._acquire(descriptor):
            if descriptor is not None:
                os.close(descriptor)
            descriptor = self._lock_file = self._open_lock()
        self._lock = descriptor
        try:
            yield
        finally:
            self._lock = None
            unlock_descriptor(descriptor)

    def _acquire(self, descriptor: int) -> bool:
        """Take the lock; return whether the file still has its name, so that others use it too."""
        deadline = time.monotonic() + self._lock_seconds
        wait = 0.0005
        while not lock_descriptor(descriptor, wait=False):
            if time.monotonic() > deadline:
                raise CommonplaceError(
                    CATALOGUE_BUSY,
                    "Another process is writing to the instruction folder.",
                    hint="Try again; `commonplace doctor` names the processes that use the folder.",
                    retryable=True,
                )
            time.sleep(wait)
            wait = min(wait * 2, 0.01)
        return os.fstat(descriptor).st_nlink > 0

    def _open_lock(self) -> int:
        try:
            return os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            self._lock_path.parent.mkdir(parents=True, exist_ok=True)
            (self._lock_path.parent / ".gitignore").write_text("*\n")
            return os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def announce_intent(self, ids: Iterable[str]) -> None:
        """Record which ids are about to change, in case this process dies before `append`."""
        assert self._lock is not None
        os.pwrite(self._lock, "\n".join([_BEGUN, *ids, _END, ""]).encode(), 0)

    def interrupted_ids(self) -> list[str]:
        """Return the ids that a process was changing when it died."""
        assert self._lock is not None
        if os.pread(self._lock, len(_DONE), 0) in (b"", _DONE):
            return []
        state, *ids = (
            os.pread(self._lock, os.fstat(self._lock).st_size, 0)
            .decode(errors="replace")
            .split("\n")
        )
        if state != _BEGUN:  # written by an earlier release
            return [state, *ids[:-1]]
        return ids[: ids.index(_END)] if _END in ids else ids

    def append(self, changes: Iterable[tuple[str, str]], token: str) -> None:
        """Announce changed ids with their new hashes to other processes."""
        assert self._lock is not None
        if self._file is None or self._offset > self._rotate_bytes:
            self._rotate()
        assert self._file is not None
        first = self._sequence + 1
        lines = [
            JournalLine(first + number, id_, hash_, token)
            for number, (id_, hash_) in enumerate(changes)
        ]
        content = b"".join(line.encode() for line in lines)
        append_record(self._file, content)
        self._offset += len(content)
        self._sequence += len(lines)
        os.pwrite(self._lock, _DONE, 0)

    def _rotate(self) -> None:
        """Replace the journal by an empty one.

        Readers hold the old file open; its last line makes them look for the new one.
        """
        fresh = self._path.with_name(f"journal.{os.getpid()}.{secrets.token_hex(4)}")
        fresh.write_bytes(_HEADER)
        fresh.replace(self._path)
        if self._file is not None:
            os.write(self._file, b"# rotated\n")
        self._reopen()
        self._offset = len(_HEADER)


def _parse(content: bytes) -> Iterator[JournalLine]:
    for raw in content.splitlines():
        parts = raw.decode(errors="replace").split("\t")
        if len(parts) == 4 and parts[0].isdigit():
            yield JournalLine(int(parts[0]), parts[1], parts[2], parts[3])
