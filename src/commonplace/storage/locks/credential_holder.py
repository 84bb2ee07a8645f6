"""The lock of the one process that may hold its callers' model keys in memory.

Several processes on one store must share them through a cache, so a second one is refused at start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.storage.locks.leader import LeaderLock

LOCK_FILE = "credentials.lock"
LOCK_NAME = "commonplace: keys of callers in memory"
_TRY_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"


@contextlib.contextmanager
def hold_credentials_lock(data: Path, database_url: str) -> Iterator[None]:
    """Hold the lock while serving: a file in the data folder, or a session lock in PostgreSQL."""
    if database_url.startswith("sqlite:"):
        lock = LeaderLock(data / LOCK_FILE)
        if not lock.try_acquire():
            raise _make_holder_error()
        try:
            yield
        finally:
            lock.release()
        return
    from commonplace.storage.postgres.database import PostgresDatabase

    database = PostgresDatabase(database_url, pool_size=1)
    try:
        with database.connect() as connection:
            row = connection.execute(_TRY_LOCK, (LOCK_NAME,)).fetchone()
            if row is None or not row[0]:
                raise _make_holder_error()
            yield
    finally:
        database.close()


def _make_holder_error() -> CommonplaceError:
    return CommonplaceError(
        INVALID_CONFIG,
        "Another server on this store keeps its callers' model keys in memory; several processes "
        "must share them through a cache.",
        hint="Set settings.storage.cache_url to redis://HOST:PORT/0 in every process, or stop "
        "the other server.",
        details={"key": "settings.storage.cache_url"},
    )
