"""Memory in SQLite: point reads on the caller's thread, scans in the reader pool, changes in the
writer thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.memory.store.relational import LOCK_SECONDS, SqlStore
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

Result = TypeVar("Result")
QUERIES = load_queries("commonplace.memory.store", "common.sql", "sqlite.sql")


class SqliteMemoryStore(SqlStore):
    """The `Store` on one machine."""

    def __init__(self, database: Database, postings: SqlitePostings) -> None:
        super().__init__(QUERIES, postings)
        migrate(database, "memory", load_migrations("commonplace.memory", "migrations/sqlite"))
        self._database = database

    async def _look(self, work: Callable[[Connection], Result]) -> Result:
        return work(self._database.reader())

    async def _scan(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.read(work)

    async def _commit(
        self, work: Callable[[Connection], Result], tenant: Tenant, seconds: float = LOCK_SECONDS
    ) -> Result:
        """One writer at a time holds the whole database: no tenant needs a lock of its own."""
        return await self._database.write(work, lock_timeout_seconds=seconds)

    async def _count(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.write(work)

    def _count_now(self, work: Callable[[Connection], Result]) -> Result:
        return self._database.write_now(work)
