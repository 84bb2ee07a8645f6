"""The queue in PostgreSQL: what one server captured, every server of the team shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commonplace.context.capture.store.relational import RelationalProposalQueue
from commonplace.kernel.auth import Tenant
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries

Result = TypeVar("Result")
SCHEMA = SchemaComponent("capture", "commonplace.context.capture")
QUERIES = load_postgres_queries("commonplace.context.capture.store", "common.sql")


class PostgresQueueUnits:
    """The changes of a tenant run one by one."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def read(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work)

    async def write(self, work: Callable[[PostgresConnection], Result], tenant: Tenant) -> Result:
        return await self._database.write(work, lock=f"capture {tenant}")

    def close(self) -> None:
        """The connections belong to all domains."""


def open_postgres_queue(database: PostgresDatabase) -> RelationalProposalQueue:
    """Return the queue that all servers of a team share; its schema must be there."""
    return RelationalProposalQueue(PostgresQueueUnits(database), QUERIES)
