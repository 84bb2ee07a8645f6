"""Documents and postings in PostgreSQL, BM25 in SQL over them.

A search is one snapshot and a few round trips, whatever it finds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.search.lexical.postings import SqlPostings
from commonplace.search.model import (
    IndexDocument,
    LexicalResult,
    Partition,
    SearchUnavailableError,
    Sharing,
    Terms,
)
from commonplace.storage.failures import public_reason
from commonplace.storage.postgres.database import Connection, PostgresDatabase
from commonplace.storage.postgres.migrations import Component
from commonplace.storage.queries import load_postgres_queries

log = logging.getLogger("commonplace.search")
Result = TypeVar("Result")
SCHEMA = Component("search", "commonplace.search")
_QUERIES = load_postgres_queries("commonplace.search.lexical")


class PostgresPostings(SqlPostings[Connection]):
    """The lexical store of every collection in one database, shared by any number of processes."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(_QUERIES)
        self._database = database

    async def search(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
    ) -> LexicalResult:
        return await self._read(
            lambda connection: self.search_in(connection, partition, terms, limit, weights, prefix)
        )

    async def sharing(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        share: float,
        limit: int,
        weights: Mapping[str, float],
    ) -> Sharing:
        return await self._read(
            lambda connection: self.sharing_in(connection, partition, terms, share, limit, weights)
        )

    async def score_keys(
        self,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        *,
        weights: Mapping[str, float],
    ) -> LexicalResult:
        return await self._read(
            lambda connection: self.score_in(connection, partition, terms, keys, weights)
        )

    async def held(self, partition: Partition, keys: Sequence[str]) -> dict[str, Terms]:
        return await self._read(lambda connection: self.held_in(connection, partition, keys))

    def put_soon(
        self, connection: Connection, partition: Partition, document: IndexDocument
    ) -> None:
        """Without asking first whether the key is there: a new one hardly ever is, and that
        would be a round trip.
        """
        number = self._opened(connection, partition)
        added = self._add_documents(connection, number, [document], keep_terms=True)
        if not added:
            self.put(connection, partition, [document])
            return
        self._count_fields(connection, number, [held for _, held in added], 1)
        self._add_postings(connection, number, added)

    async def _read(self, work: Callable[[Connection], Result]) -> Result:
        try:
            return await self._database.read(work, snapshot=True)
        except (psycopg.Error, CommonplaceError) as failed:
            log.warning("the posting lists cannot be read", exc_info=failed)
            raise SearchUnavailableError(public_reason(failed)) from failed
