"""The one process that may keep callers' keys in its memory.

A second one on the same store is refused at its start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.storage.locks.leader import Leadership

LOCK_FILE = "credentials.lock"
LOCK_NAME = "commonplace: keys of callers in memory"
_TRY = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"


@contextlib.contextmanager
def sole_keeper(data: Path, database_url: str) -> Iterator[None]:
    """Hold the lock while serving: a file of the data folder, or a session's lock in PostgreSQL."""
    if database_url.startswith("sqlite:"):
        leadership = Leadership(data / LOCK_FILE)
        if not leadership.try_acquire():
            raise _refused()
        try:
            yield
        finally:
            leadership.release()
        return
    from commonplace.storage.postgres.database import PostgresDatabase

    database = PostgresDatabase(database_url, pool_size=1)
    try:
        with database.connect() as connection:
            row = connection.execute(_TRY, (LOCK_NAME,)).fetchone()
            if row is None or not row[0]:
                raise _refused()
            yield
    finally:
        database.close()


def _refused() -> CommonplaceError:
    return CommonplaceError(
        INVALID_CONFIG,
        "Another server on this store keeps its callers' model keys in memory; several processes "
        "must share them through a cache.",
        hint="Set settings.storage.cache_url to redis://HOST:PORT/0 in every process, or stop "
        "the other server.",
        details={"key": "settings.storage.cache_url"},
    )
