"""Memory in SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.memory.store.relational import RelationalMemoryStore
from commonplace.memory.store.units import BULK_SECONDS, LOCK_SECONDS
from commonplace.search.lexical.index_writer import IndexWriter
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

Result = TypeVar("Result")
QUERIES = load_queries("commonplace.memory.store", "common.sql", "sqlite.sql")
FILE_QUERIES = load_queries("commonplace.memory.store", "scrubbing.sql")


class SqliteUnits:
    """Runs point reads in the caller's thread, scans in the reader pool, changes in the writer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, work: Callable[[Connection], Result]) -> Result:
        return work(self._database.reader())

    async def scan(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.read(work)

    async def commit(self, work: Callable[[Connection], Result], tenant: Tenant) -> Result:
        """Run a change; the whole database has one writer, so the tenant needs no lock."""
        return await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS)

    async def commit_bulk(self, work: Callable[[Connection], Result], tenant: Tenant) -> Result:
        return await self._database.write(work, lock_timeout_seconds=BULK_SECONDS)

    async def count(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.write(work)

    def count_now(self, work: Callable[[Connection], Result]) -> Result:
        return self._database.write_now(work)

    async def overwrite_freed_space(self) -> bool:
        """Empty the log; rewrite a file that is older than the overwriting of deleted content."""
        unscrubbed = self._database.reader().execute(FILE_QUERIES["unscrubbed"]).fetchone()
        compact = unscrubbed is not None
        if not await asyncio.to_thread(self._database.empty_log, compact=compact):
            return False
        if compact:
            await self._database.write(lambda c: c.execute(FILE_QUERIES["scrubbed"]).fetchall())
        return True


def open_sqlite_store(database: Database, postings: IndexWriter) -> RelationalMemoryStore:
    """Return the store on one machine; migrates its tables."""
    migrate(database, "memory", load_migrations("commonplace.memory", "migrations/sqlite"))
    return RelationalMemoryStore(SqliteUnits(database), QUERIES, postings)
