"""Folder of instruction files: one JSON file each, listed and read without failing on any."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.instructions.engine import codec
from commonplace.instructions.engine.normalise import NotAnInstruction, ReadingRules
from commonplace.instructions.fields import CONFIGURATION_STEMS, MAX_FILE_BYTES, is_valid_id
from commonplace.instructions.model import Rejection, Stamp, StorageStatus, StoredEntry
from commonplace.instructions.store.kept.listing import list_members, list_stamps
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.access import require_writable
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.errors import storage_replaced

MARKER = ".catalog-version"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not block


@dataclass(frozen=True, slots=True)
class FileRetries:
    """Number of retries after an error of the file system, and the first pause in seconds."""

    reads: int = 3
    read_backoff_seconds: float = 0.008
    writes: int = 3
    write_backoff_seconds: float = 0.008


class InstructionDirectory:
    """Read side of an instruction folder."""

    def __init__(
        self,
        path: Path,
        *,
        rules: ReadingRules | None = None,
        retries: FileRetries | None = None,
        trace_file: Callable[[str, str], None] | None = None,
    ) -> None:
        self.path = path
        self.root = str(path)  # joining strings costs a third of joining paths
        self.rules = rules or ReadingRules()
        self.retries = retries or FileRetries()
        self._trace_file = trace_file
        self._was_present = False

    def ensure(self) -> None:
        """Create the folder before a write; raise if it disappeared since the last one."""
        if not os.access(self.root, os.F_OK):
            if self._was_present:
                raise storage_replaced("The instruction folder")
            make_private_folder(self.path)
        self._was_present = True

    def file_of(self, id_: str) -> str:
        """Return the path of an instruction's file. Raises ValueError for an invalid id."""
        if not is_valid_id(id_):
            raise ValueError(f"{id_!r} is not an instruction id")
        return f"{self.root}/{id_}.json"

    def names(self) -> list[str]:
        """List the JSON files that may be instructions, without opening them."""
        return [
            item.name for item in list_members(self.root) if not item.is_dir(follow_symlinks=False)
        ]

    def ignored_folders(self) -> list[str]:
        """List the subfolders with JSON files, which are not read."""
        try:
            with os.scandir(self.path) as listing:
                names = [
                    item.name
                    for item in listing
                    if item.is_dir(follow_symlinks=False) and not item.name.startswith(".")
                ]
        except OSError:
            return []
        return sorted(name for name in names if _has_json_file(self.path / name))

    def stamps(self) -> Iterator[tuple[str, Stamp]]:
        """Yield the name and stamp of every JSON file."""
        return list_stamps(self.root)

    def stamp_of(self, name: str) -> Stamp | None:
        """Return the stamp of a file, or None if there is none."""
        try:
            status = os.lstat(f"{self.root}/{name}")
        except OSError:
            return None
        if stat.S_ISDIR(status.st_mode):
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def read_all(self) -> Iterator[tuple[str, StoredEntry]]:
        """Yield the name and content of every file."""
        rules = self.rules.frozen()
        for name in self.names():
            yield name, self.read(name, rules)

    def read(self, name: str, rules: ReadingRules | None = None) -> StoredEntry:
        """Read a file; whatever is wrong with it becomes a rejection."""
        reason = skip_reason(name)
        if reason:
            return StoredEntry(self.stamp_of(name), rejection=Rejection(name, reason))
        try:
            content, stamp = self._read_content(name)
        except FileNotFoundError:
            return StoredEntry(None)
        except OSError as error:
            return StoredEntry(self.stamp_of(name), rejection=_read_failure(name, error))
        entry = parse_entry(name, content, stamp, rules or self.rules)
        if self._trace_file:
            self._trace_file(name, entry.rejection.reason if entry.rejection else "loaded")
        return entry

    def read_bytes(self, id_: str) -> bytes | None:
        """Return the content of an instruction's file, or None."""
        try:
            return self._read_content(f"{id_}.json")[0]
        except OSError:
            return None

    def _read_content(self, name: str) -> tuple[bytes | None, Stamp]:
        """Return content and stamp; the content of a file that is too large is None."""
        descriptor = self._open(name)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise FileNotFoundError(errno.ENOENT, "the name belongs to a folder")
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if status.st_size > MAX_FILE_BYTES:
                return None, stamp
            content = os.read(descriptor, status.st_size + 1)
            while (
                len(content) != status.st_size
                and len(content) <= MAX_FILE_BYTES
                and (more := os.read(descriptor, 65536))
            ):
                content += more  # the file grew meanwhile
            return content, stamp
        finally:
            os.close(descriptor)

    def _open(self, name: str) -> int:
        attempt = 0
        flags = os.O_RDONLY | _NOFOLLOW | _NONBLOCK | os.O_CLOEXEC
        while True:
            try:
                return os.open(f"{self.root}/{name}", flags)
            except OSError as error:
                final = isinstance(error, FileNotFoundError) or error.errno == errno.ELOOP
                if final or attempt >= self.retries.reads:
                    raise
                time.sleep(self.retries.read_backoff_seconds * 2**attempt)
                attempt += 1

    def status(self, sizes: Collection[int] | None = None) -> StorageStatus:
        """Return the state of the folder, or of the folder it will be created in.

        `sizes` are those of its files where they are known already.
        """
        exists = self.path.exists()
        folder = self.path if exists else self.path.parent
        if sizes is None:
            sizes = [stamp[1] for _, stamp in self.stamps()]
        try:
            available = shutil.disk_usage(folder).free
        except OSError:
            available = 0
        write_problem = ""
        try:
            if folder.exists():
                require_writable(folder)
        except CommonplaceError as error:
            write_problem = error.code.name
        return StorageStatus(
            name=self.path.name,
            exists=exists,
            readable=os.access(self.path, os.R_OK | os.X_OK) if exists else True,
            writable=os.access(folder, os.W_OK),
            file_count=len(sizes),
            total_size=sum(sizes),
            available_space=available,
            ignored_folders=tuple(self.ignored_folders()),
            write_problem=write_problem,
        )


