"""Packs in SQLite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from commonplace.context.store.relational import RelationalPackStore
from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

Result = TypeVar("Result")
DATABASE = "context.db"
CACHE_KIB = 1_024
QUERIES = load_queries("commonplace.context.store", "common.sql", "sqlite.sql")


class SqlitePackUnits:
    """Point reads in the caller's thread; a power failure may undo the last writes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        return work(self._database.reader())

    async def write(self, work: Callable[[Connection], Result], tenant: Tenant) -> Result:
        return await self._database.write(work, durable=False)

    def close(self) -> None:
        self._database.close()


def open_sqlite_packs(data: Path, clock: Clock = utc_now) -> RelationalPackStore:
    """Open the packs of a data folder; migrates their tables."""
    database = Database(data / DATABASE, cache_kib=CACHE_KIB, mapped_bytes=0)
    migrate(database, "context", load_migrations("commonplace.context", "migrations/sqlite"))
    return RelationalPackStore(SqlitePackUnits(database), QUERIES, clock)
