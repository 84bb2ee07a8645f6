"""Write one audit chain: the file, its head kept apart, and syncs to disk within 100 ms."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from commonplace.kernel.durability import sync_data, sync_folder
from commonplace.kernel.json_types import Json
from commonplace.telemetry.chain import (
    EMPTY,
    Head,
    chains_folder,
    heads_folder,
    register_line,
    register_path,
    seal,
)

log = logging.getLogger("commonplace.audit")

SYNC_SECONDS = 0.08  # with the milliseconds of the disk: less than 100 ms
RESERVE_BYTES = 64 * 1024
WITNESS_SLACK_NS = 5_000_000_000

Mark = list[int | str]
"""Count and hash of another chain's head, as an opening record contains it."""


class OpenChain:
    """A chain that this process writes."""

    def __init__(self, directory: Path, now: str, lost: Mapping[str, Mark]) -> None:
        chains, heads = chains_folder(directory), heads_folder(directory)
        for folder in (directory, chains, heads):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stamp = now.replace("-", "").replace(":", "").split(".")[0]
        self.name = f"{stamp}-{os.getpid()}-{secrets.token_hex(4)}"
        self.size = 0
        self.failed = False
        self._head = EMPTY
        self._directory = directory
        self._reserve: int | None = None
        self._file = self._head_file = -1
        self._dirty = threading.Event()
        self._stop = threading.Event()
        self._syncer: threading.Thread | None = None
        self._create_files(chains, heads, now, lost)
        self._syncer = threading.Thread(
            target=self._sync_until_stopped, name="audit-sync", daemon=True
        )
        self._syncer.start()

    def _create_files(self, chains: Path, heads: Path, now: str, lost: Mapping[str, Mark]) -> None:
        witnessed = {**_witness(heads), **lost}
        chain_path, head_path = chains / f"{self.name}.jsonl", heads / f"{self.name}.head"
        try:
            self.reserve_space()
            self._file = create_file(chain_path, os.O_APPEND)
            self._head_file = create_file(head_path, 0)
            self.append(
                {
                    "ts": now,
                    "type": "open",
                    "chain": self.name,
                    "pid": os.getpid(),
                    "heads": witnessed,
                }
            )
            for folder in (chains, heads):
                sync_folder(folder)
            _register(self._directory, self.name)
        except OSError:
            self.close()
            for path in (chain_path, head_path):  # half a chain would look like tampering
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            raise

    def is_removed(self) -> bool:
        """Tell whether the file or its head was deleted, so that new records would be lost."""
        return os.fstat(self._file).st_nlink == 0 or os.fstat(self._head_file).st_nlink == 0

    def mark(self) -> dict[str, Mark]:
        """Return what a later chain records about this one."""
        return {self.name: [self._head.count, self._head.hash]}

    def reserve_space(self) -> None:
        """Reserve a little space, so that the record of a completed change fits on a full disk."""
        if self._reserve is None:
            path = self._directory / f".reserve-{self.name}"
            reserve = create_file(path, 0)
            # The open descriptor alone keeps the space: a crash leaves no file behind.
            path.unlink()
            try:
                if os.write(reserve, b"\0" * RESERVE_BYTES) != RESERVE_BYTES:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.close(reserve)
                raise
            self._reserve = reserve

    def append(self, record: Mapping[str, Json]) -> None:
        """Append a record; on a full disk, use the reserved space."""
        line, head = seal(dict(record), self._head)
        try:
            self._write(line)
        except OSError:
            if self._reserve is None:
                raise
            os.close(self._reserve)
            self._reserve = None
            self._write(line)
        self._head = head
        os.pwrite(self._head_file, head.encode(), 0)
        if not self._dirty.is_set():  # while it is set, the next sync covers this record
            self._dirty.set()

    def _write(self, line: bytes) -> None:
        written = -1
        try:
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            if written > 0:
                os.ftruncate(self._file, self.size)  # half a record would look like tampering
            raise
        self.size += len(line)

    def _sync_until_stopped(self) -> None:
        while not self._stop.is_set():
            self._dirty.wait()
            self._stop.wait(SYNC_SECONDS)
            self._dirty.clear()
            self._sync()

    def _sync(self) -> None:
        try:
            sync_data(self._file)
            sync_data(self._head_file)
        except OSError as error:
            self.failed = True  # the next change starts a new chain or is refused
            log.error("the audit trail could not be synced to disk: %s", error)

    def close(self) -> None:
        """Sync and close the files."""
        self._stop.set()
        self._dirty.set()
        if self._syncer is not None:
            self._syncer.join(5)
            self._sync()
        for descriptor in (self._file, self._head_file, self._reserve):
            if descriptor is not None and descriptor >= 0:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        self._file = self._head_file = -1
        self._reserve = None


def _witness(heads: Path) -> dict[str, Mark]:
    """Return the heads that changed since the newest chain opened.

    Older ones are in the opening record of an earlier chain, so opening stays cheap with many
    chains.
    """
    known = [
        (entry.name.removesuffix(".head"), entry.stat())
        for entry in os.scandir(heads)
        if entry.name.endswith(".head")
    ]
    newest_open = max((_opened_ns(name) for name, _ in known), default=0)
    witnessed: dict[str, Mark] = {}
    for name, status in sorted(known):
        if status.st_mtime_ns >= newest_open - WITNESS_SLACK_NS:
            head = Head.read(heads / f"{name}.head")
            if head is not None:
                witnessed[name] = [head.count, head.hash]
    return witnessed


def _register(directory: Path, name: str) -> None:
    """Add a chain to the register; a new register also gets the existing chains."""
    path = register_path(directory)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        known = (
            ()
            if os.fstat(descriptor).st_size
            else sorted(entry.stem for entry in heads_folder(directory).glob("*.head"))
        )
        content = "".join(map(register_line, dict.fromkeys((*known, name)))).encode()
        if os.write(descriptor, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync_data(descriptor)
    finally:
        os.close(descriptor)


def _opened_ns(name: str) -> int:
    """Return when a chain opened, from its name. Precise to the second: see the slack."""
    try:
        return (
            int(datetime.fromisoformat(name.split("-")[0]).replace(tzinfo=UTC).timestamp())
            * 1_000_000_000
        )
    except ValueError:
        return 0


def create_file(path: Path, flags: int) -> int:
    """Create a private file and open it for writing."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | flags, 0o600)