def parse_entry(name: str, content: bytes | None, stamp: Stamp, rules: ReadingRules) -> StoredEntry:
    """Parse the stored bytes of a file; None means bytes above the limit.

    Whatever is wrong with them becomes a rejection.
    """
    if content is None or stamp[1] > MAX_FILE_BYTES:
        detail = f"{stamp[1]} bytes; at most {MAX_FILE_BYTES} are allowed"
        return StoredEntry(stamp, rejection=Rejection(name, "too-large", detail))
    try:
        return StoredEntry(stamp, codec.parse(name[:-5], content, stamp[0] / 1e9, rules))
    except NotAnInstruction as error:
        return StoredEntry(stamp, rejection=Rejection(name, error.reason, error.detail))


def _read_failure(name: str, error: OSError) -> Rejection:
    if error.errno == errno.ELOOP:
        detail = "the file is a symbolic link; replace it by the file itself"
        return Rejection(name, "symlink", detail)
    return Rejection(name, "unreadable", error.strerror or str(error))


def _has_json_file(folder: Path) -> bool:
    try:
        return any(path.suffix == ".json" for path in folder.iterdir())
    except OSError:
        return False


def may_be_instruction(name: str) -> bool:
    """Tell whether a file of this name is read as an instruction."""
    return name.endswith(".json") and not name.startswith(".") and skip_reason(name) is None


def skip_reason(name: str) -> str | None:
    """Return why a file is not an instruction, judged by its name."""
    stem = name[:-5]
    if stem.startswith("_"):
        return "governance-denylist"
    if stem.endswith(".template"):
        return "template"
    if (
        stem.lower() in CONFIGURATION_STEMS
        or stem.endswith(".schema")
        or stem == "bootstrap.confirmed"
    ):
        return "non-instruction-config"
    return None
