"""The audit trail: one hash-chained file per process.

A record is written before its call is answered. While that is impossible, changes are refused
(`ready`) and reads continue.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.telemetry.chain import chains_folder
from commonplace.telemetry.chain_writer import Mark, OpenChain, create_file
from commonplace.telemetry.errors import AUDIT_UNAVAILABLE
from commonplace.telemetry.recent import RecentReads

log = logging.getLogger("commonplace.audit")


class AuditLog:
    """The chain of this process. Its file is created by the first record."""

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
        self._chain: OpenChain | None = None
        # Chains of this process whose files were removed: each later chain names them.
        self._lost: dict[str, Mark] = {}
        self._closed = False
        self._has_written = False

    def ready(self) -> None:
        """Raise AUDIT_UNAVAILABLE unless a record can be written now."""
        with self._lock:
            try:
                self._open().reserve_space()
            except OSError as error:
                self._drop()
                raise _unavailable(error, self.directory) from error

    def append(self, record: Mapping[str, Json]) -> None:
        """Add a record to the chain. Raises AUDIT_UNAVAILABLE if that fails."""
        with self._lock:
            try:
                chain = self._open()
                chain.append(record if "ts" in record else {"ts": iso(self._clock()), **record})
                if chain.size >= self._segment_bytes:
                    self._drop()
            except OSError as error:
                self._drop()
                raise _unavailable(error, self.directory) from error

    @property
    def has_written(self) -> bool:
        """Whether this process has a chain."""
        return self._has_written

    def probe(self) -> None:
        """Raise AUDIT_UNAVAILABLE unless a file can be created. The file is removed again."""
        try:
            chains = chains_folder(self.directory)
            chains.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = chains / f".probe-{os.getpid()}"
            os.close(create_file(path, 0))
            path.unlink()
        except OSError as error:
            raise _unavailable(error, self.directory) from error

    def close(self) -> None:
        """Sync and close the chain."""
        with self._lock:
            self._closed = True
            self._drop()

    def _open(self) -> OpenChain:
        if self._closed:
            raise OSError("the audit trail is closed")
        if self._chain is not None and self._chain.is_removed():
            self._lost |= self._chain.mark()
            log.error(
                "the audit chain %s was removed while in use; a new chain records the loss",
                self._chain.name,
            )
        if self._chain is None or self._chain.failed or self._chain.name in self._lost:
            self._drop()
            self._chain = OpenChain(self.directory, iso(self._clock()), self._lost)
            self._has_written = True
        return self._chain

    def _drop(self) -> None:
        if self._chain is not None:
            self._chain.close()
            self._chain = None


def _unavailable(error: OSError, directory: Path) -> CommonplaceError:
    return CommonplaceError(
        AUDIT_UNAVAILABLE,
        f"The audit trail cannot be written ({error.strerror or error}), so changes are refused.",
        hint=f"Free disk space, or fix the permissions of {directory.name}/ in the data folder; "
        "`commonplace doctor` checks it.",
        retryable=True,
    )
