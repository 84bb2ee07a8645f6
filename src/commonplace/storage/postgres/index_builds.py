"""Indexes that are built and dropped beside running queries, by one session at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg

from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase

BUILD_MEMORY = "512MB"  # of the server while it builds an index, unless more is configured
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%(key)s, 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%(key)s, 0))"
_VALIDITY = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%(name)s::text)"
# A graph that does not fit is built many times slower.
_MEMORY = """
SELECT set_config('maintenance_work_mem', %(memory)s::text, false)
WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes(%(memory)s::text)"""


@contextlib.contextmanager
def open_exclusive_session(
    database: PostgresDatabase, key: str
) -> Iterator[PostgresConnection | None]:
    """Open a session of the server under an advisory lock; yield None if another one has it.

    A session that ends, however it does, has the lock no longer.
    """
    with contextlib.closing(database.connect()) as raw:
        connection = PostgresConnection(raw)
        locked = connection.execute(_LOCK, {"key": key}).fetchone()
        if locked is None or not locked[0]:
            yield None
            return
        try:
            yield connection
        finally:  # the server ends a closed session a moment later; another one may not wait
            with contextlib.suppress(psycopg.Error):
                connection.execute(_UNLOCK, {"key": key})


def find_validity(connection: PostgresConnection, name: str) -> bool | None:
    """Return whether an index can be used; None if there is none of this name."""
    row = connection.execute(_VALIDITY, {"name": name}).fetchone()
    return bool(row[0]) if row is not None else None


def build_index(connection: PostgresConnection, name: str, statement: str) -> bool:
    """Build an index unless there is a valid one; return whether it was built.

    What an interrupted build left is replaced. The statement creates the index concurrently.
    """
    valid = find_validity(connection, name)
    if valid:
        return False
    if valid is not None:
        drop_index(connection, name)
    connection.execute(_MEMORY, {"memory": BUILD_MEMORY})
    connection.execute(statement)
    return True


def drop_index(connection: PostgresConnection, name: str) -> None:
    """Drop an index, whose name is one of our own."""
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
