"""How several processes share one folder: a file lock for writers, and a journal of (sequence,
id, hash) that readers stat.

Both live beside the instruction folder, not in it, so that git and other tools never see them.
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
SHARED_SECONDS = (
    0.00015  # shorter than any caller needs to hear an answer, change the folder and ask again
)
SAME_SECONDS = 0.005
UNSETTLED_NS = 3_000_000_000  # the coarsest time of a file system is two seconds
MARKER_BYTES = 256
_BEGUN, _END, _DONE = (
    "+",
    ".",
    b"-",
)  # in the lock file: it is written over, never cut, which the disk would have to note each time
_HEADER = b"# commonplace journal 1\n"


@dataclass(frozen=True, slots=True)
class Line:
    """One change: its number, the instruction, its new source hash (`-` when removed) and the
    marker written with it.
    """

    sequence: int
    id: str
    hash: str
    token: str

    def encode(self) -> bytes:
        return f"{self.sequence}\t{self.id}\t{self.hash}\t{self.token}\n".encode()


@dataclass(frozen=True, slots=True)
class Tail:
    """What happened since the last look.

    `lost` when the journal was rotated or replaced: compare the whole folder.
    """

    lines: tuple[Line, ...]
    lost: bool = False


def state_directory(directory: Path, fallback: Path) -> Path:
    """Where lock, journal and history of a folder live: a hidden sibling, or below the data
    folder where that cannot be made.

    Every process that serves the folder must come to the same answer, so it depends on the folder's
    real place alone.
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
    """The lock and the journal of one folder.

    Reading it needs no lock; `append` and `recover` need it.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / "journal"
        self._name = str(self._path)  # looked for on every read: a string costs a third of a path
        self._lock_path = state / "lock"
        self._file: int | None = None
        self._check_at = 0.0
        self._offset = 0
        self._sequence = 0
        self._lock: int | None = None  # while it is held
        self._lock_file: int | None = None  # kept open

    @property
    def begun(self) -> bool:
        """Whether there is one: it comes with the first write."""
        return self._file is not None

    def current(self) -> bool:
        """Whether nothing was appended since the last look: one seek, or one question while
        there is no journal.
        """
        if self._file is None:
            return not os.access(self._name, os.F_OK)
        now = time.monotonic()
        if os.lseek(self._file, 0, os.SEEK_END) != self._offset:
            return False
        if now < self._check_at:
            return True
        self._check_at = now + CHECK_SECONDS
        return os.fstat(self._file).st_nlink > 0  # somebody deleted it: look for a new one

    def tail(self) -> Tail:
        """The lines since the last look."""
        lost = False
        if self._file is None or os.fstat(self._file).st_nlink == 0:
            lost = self._reopen()
        if self._file is None:
            return Tail((), lost)
        content = b""
        while block := os.pread(self._file, 1 << 20, self._offset + len(content)):
            content += block
        complete = content.rfind(b"\n") + 1
        self._offset += complete
        lines = tuple(_parse(content[:complete]))
        if lines:
            self._sequence = lines[-1].sequence
        return Tail(lines, lost)

    def _reopen(self) -> bool:
        """Open the file that has the journal's name now.

        Whether what came before may have been missed.
        """
        known = self._file is not None
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._offset = 0
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            return known
        return True

    def close(self) -> None:
        for descriptor in (self._file, self._lock_file):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._lock_file = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclusive among processes; a process guards its own threads itself.

        A dead holder's lock is free at once.
        """
        descriptor = self._lock_file
        while descriptor is None or not _holds(
            descriptor
        ):  # somebody removed the file: the one that has its name now counts
            if descriptor is not None:
                os.close(descriptor)
            descriptor = self._lock_file = self._open_lock()
        self._lock = descriptor
        try:
            yield
        finally:
            self._lock = None
            unlock_descriptor(descriptor)

    def _open_lock(self) -> int:
        try:
            return os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            self._lock_path.parent.mkdir(parents=True, exist_ok=True)
            (self._lock_path.parent / ".gitignore").write_text("*\n")
            return os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def intend(self, ids: Iterable[str]) -> None:
        """Note under the lock what is about to change, for the next holder should this process
        die before `append`.
        """
        assert self._lock is not None
        os.pwrite(self._lock, "\n".join([_BEGUN, *ids, _END, ""]).encode(), 0)

    def unfinished(self) -> list[str]:
        """What a holder that died had begun. Empty after a clean release."""
        assert self._lock is not None
        if os.pread(self._lock, len(_DONE), 0) in (
            b"",
            _DONE,
        ):  # at every write: the rest is seldom worth reading
            return []
        state, *noted = (
            os.pread(self._lock, os.fstat(self._lock).st_size, 0)
            .decode(errors="replace")
            .split("\n")
        )
        if state != _BEGUN:  # by an earlier release
            return [state, *noted[:-1]]
        return noted[: noted.index(_END)] if _END in noted else noted

    def append(self, changes: Iterable[tuple[str, str]], token: str) -> None:
        """Tell the other processes: ids with their new hashes. Our own position moves past it."""
        assert self._lock is not None
        if self._file is None or self._offset > ROTATE_BYTES:
            self._start_over()
        assert self._file is not None
        first = self._sequence + 1
        lines = [
            Line(first + number, id_, hash_, token) for number, (id_, hash_) in enumerate(changes)
        ]
        content = b"".join(line.encode() for line in lines)
        append_record(self._file, content)
        self._offset += len(content)
        self._sequence += len(lines)
        os.pwrite(self._lock, _DONE, 0)

    def _start_over(self) -> None:
        """A fresh file under the same name.

        The old one, which readers hold open, loses its name and gets a last line: they notice.
        """
        fresh = self._path.with_name(f"journal.{os.getpid()}.{secrets.token_hex(4)}")
        fresh.write_bytes(_HEADER)
        fresh.replace(self._path)
        if self._file is not None:
            os.write(self._file, b"# rotated\n")
        self._reopen()
        self._offset = len(_HEADER)


