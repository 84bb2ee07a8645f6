"""Files in PostgreSQL: every mutation one transaction under the project's advisory lock, shared
by any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.files.store.sql_files import SqlFiles, lock_of, microseconds
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries

Result = TypeVar("Result")
SCHEMA = SchemaComponent("files", "commonplace.files")
QUERIES = load_postgres_queries("commonplace.files.store")
DIRECTORIES_AT_ONCE = 4096  # a listing asks for all it needs in one round trip


class PostgresFiles(SqlFiles[PostgresConnection]):
    """The `FileStore` of a team."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        lock_timeout_seconds: float = 3.0,
        now: Callable[[], int] = microseconds,
    ) -> None:
        super().__init__(QUERIES, lock_timeout_seconds, now, DIRECTORIES_AT_ONCE)
        self._database = database

    async def _look(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work)

    async def _scan(
        self, work: Callable[[PostgresConnection], Result], *, rows: int | None = None
    ) -> Result:
        return await self._database.read(work, snapshot=True)

    async def _commit(
        self, work: Callable[[PostgresConnection], Result], lock: str | None
    ) -> Result:
        return await self._database.write(
            work, lock=lock, lock_timeout_seconds=self._lock_timeout_seconds
        )

    def _move(self, connection: PostgresConnection, old: str, new: str) -> int:
        """Nobody may write to the old tenant's projects meanwhile."""
        for project, _, _ in connection.execute(QUERIES["projects"], {"tenant": old}).fetchall():
            connection.lock(lock_of(old, str(project)))
        return super()._move(connection, old, new)
