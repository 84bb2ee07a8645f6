"""Files in PostgreSQL: any number of servers, one writer per project."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.files.store.file_store import FileDialect, SqlFileStore, lock_of
from commonplace.files.store.units import microseconds
from commonplace.files.store.vector_jobs import SqlVectorJobs
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries
from commonplace.storage.relational import SqlConnection

Result = TypeVar("Result")
INDEX_LOCK_SECONDS = 30.0  # an index worker may wait longer than a caller
SCHEMA = SchemaComponent("files", "commonplace.files")
PACKAGE = "commonplace.files.store"
QUERIES = load_postgres_queries(
    PACKAGE,
    "common.sql",
    "common_symbols.sql",
    "common_extracts.sql",
    "postgres.sql",
    "moved.sql",
)
VECTOR_QUERIES = load_postgres_queries(PACKAGE, "common_vectors.sql", "postgres_vectors.sql")


def _lock_projects(connection: SqlConnection, tenant: str) -> None:
    """Lock every project of a tenant against other writers."""
    assert isinstance(connection, PostgresConnection)
    for project, _, _ in connection.execute(QUERIES["projects"], {"tenant": tenant}).fetchall():
        connection.lock(lock_of(tenant, str(project)))


# a listing asks for all directories it needs in one round trip
DIALECT = FileDialect(
    QUERIES, directories_at_once=4096, lock_projects=_lock_projects, own_tables=("moved",)
)


class PostgresFileUnits:
    """`FileUnits` of a team."""

    def __init__(self, database: PostgresDatabase, lock_timeout_seconds: float) -> None:
        self._database = database
        self._lock_timeout_seconds = lock_timeout_seconds

    async def look(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work)

    async def scan(
        self, work: Callable[[PostgresConnection], Result], *, rows: int | None = None
    ) -> Result:
        return await self._database.read(work, snapshot=True)

    async def commit(
        self, work: Callable[[PostgresConnection], Result], lock: str | None
    ) -> Result:
        return await self._database.write(
            work, lock=lock, lock_timeout_seconds=self._lock_timeout_seconds
        )


class PostgresIndexUnits:
    """`IndexUnits` of a team."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def look(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work, snapshot=True)

    async def scan(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work, snapshot=True)

    async def commit(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.write(work, lock_timeout_seconds=INDEX_LOCK_SECONDS)


def postgres_files(
    database: PostgresDatabase,
    *,
    lock_timeout_seconds: float = 3.0,
    now: Callable[[], int] = microseconds,
) -> SqlFileStore:
    """Return the `FileStore` of a team."""
    units = PostgresFileUnits(database, lock_timeout_seconds)
    return SqlFileStore(units, DIALECT, lock_timeout_seconds, now)


def postgres_vector_jobs(
    database: PostgresDatabase, *, now: Callable[[], int] = microseconds, local: bool = False
) -> SqlVectorJobs:
    """Return the `VectorJobStore` of a team: each job is with one worker."""
    return SqlVectorJobs(PostgresIndexUnits(database), VECTOR_QUERIES, now, local=local)