def _parse(content: bytes) -> Iterator[Line]:
    for raw in content.splitlines():
        parts = raw.decode(errors="replace").split("\t")
        if len(parts) == 4 and parts[0].isdigit():
            yield Line(int(parts[0]), parts[1], parts[2], parts[3])


def _holds(descriptor: int) -> bool:
    """Take the lock; whether the file still has a name, so that others look for the same one."""
    _acquire(descriptor)
    return os.fstat(descriptor).st_nlink > 0


def _acquire(descriptor: int) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
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


class Marker:
    """`.catalog-version` in the folder: the peer's change signal, which we keep in step and obey.

    One question about the open file, which every read asks, says whether it was removed, replaced
    or rewritten: while its time is too young to tell two changes apart, the text is compared too,
    which differs with every change. Whether the file was moved away is asked once in a while, for a
    way through folders costs more.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)
        self._file = -1
        self._seen: bytes | None = None
        self._settled = -1  # the file's time, once it is old enough to change with the next write
        self._sure_until = 0.0
        self._same_until = 0.0

    def current(self) -> bool:
        """Whether the marker is the one last seen; the answer is shared by calls that arrive
        together.
        """
        now = time.monotonic()
        if now < self._sure_until:
            return True
        try:
            status = os.fstat(self._file)
            if status.st_nlink == 0 or (
                status.st_mtime_ns != self._settled and not self._reads_the_same(status.st_mtime_ns)
            ):
                return False
        except OSError:  # none was seen yet, or a network file system lost it
            return False
        if now >= self._same_until:
            if not self._same_file():
                return False
            self._same_until = now + SAME_SECONDS
        self._sure_until = now + SHARED_SECONDS
        return True

    def _reads_the_same(self, modified_ns: int) -> bool:
        if os.pread(self._file, MARKER_BYTES, 0) != self._seen:
            return False
        self._settled = modified_ns if time.time_ns() - modified_ns > UNSETTLED_NS else -1
        return True

    def _same_file(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self._name))  # noqa: PTH116 (on every read)
        except OSError:
            return False

    def appeared(self) -> bool:
        """Tell whether the file exists, for a process that saw none and writes none."""
        return os.access(self._name, os.F_OK)

    def read(self) -> str | None:
        """Its text, and remember it as seen; None when it is gone."""
        self.close()
        try:
            self._file = self._open()
            self._seen = os.pread(self._file, MARKER_BYTES, 0)
        except OSError:
            self.close()
            return None
        return self._seen.decode(errors="replace").strip()

    def write(self, token: str) -> bool:
        """False where the folder cannot be written: then the marker is simply not there to obey."""
        text = token.encode()
        if self._seen is None or not self._wrote(
            text
        ):  # the file that was last seen has lost its name, or we may only read it
            self.close()
            try:
                self._file = self._made()
            except OSError:
                return False
            if not self._wrote(text):
                self.close()
                return False
        self._seen, self._settled, self._sure_until = text, -1, 0.0
        return True

    def _wrote(self, text: bytes) -> bool:
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
        except OSError:  # a folder that we may only read
            return os.open(self._name, os.O_RDONLY | os.O_CLOEXEC)

    def _made(self) -> int:
        try:
            return os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except PermissionError:  # another user's file in a folder that we may write
            self._path.unlink()
            return os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file, self._seen, self._settled, self._sure_until, self._same_until = (
            -1,
            None,
            -1,
            0.0,
            0.0,
        )

    @staticmethod
    def token() -> str:
        return f"{time.time_ns() // 1_000_000}-{secrets.token_hex(6)}"
