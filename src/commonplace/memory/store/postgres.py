"""Memory in PostgreSQL: every unit of work on a pooled connection, the changes of one tenant one
after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.memory.store.relational import LOCK_SECONDS, PostingWriter, SqlStore
from commonplace.storage.postgres.database import Connection, PostgresDatabase
from commonplace.storage.postgres.migrations import Component
from commonplace.storage.queries import load_postgres_queries

Result = TypeVar("Result")
SCHEMA = Component("memory", "commonplace.memory")
QUERIES = load_postgres_queries("commonplace.memory.store", "common.sql", "postgres.sql")


class PostgresMemoryStore(SqlStore):
    """The `Store` for any number of processes."""

    def __init__(self, database: PostgresDatabase, postings: PostingWriter) -> None:
        super().__init__(QUERIES, postings)
        self._database = database

    async def _look(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.read(work)

    async def _scan(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.read(work, snapshot=True)

    async def _commit(
        self, work: Callable[[Connection], Result], tenant: Tenant, seconds: float = LOCK_SECONDS
    ) -> Result:
        """Under the tenant's lock: of two that say the same thing at once the second sees the
        first, and word counts never collide.
        """
        return await self._database.write(
            work, lock=f"memory {tenant}", lock_timeout_seconds=seconds
        )

    async def _count(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.write(work)

    def _count_now(self, work: Callable[[Connection], Result]) -> Result:
        return self._database.write_now(work)
