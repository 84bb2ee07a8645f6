"""Packs in PostgreSQL: any server of a team can answer `since`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.context.store.relational import RelationalPackStore
from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries

Result = TypeVar("Result")
SCHEMA = SchemaComponent("context", "commonplace.context")
QUERIES = load_postgres_queries("commonplace.context.store", "common.sql", "postgres.sql")


class PostgresPackUnits:
    """The changes of a tenant run one by one."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def read(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work)

    async def write(self, work: Callable[[PostgresConnection], Result], tenant: Tenant) -> Result:
        return await self._database.write(work, lock=f"context {tenant}")

    def close(self) -> None:
        """The connections belong to all domains."""


def open_postgres_packs(database: PostgresDatabase, clock: Clock = utc_now) -> RelationalPackStore:
    """Return the packs that all servers of a team share; their schema must be there."""
    return RelationalPackStore(PostgresPackUnits(database), QUERIES, clock)
