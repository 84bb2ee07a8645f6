"""The one process that synchronises a folder with the shared catalogue."""

from __future__ import annotations

import contextlib

import psycopg

from commonplace.instructions.store.postgres import QUERIES
from commonplace.storage.postgres.connection import RawConnection
from commonplace.storage.postgres.database import PostgresDatabase


class SyncLeadership:
    """A session lock on a connection of its own. PostgreSQL frees it when the process ends."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._raw: RawConnection | None = None

    def try_acquire(self) -> bool:
        """Tell whether this process leads; become the leader if there is none.

        Raises STORAGE_UNAVAILABLE. A leader that lost its connection competes again.
        """
        if self._raw is not None:
            try:
                self._raw.execute("SELECT 1")
                return True
            except psycopg.Error:
                self.release()
        raw = self._database.connect()
        row = raw.execute(QUERIES["lead_sync"]).fetchone()
        if row is None or not row[0]:
            raw.close()
            return False
        self._raw = raw
        return True

    def release(self) -> None:
        """Stop being the leader."""
        raw, self._raw = self._raw, None
        if raw is not None:
            with contextlib.suppress(psycopg.Error):
                raw.close()
