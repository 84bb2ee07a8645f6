"""The queues of vectors in SQLite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.files.store.sql_files import microseconds
from commonplace.files.store.sql_vectors import SqlVectorJobs
from commonplace.files.store.sqlite import open_schema
from commonplace.files.store.sqlite_index import INDEX_LOCK_SECONDS
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Connection, Database

Result = TypeVar("Result")
QUERIES = load_queries("commonplace.files.store", "sqlite_vectors.sql")


class SqliteVectorJobs(SqlVectorJobs[Connection]):
    """`VectorJobStore` on one machine."""

    def __init__(
        self, database: Database, *, now: Callable[[], int] = microseconds, local: bool = False
    ) -> None:
        super().__init__(QUERIES, now, local=local)
        open_schema(database)
        self._database = database

    async def _look(self, work: Callable[[Connection], Result]) -> Result:
        with self._database.snapshot() as connection:
            return work(connection)

    async def _write(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.write(
            work, lock_timeout_seconds=INDEX_LOCK_SECONDS, durable=False
        )
