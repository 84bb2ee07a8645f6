"""The lock that makes a server the only writer of the shared catalogue."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import psycopg
from psycopg import errors

from commonplace.instructions.errors import CATALOGUE_BUSY
from commonplace.instructions.store.postgres import QUERIES
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.connection import PostgresConnection, RawConnection
from commonplace.storage.postgres.database import RECONNECT_SECONDS, PostgresDatabase
from commonplace.storage.postgres.errors import LOST_CONNECTION, unavailable

PAUSE_SECONDS = 0.05
# A process that is stopped in the middle of a change must not keep the lock for ever.
_IDLE_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', '300s', true)"


def busy() -> CommonplaceError:
    """Return the error of a catalogue that another server is writing to."""
    return CommonplaceError(
        CATALOGUE_BUSY,
        "Another server is writing to the catalogue.",
        hint="Try again.",
        retryable=True,
    )


class WriterLease:
    """An advisory lock in an open transaction, on a connection of its own.

    PostgreSQL releases the lock of a process that dies. The lock only orders writers; that nobody
    overwrites what others committed is ensured by the numbers of the changes.
    """

    def __init__(self, database: PostgresDatabase, lock_seconds: float) -> None:
        self._database = database
        self._lock_seconds = lock_seconds
        self._raw: RawConnection | None = None

    @contextlib.contextmanager
    def hold(self) -> Iterator[PostgresConnection]:
        """Hold the lock; the connection sees everything that earlier holders committed.

        Raises CATALOGUE_BUSY or STORAGE_UNAVAILABLE.
        """
        raw = self._acquire()
        try:
            yield PostgresConnection(raw)
        finally:
            try:
                raw.execute("ROLLBACK")
            except psycopg.Error:
                self.close()

    def close(self) -> None:
        """Close the connection; the next use opens another one."""
        raw, self._raw = self._raw, None
        if raw is not None:
            with contextlib.suppress(psycopg.Error):
                raw.close()

    def _acquire(self) -> RawConnection:
        give_up_at = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                return self._begin()
            except errors.LockNotAvailable as waited:
                self.close()
                raise busy() from waited
            except LOST_CONNECTION as lost:
                self.close()
                if time.monotonic() > give_up_at:
                    raise unavailable() from lost
            except CommonplaceError:
                if time.monotonic() > give_up_at:
                    raise
            time.sleep(PAUSE_SECONDS)

    def _begin(self) -> RawConnection:
        if self._raw is None:
            self._raw = self._database.connect()
        raw = self._raw
        with raw.pipeline():
            raw.execute("BEGIN")
            raw.execute(_IDLE_LIMIT)
            raw.execute(QUERIES["lock"], {"wait": f"{int(self._lock_seconds * 1000)}ms"})
        return raw
