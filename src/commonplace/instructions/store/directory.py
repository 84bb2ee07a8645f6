"""The instruction files on disk: one JSON file each, read with salvage, written durably.

Knows nothing of the catalogue in memory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from commonplace.instructions.engine.hashing import fingerprint
from commonplace.instructions.engine.normalise import (
    NotAnInstruction,
    Rules,
    completed,
    fingerprint_of,
    identify,
    normalise,
    title_of,
)
from commonplace.instructions.errors import CATALOGUE_LIMIT, CATALOGUE_UNWRITABLE
from commonplace.instructions.model import (
    CONFIGURATION_STEMS,
    MAX_FILE_BYTES,
    MAX_LEVELS,
    Instruction,
    Rejection,
    document_of,
    is_valid_id,
    stored_form,
)
from commonplace.kernel.durability import sync_file, sync_folder
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.errors import storage_replaced

T = TypeVar("T")
Stamp = tuple[int, int, int]  # mtime_ns, size, inode
SYNCED_TOGETHER = 64  # files held open at once
MARKER = ".catalog-version"
_TEMPORARY = re.compile(r"\.[^/]*\.tmp")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe in the folder must not stop us
_ORPHAN_SECONDS = 600  # a temporary file this old belongs to a process that died


@dataclass(frozen=True, slots=True)
class Retries:
    """How often, and how patiently, a transient error of the file system is tried again."""

    reads: int = 3
    read_backoff_seconds: float = 0.008
    writes: int = 3
    write_backoff_seconds: float = 0.008


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file held: an instruction, a reason why not, or nothing because it is gone."""

    stamp: Stamp | None
    instruction: Instruction | None = None
    rejection: Rejection | None = None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A file written under a temporary name, still open, not yet synced."""

    id: str
    temporary: str
    content: bytes
    descriptor: int


@dataclass(frozen=True, slots=True)
class Staged:
    """A file written and synced under a temporary name, not yet in place."""

    id: str
    temporary: str
    stamp: Stamp
    content: bytes


@dataclass(frozen=True, slots=True)
class _Unread:
    """The bytes of a file that is known to hold an instruction."""

    content: bytes
    id: str
    modified_at: float
    rules: Rules

    def whole(self) -> Instruction:
        return normalise(_decoded(self.content), self.id, self.modified_at, self.rules, known="")

    def text(self) -> tuple[str, str]:
        raw = _decoded(self.content)
        return title_of(raw, self.id), raw["body"]


def encode(document: Mapping[str, Any]) -> bytes:
    """The bytes of a file: fixed key order, two blanks of indentation, a final newline."""
    return _written(stored_form(document))


def _written(stored: Mapping[str, Any]) -> bytes:
    return orjson.dumps(stored, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


class Directory:
    """One folder of instruction files."""

    def __init__(
        self, path: Path, *, rules: Rules | None = None, retries: Retries | None = None
    ) -> None:
        self.path = path
        self._root = str(
            path
            # joining strings is a third of the cost of joining paths, and a scan does it for every
            # file
        )
        self._used = False  # whether it was there at an earlier write
        self.rules = rules or Rules()
        self._retries = retries or Retries()
        self.trace_file: Callable[[str, str], None] | None = None

    def ensure(self) -> None:
        if not os.access(
            self._root, os.F_OK
        ):  # before every write: asking is cheaper than failing to make it
            if self._used:
                raise storage_replaced("The instruction folder")
            make_private_folder(self.path)
        self._used = True

    def file_of(self, id_: str) -> str:
        if not is_valid_id(id_):  # the only way from an id to a path
            raise ValueError(f"{id_!r} is not an instruction id")
        return f"{self._root}/{id_}.json"

    def names(self) -> list[str]:
        """Every JSON file that may be an instruction.

        No file is looked at: the folder tells which of its members are folders.
        """
        return [item.name for item in self._members() if not item.is_dir(follow_symlinks=False)]

    def folders(self) -> list[str]:
        """Return the subfolders with JSON files, which are not read."""
        try:
            with os.scandir(self.path) as listing:
                names = [
                    item.name
                    for item in listing
                    if item.is_dir(follow_symlinks=False) and not item.name.startswith(".")
                ]
        except OSError:
            return []
        return sorted(
            name
            for name in names
            if any(path.suffix == ".json" for path in _listed(self.path / name))
        )

    def stamps(self) -> Iterator[tuple[str, Stamp]]:
        """The same with the stamp of each."""
        for item in self._members():
            with contextlib.suppress(FileNotFoundError):
                status = item.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    yield item.name, (status.st_mtime_ns, status.st_size, status.st_ino)

    def _members(self) -> Iterator[os.DirEntry[str]]:
        try:
            listing = os.scandir(self.path)
        except FileNotFoundError:
            return
        with listing:
            for item in listing:
                if item.name.endswith(".json") and not item.name.startswith("."):
                    yield item

    def stamp_of(self, name: str) -> Stamp | None:
        try:
            status = os.lstat(f"{self._root}/{name}")
        except OSError:
            return None
        if stat.S_ISDIR(status.st_mode):
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def read_all(self) -> Iterator[tuple[str, Reading]]:
        """Every file, by name."""
        rules = self.rules.settled()
        for name in self.names():
            yield name, self.read(name, rules)

    def read(self, name: str, rules: Rules | None = None) -> Reading:
        """One file, by name. Whatever is wrong with it becomes a rejection."""
        reason = _skip_reason(name)
        if reason:
            return Reading(self.stamp_of(name), rejection=Rejection(name, reason))
        try:
            content, stamp = self._content(name)
        except FileNotFoundError:
            return Reading(None)
        except OSError as error:
            if error.errno == errno.ELOOP:
                detail = (
                    "the file is a symbolic link; links are not followed, put the file "
                    "itself into the folder"
                )
                return Reading(self.stamp_of(name), rejection=Rejection(name, "symlink", detail))
            return Reading(
                self.stamp_of(name),
                rejection=Rejection(name, "unreadable", error.strerror or str(error)),
            )
        if content is None:
            return Reading(
                stamp,
                rejection=Rejection(
                    name, "too-large", f"{stamp[1]} bytes; the most is {MAX_FILE_BYTES}"
                ),
            )
        try:
            reading = Reading(
                stamp, instruction=self._parse(name, content, stamp, rules or self.rules)
            )
        except NotAnInstruction as error:
            reading = Reading(stamp, rejection=Rejection(name, error.reason, error.detail))
        if self.trace_file:
            self.trace_file(name, reading.rejection.reason if reading.rejection else "loaded")
        return reading

    def _parse(self, name: str, content: bytes, stamp: Stamp, rules: Rules) -> Instruction:
        if not content.strip():
            raise NotAnInstruction("empty", "the file is empty")
        raw = _decoded(content)
        id_, modified_at = name[:-5], stamp[0] / 1e9
        if content.count(b"[") + content.count(b"{") > MAX_LEVELS:
            return _whole(raw, id_, modified_at, rules)
        body = identify(raw, id_)
        mark = fingerprint_of(raw, id_, rules)
        return Instruction.unread(id_, body, mark, _Unread(content, id_, modified_at, rules))

    def parse(self, id_: str, document: Mapping[str, Any]) -> tuple[Instruction, bytes]:
        """What reading this document back will give, and its bytes.

        Raises NotAnInstruction, or CATALOGUE_LIMIT when it is too large.
        """
        whole, _, _ = completed(document, id_, time.time(), self.rules)
        stored = stored_form(whole)
        content = self._sized(id_, stored)
        source_hash, governance_hash = whole["sourceHash"], whole["governanceHash"]
        shown = document_of({**stored, "governanceHash": governance_hash})
        return Instruction(
            id_, shown, source_hash, governance_hash, source_hash, fingerprint=fingerprint(stored)
        ), content

    def parse_as_written(self, id_: str, document: Mapping[str, Any]) -> tuple[Instruction, bytes]:
        """The same for a document that is written with everything it says, also what reading it
        has to mend.
        """
        stored = stored_form(document)
        return normalise(stored, id_, time.time(), self.rules), self._sized(id_, stored)

    @staticmethod
    def _sized(id_: str, stored: Mapping[str, Any]) -> bytes:
        content = _written(stored)
        if len(content) > MAX_FILE_BYTES:
            raise CommonplaceError(
                CATALOGUE_LIMIT,
                f"{id_}: the file would have {len(content)} bytes; the most is {MAX_FILE_BYTES}.",
                hint="Split the instruction, or move long examples out of it.",
                details={"limit": "maxFileSize", "maximum": MAX_FILE_BYTES, "actual": len(content)},
            )
        return content

    def _content(self, name: str) -> tuple[bytes | None, Stamp]:
        attempt = 0
        while True:
            try:
                descriptor = os.open(
                    f"{self._root}/{name}", os.O_RDONLY | _NOFOLLOW | _NONBLOCK | os.O_CLOEXEC
                )
                break
            except OSError as error:
                if (
                    isinstance(error, FileNotFoundError)
                    or error.errno == errno.ELOOP
                    or attempt >= self._retries.reads
                ):
                    raise
                time.sleep(self._retries.read_backoff_seconds * 2**attempt)
                attempt += 1
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise FileNotFoundError(errno.ENOENT, "a folder is no file")
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
                content += more  # it grew while we read
            return content, stamp
        finally:
            os.close(descriptor)

    def read_bytes(self, id_: str) -> bytes | None:
        try:
            return self._content(f"{id_}.json")[0]
        except OSError:
            return None

    def stage_all(
        self, contents: Sequence[tuple[str, bytes]], meanwhile: Callable[[], None] = lambda: None
    ) -> list[Staged]:
        """Write and sync under temporary names in the same folder, all or none.

        `meanwhile` runs while the disk writes.
        """
        staged: list[Staged] = []
        try:
            for start in range(0, len(contents), SYNCED_TOGETHER):
                staged += self._stage_some(
                    contents[start : start + SYNCED_TOGETHER],
                    meanwhile if not start else lambda: None,
                )
        except BaseException:
            self.discard(staged)
            raise
        return staged

    def _stage_some(
        self, contents: Sequence[tuple[str, bytes]], meanwhile: Callable[[], None]
    ) -> list[Staged]:
        """The disk begins to write all of them before the first is waited for, and the syncs
        share its journal.
        """
        begun: list[_Begun] = []
        try:
            for id_, content in contents:
                begun.append(self._begin(id_, content))
            for item in begun:
                _start_writing(item.descriptor)
            meanwhile()
            return [
                Staged(item.id, item.temporary, self._settle(item), item.content) for item in begun
            ]
        except BaseException:
            for item in begun:
                with contextlib.suppress(OSError):
                    Path(item.temporary).unlink()
            raise
        finally:
            for item in begun:
                os.close(item.descriptor)

    def _begin(self, id_: str, content: bytes) -> _Begun:
        self.file_of(id_)
        temporary = f"{self._root}/.{id_}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
        descriptor = self._retried(
            lambda: _write_new(temporary, content), f"{id_}.json could not be written"
        )
        return _Begun(id_, temporary, content, descriptor)

    def _settle(self, item: _Begun) -> Stamp:
        try:
            return _synced(item.descriptor)
        except (
            OSError
        ):  # what a failed sync leaves is not to be trusted, nor a second sync of it: write it anew
            again = self._retried(
                lambda: _write_new(item.temporary, item.content, sync=True),
                f"{item.id}.json could not be written",
            )
            try:
                return _stamp(again)
            finally:
                os.close(again)

    def place(self, staged: Staged) -> None:
        self._retried(
            lambda: os.replace(staged.temporary, self.file_of(staged.id)),  # noqa: PTH105 (see _root)
            f"{staged.id}.json could not be put in place",
        )

    def discard(self, staged: Iterable[Staged]) -> None:
        for item in staged:
            with contextlib.suppress(OSError):
                Path(item.temporary).unlink()

    def remove(self, id_: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._retried(
                lambda: Path(self.file_of(id_)).unlink(), f"{id_}.json could not be removed"
            )

    def sync(self) -> None:
        """Make renames and removals durable."""
        sync_folder(self._root)

    def sweep(self) -> None:
        """Drop temporary files that a killed process left."""
        with contextlib.suppress(OSError):
            for item in self.path.iterdir():
                if (
                    _TEMPORARY.fullmatch(item.name)
                    and time.time() - item.lstat().st_mtime > _ORPHAN_SECONDS
                ):
                    item.unlink()

    def _retried(self, work: Callable[[], T], message: str) -> T:
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


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _write_new(path: str, content: bytes, *, sync: bool = False) -> int:
    """A file with this content, still open."""
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


def _start_writing(descriptor: int) -> None:
    """Ask the system to begin writing a file out, without waiting for it."""
    if hasattr(os, "posix_fadvise"):  # Linux
        with contextlib.suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _synced(descriptor: int) -> Stamp:
    sync_file(descriptor)
    return _stamp(descriptor)


def _stamp(descriptor: int) -> Stamp:
    status = os.fstat(descriptor)
    return status.st_mtime_ns, status.st_size, status.st_ino


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        raw = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise NotAnInstruction("parse", str(error)[:200]) from None
    if not isinstance(raw, dict):
        raise NotAnInstruction("schema", "the file does not hold one JSON object")
    return raw


def _whole(raw: dict[str, Any], id_: str, modified_at: float, rules: Rules) -> Instruction:
    try:
        return normalise(raw, id_, modified_at, rules)
    except TypeError:  # what can be read this deep cannot be written
        raise NotAnInstruction("schema", f"nested deeper than {MAX_LEVELS} levels") from None


def may_be_instruction(name: str) -> bool:
    """Whether a file of this name is read as an instruction."""
    return name.endswith(".json") and not name.startswith(".") and _skip_reason(name) is None


def _skip_reason(name: str) -> str | None:
    """Files of the folder that are no instructions by their name."""
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
