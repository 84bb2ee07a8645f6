"""The queues of vectors in PostgreSQL: any number of workers, each job with one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.files.store.postgres_index import INDEX_LOCK_SECONDS
from commonplace.files.store.sql_files import microseconds
from commonplace.files.store.sql_vectors import SqlVectorJobs
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_postgres_queries

Result = TypeVar("Result")
QUERIES = load_postgres_queries("commonplace.files.store", "postgres_vectors.sql")


class PostgresVectorJobs(SqlVectorJobs[PostgresConnection]):
    """`VectorJobStore` of a team."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        now: Callable[[], int] = microseconds,
        local: bool = False,
    ) -> None:
        super().__init__(QUERIES, now, local=local)
        self._database = database

    async def _look(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work, snapshot=True)

    async def _write(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.write(work, lock_timeout_seconds=INDEX_LOCK_SECONDS)
