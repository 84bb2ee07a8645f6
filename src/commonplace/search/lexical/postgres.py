"""Documents and postings in PostgreSQL: a search is one snapshot and a few round trips."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.search.lexical.index_searcher import IndexSearcher
from commonplace.search.lexical.index_writer import IndexWriter
from commonplace.search.model import (
    EVEN,
    LexicalResult,
    Partition,
    SearchUnavailableError,
    Sharing,
    Terms,
)
from commonplace.storage.failures import describe_publicly
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries

log = logging.getLogger("commonplace.search")
Result = TypeVar("Result")
SCHEMA = SchemaComponent("search", "commonplace.search")
_QUERIES = load_postgres_queries("commonplace.search.lexical", "common.sql", "postgres.sql")


class PostgresPostings(IndexWriter):
    """The lexical store of every collection in one database, shared by any number of processes."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(_QUERIES)
        self._database = database
        self._search = IndexSearcher(_QUERIES)

    async def search(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        return await self._read(
            lambda connection: self._search.search(
                connection, partition, terms, limit, weights, prefix, emphasis
            )
        )

    async def find_sharing(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        share: float,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
    ) -> Sharing:
        def find(connection: PostgresConnection) -> Sharing:
            plan = self._search.plan(connection, partition, terms, weights)
            if plan is None:
                return Sharing()
            return self._search.find_sharing(connection, plan, share, limit, weights, prefix)

        return await self._read(find)

    async def score_keys(
        self,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        *,
        weights: Mapping[str, float],
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        return await self._read(
            lambda connection: self._search.score(
                connection, partition, terms, keys, weights, emphasis
            )
        )

    async def contents(self, partition: Partition, keys: Sequence[str]) -> dict[str, Terms]:
        """Return the terms of given documents."""
        return await self._read(
            lambda connection: self._search.contents(connection, partition, keys)
        )

    async def _read(self, work: Callable[[PostgresConnection], Result]) -> Result:
        try:
            return await self._database.read(work, snapshot=True)
        except (psycopg.Error, CommonplaceError) as failed:
            log.warning("the posting lists cannot be read", exc_info=failed)
            raise SearchUnavailableError(describe_publicly(failed)) from failed
