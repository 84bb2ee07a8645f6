"""Who uses a database: servers hold a shared lock, and a command may need it exclusively.

The lock belongs to a session, so a server that was killed holds it no longer.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.locks.data_folder import DATA_IN_USE
from commonplace.storage.postgres.connection import RawConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.errors import describe_for_log

log = logging.getLogger("commonplace.storage")

CHECK_SECONDS = 2.0
RETRY_SECONDS = 0.5
KEY = {"key": "commonplace: servers of this database"}
_SHARE = "SELECT pg_advisory_lock_shared(hashtextextended(%(key)s, 0))"
_RELEASE = "SELECT pg_advisory_unlock_shared(hashtextextended(%(key)s, 0))"
_CLAIM = "SELECT pg_try_advisory_lock(hashtextextended(%(key)s, 0))"
_HOLDERS = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND ((classid::bigint << 32) | objid::bigint) = hashtextextended(%(key)s, 0)"""


class ServingLock:
    """The shared lock of one server, taken again after a lost connection."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Take the lock; wait for a command that has it exclusively."""
        connection = self._share()
        self._thread = threading.Thread(
            target=self._hold, args=(connection,), name="serving-lock", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Release the lock."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _share(self) -> RawConnection:
        connection = self._database.connect()
        try:
            connection.execute(_SHARE, KEY)
        except BaseException:  # whatever the reason: its connection must not stay open
            connection.close()
            raise
        return connection

    def _hold(self, connection: RawConnection) -> None:
        while True:
            try:
                with connection:
                    while not self._stopping.wait(CHECK_SECONDS):
                        connection.execute("SELECT 1")
                    # The server ends a closed session a moment later; a command may not wait.
                    connection.execute(_RELEASE, KEY)
                    return
            except psycopg.Error as lost:
                log.warning("the lock of servers was lost: %s", describe_for_log(lost))
            while not self._stopping.wait(RETRY_SECONDS):
                with contextlib.suppress(CommonplaceError, psycopg.Error):
                    connection = self._share()
                    break
            else:
                return


@contextlib.contextmanager
def share_database(database: PostgresDatabase) -> Iterator[None]:
    """Use a database together with other servers."""
    lock = ServingLock(database)
    lock.start()
    try:
        yield
    finally:
        lock.stop()


@contextlib.contextmanager
def claim_database(database: PostgresDatabase) -> Iterator[None]:
    """Use a database while no server does. Raises DATA_IN_USE."""
    with database.connect() as connection:
        row = connection.execute(_CLAIM, KEY).fetchone()
        if row is None or not row[0]:
            holders = connection.execute(_HOLDERS, KEY).fetchone()
            count = int(holders[0]) if holders else 0
            raise CommonplaceError(
                DATA_IN_USE,
                f"{count or 'Some'} servers or workers are using the database.",
                hint="Stop them on every machine, then try again.",
                details={"servers": count},
            )
        yield
