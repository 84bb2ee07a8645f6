"""The queue in SQLite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from commonplace.context.capture.store.relational import RelationalProposalQueue
from commonplace.kernel.auth import Tenant
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

Result = TypeVar("Result")
DATABASE = "capture.db"
CACHE_KIB = 1_024
QUERIES = load_queries("commonplace.context.capture.store", "common.sql")


class SqliteQueueUnits:
    """Reads in the reader pool; a change is on the disk when it is acknowledged."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.read(work)

    async def write(self, work: Callable[[Connection], Result], tenant: Tenant) -> Result:
        return await self._database.write(work)

    def close(self) -> None:
        self._database.close()


def open_sqlite_queue(data: Path) -> RelationalProposalQueue:
    """Open the queue of a data folder; migrates its table."""
    database = Database(data / DATABASE, cache_kib=CACHE_KIB, mapped_bytes=0)
    migrate(
        database, "capture", load_migrations("commonplace.context.capture", "migrations/sqlite")
    )
    return RelationalProposalQueue(SqliteQueueUnits(database), QUERIES)
