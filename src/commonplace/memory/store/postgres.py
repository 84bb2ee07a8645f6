"""Memory in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.memory.store.relational import RelationalMemoryStore
from commonplace.memory.store.units import BULK_SECONDS, LOCK_SECONDS
from commonplace.search.lexical.index_writer import IndexWriter
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries

Result = TypeVar("Result")
SCHEMA = SchemaComponent("memory", "commonplace.memory")
QUERIES = load_postgres_queries("commonplace.memory.store", "common.sql", "postgres.sql")


class PostgresUnits:
    """Runs every unit of work on a pooled connection, the changes of a tenant one by one."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def look(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work)

    async def scan(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work, snapshot=True)

    async def commit(self, work: Callable[[PostgresConnection], Result], tenant: Tenant) -> Result:
        """Run a change under the tenant's lock.

        Of two equal entries added at once the second sees the first, and word counts never collide.
        """
        return await self._commit(work, tenant, LOCK_SECONDS)

    async def commit_bulk(
        self, work: Callable[[PostgresConnection], Result], tenant: Tenant
    ) -> Result:
        """Run a change that may add many rows to few.

        Plans that fit the few would read all rows for each new one.
        """

        def planned(connection: PostgresConnection) -> Result:
            connection.plan_each_time()
            return work(connection)

        return await self._commit(planned, tenant, BULK_SECONDS)

    async def _commit(
        self, work: Callable[[PostgresConnection], Result], tenant: Tenant, seconds: float
    ) -> Result:
        lock = f"memory {tenant}"
        return await self._database.write(work, lock=lock, lock_timeout_seconds=seconds)

    async def count(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.write(work)

    def count_now(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return self._database.write_now(work)

    async def overwrite_freed_space(self) -> bool:
        """Leave it to the database server, which owns its files."""
        return True


def open_postgres_store(database: PostgresDatabase, postings: IndexWriter) -> RelationalMemoryStore:
    """Return the store for any number of processes; its schema must be there."""
    return RelationalMemoryStore(PostgresUnits(database), QUERIES, postings)
