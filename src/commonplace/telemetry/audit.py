"""The audit trail: one hash-chained file per process, its head kept apart, synced to disk within
100 ms.

A record is written before its call is answered. When it cannot be, changes are refused (`ready`)
and reads go on.
"""

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
from typing import Any

from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.durability import sync_data, sync_folder
from commonplace.kernel.errors import CommonplaceError
from commonplace.telemetry.chain import (
    EMPTY,
    Head,
    chains_folder,
    heads_folder,
    register_line,
    register_path,
    seal,
)
from commonplace.telemetry.errors import AUDIT_UNAVAILABLE
from commonplace.telemetry.recent import RecentReads

log = logging.getLogger("commonplace.audit")

SYNC_SECONDS = 0.08  # the disk adds a few milliseconds: together within 100
RESERVE_BYTES = 64 * 1024
WITNESS_SLACK_NS = 5_000_000_000


class AuditLog:
    """This process's chain.

    The file is made with the first record, so a process that changes nothing leaves nothing.
    """

    def __init__(
        self,
        directory: Path,
        *,
        segment_bytes: int = 64 << 20,
        recent_reads: int = 1000,
        clock: Clock = utc_now,
    ) -> None:
        self.directory = directory
        self.reads = RecentReads(recent_reads)
        self._segment_bytes = segment_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._chain: _OpenChain | None = None
        self._lost: dict[
            str, list[Any]
        ] = {}  # chains of this process whose files were removed: each later chain names them
        self._closed = False

    def ready(self) -> None:
        """Raise AUDIT_UNAVAILABLE unless a record can be written now."""
        with self._lock:
            try:
                self._open().make_room()
            except OSError as error:
                self._drop()
                raise _unavailable(error, self.directory) from error

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record to the chain. Raises AUDIT_UNAVAILABLE where that fails."""
        with self._lock:
            try:
                chain = self._open()
                chain.append(record if "ts" in record else {"ts": iso(self._clock()), **record})
                if chain.size >= self._segment_bytes:
                    self._drop()
            except OSError as error:
                self._drop()
                raise _unavailable(error, self.directory) from error

    def probe(self) -> None:
        """Raise AUDIT_UNAVAILABLE unless a file can be made here. Leaves nothing behind."""
        try:
            chains = chains_folder(self.directory)
            chains.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = chains / f".probe-{os.getpid()}"
            os.close(_create(path, 0))
            path.unlink()
        except OSError as error:
            raise _unavailable(error, self.directory) from error

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._drop()

    def _open(self) -> _OpenChain:
        if self._closed:
            raise OSError("the audit trail is closed")
        if self._chain is not None and self._chain.removed():
            self._lost |= self._chain.mark()
            log.error(
                "the audit chain %s was removed while it was written; a new chain records the loss",
                self._chain.name,
            )
        if self._chain is None or self._chain.failed or self._chain.name in self._lost:
            self._drop()
            self._chain = _OpenChain(self.directory, iso(self._clock()), self._lost)
        return self._chain

    def _drop(self) -> None:
        if self._chain is not None:
            self._chain.close()
            self._chain = None


class _OpenChain:
    def __init__(self, directory: Path, now: str, lost: Mapping[str, list[Any]]) -> None:
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
        witnessed = {**_witness(heads), **lost}
        chain_path, head_path = chains / f"{self.name}.jsonl", heads / f"{self.name}.head"
        self._file = self._head_file = -1
        self._dirty = threading.Event()
        self._stop = threading.Event()
        self._syncer: threading.Thread | None = None
        try:
            self.make_room()
            self._file = _create(chain_path, os.O_APPEND)
            self._head_file = _create(head_path, 0)
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
            _register(directory, self.name)
        except OSError:
            self.close()
            for path in (
                chain_path,
                head_path,
            ):  # it holds nothing yet, and half a chain would read as tampering
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            raise
        self._syncer = threading.Thread(
            target=self._sync_until_stopped, name="audit-sync", daemon=True
        )
        self._syncer.start()

    def removed(self) -> bool:
        """Tell whether the chain's file, or its head, has lost its name: what is appended now
        would be gone.
        """
        return os.fstat(self._file).st_nlink == 0 or os.fstat(self._head_file).st_nlink == 0

    def mark(self) -> dict[str, list[Any]]:
        """What a later chain says of this one."""
        return {self.name: [self._head.count, self._head.hash]}

    def make_room(self) -> None:
        """Hold a little space back, so that the record of a change already made finds room on a
        full disk.
        """
        if self._reserve is None:
            path = self._directory / f".reserve-{self.name}"
            reserve = _create(path, 0)
            # the open descriptor alone holds the space, and no crash leaves a file behind
            path.unlink()
            try:
                if os.write(reserve, b"\0" * RESERVE_BYTES) != RESERVE_BYTES:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.close(reserve)
                raise
            self._reserve = reserve

    def append(self, record: Mapping[str, Any]) -> None:
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
        if (
            not self._dirty.is_set()
        ):  # while it is set, a sync that covers this record is still to come
            self._dirty.set()

    def _write(self, line: bytes) -> None:
        written = -1
        try:
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            if written > 0:
                os.ftruncate(self._file, self.size)  # half a record would read as tampering
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
            self.failed = True  # the next change opens a new chain or is refused
            log.error("the audit trail could not be synced to disk: %s", error)

    def close(self) -> None:
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


def _witness(heads: Path) -> dict[str, list[Any]]:
    """The heads of other chains that no chain has witnessed yet: those that moved since the
    newest chain opened.

    Older ones stand in the opening record of an earlier chain, so opening stays cheap however many
    chains there are.
    """
    seen = [
        (entry.name.removesuffix(".head"), entry.stat())
        for entry in os.scandir(heads)
        if entry.name.endswith(".head")
    ]
    newest_open = max((_opened_ns(name) for name, _ in seen), default=0)
    witnessed: dict[str, list[Any]] = {}
    for name, status in sorted(seen):
        if status.st_mtime_ns >= newest_open - WITNESS_SLACK_NS:
            head = Head.read(heads / f"{name}.head")
            if head is not None:
                witnessed[name] = [head.count, head.hash]
    return witnessed


def _register(directory: Path, name: str) -> None:
    """Add a chain to the register; the first entry of a new register brings the chains that are
    there already.
    """
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
    """When a chain opened, from its name (seconds are enough: see the slack)."""
    try:
        return (
            int(datetime.fromisoformat(name.split("-")[0]).replace(tzinfo=UTC).timestamp())
            * 1_000_000_000
        )
    except ValueError:
        return 0


def _create(path: Path, flags: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | flags, 0o600)


def _unavailable(error: OSError, directory: Path) -> CommonplaceError:
    return CommonplaceError(
        AUDIT_UNAVAILABLE,
        f"The audit trail cannot be written ({error.strerror or error}), so nothing may be "
        f"changed.",
        hint=f"Free space on the disk, or mend the permissions of the folder {directory.name}/ "
        f"in the data folder; "
        "`commonplace doctor` checks it.",
        retryable=True,
    )
