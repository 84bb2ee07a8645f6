"""Documents and postings in SQLite: short searches on the caller's thread, long ones over arrays
in memory where numpy is installed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import apsw

from commonplace.search.lexical.index_searcher import IndexSearcher
from commonplace.search.lexical.index_writer import IndexWriter
from commonplace.search.lexical.packing import LEAST_DOCUMENTS, Packing
from commonplace.search.lexical.plan import QueryPlan, leading_terms
from commonplace.search.lexical.posting_cache import PostingCache
from commonplace.search.lexical.ranking import RankedDocument, SqlRanker
from commonplace.search.lexical.write_buffer import EMPTY, WriteBuffer
from commonplace.search.model import (
    EVEN,
    LexicalResult,
    Partition,
    SearchUnavailableError,
    Sharing,
    Terms,
)
from commonplace.storage.failures import describe_publicly
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.relational import SqlConnection as AnyConnection
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

log = logging.getLogger("commonplace.search")
Result = TypeVar("Result")
INLINE_POSTINGS = 2_000  # fewer are ranked faster here than the hop to another thread takes
_QUERIES = load_queries("commonplace.search.lexical", "common.sql", "sqlite.sql")
_BUFFER = load_queries("commonplace.search.lexical", "write_buffer.sql")
_LISTS = load_queries("commonplace.search.lexical", "posting_cache.sql")
DELETED_SHARE = 0.25  # deleted documents among the best that call for fresh lists


@contextmanager
def _as_unavailable() -> Iterator[None]:
    """Turn errors of the database into SearchUnavailableError: meaning may still answer."""
    try:
        yield
    except apsw.Error as failed:
        log.warning("the posting lists cannot be read", exc_info=failed)
        raise SearchUnavailableError(describe_publicly(failed)) from failed


class CachedRanker:
    """`Ranker` over cached posting lists; short queries are left to SQL."""

    def __init__(self, sql: SqlRanker, cache: PostingCache) -> None:
        self._sql = sql
        self._cache = cache

    def best(
        self, connection: AnyConnection, plan: QueryPlan, first: int, prefix: str, wanted: int
    ) -> list[RankedDocument]:
        if plan.postings <= INLINE_POSTINGS:
            return self._sql.best(connection, plan, first, prefix, wanted)
        room = first + first // 2  # some of the best may have been deleted
        buffered = plan.buffered.state != EMPTY
        rows = self._cache.ranked(connection, plan.weighted, room, buffered=buffered)
        ranked, deleted = self._sql.add_keys(connection, plan, rows, prefix, wanted)
        if deleted > DELETED_SHARE * wanted:
            rows = self._cache.ranked(connection, plan.weighted, first, refresh=True)
            ranked, _ = self._sql.add_keys(connection, plan, rows, prefix, wanted)
        return ranked

    def matching(
        self, connection: AnyConnection, plan: QueryPlan, document_ids: Sequence[int]
    ) -> Iterable[tuple[int, int]]:
        pairs = None
        if plan.postings > INLINE_POSTINGS:
            pairs = self._cache.matching(plan.weighted, document_ids)
        return pairs if pairs is not None else self._sql.matching(connection, plan, document_ids)


class SqlitePostings(IndexWriter):
    """The lexical store of every collection in one database file."""

    def __init__(self, database: Database, *, in_memory: bool = True) -> None:
        """`in_memory`: rank long lists over arrays where numpy is installed, instead of in SQL."""
        cached = in_memory and PostingCache.available()
        buffer = WriteBuffer(_BUFFER)
        super().__init__(_QUERIES, buffer)
        self._database = database
        self._state = buffer.state
        self._cache = PostingCache(_LISTS)
        ranker = CachedRanker(SqlRanker(_QUERIES), self._cache) if cached else None
        self._search = IndexSearcher(_QUERIES, ranker, buffer)
        self._packing = (
            Packing(database, _LISTS, least_documents=LEAST_DOCUMENTS) if cached else None
        )
        migrate(database, "search", load_migrations("commonplace.search", "migrations/sqlite"))

    def cached(self) -> dict[str, int]:
        """Return the size of the cache of posting lists."""
        return self._cache.size()

    async def tidy(self) -> bool:
        """Do a short piece of work that makes later searches cheaper; False when there is none.

        For the index worker, when idle.
        """
        return self._packing is not None and await self._packing.step()

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
        return await self._run(
            lambda connection: self._search.plan(connection, partition, terms, weights, emphasis),
            lambda plan: plan.postings,
            lambda connection, plan: self._search.run(connection, plan, limit, prefix),
            LexicalResult(),
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
        return await self._run(
            lambda connection: self._search.plan(connection, partition, terms, weights),
            lambda plan: (
                leading_terms(plan, share).postings
                if plan.postings > INLINE_POSTINGS
                else plan.postings
            ),
            lambda connection, plan: self._search.find_sharing(
                connection, plan, share, limit, weights, prefix
            ),
            Sharing(),
        )

    async def score_keys(
        self,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        *,
        weights: Mapping[str, float],
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        with _as_unavailable(), self._database.snapshot() as connection:
            return self._search.score(connection, partition, terms, keys, weights, emphasis)

    async def contents(self, partition: Partition, keys: Sequence[str]) -> dict[str, Terms]:
        """Return the terms of given documents."""
        with _as_unavailable(), self._database.snapshot() as connection:
            return self._search.contents(connection, partition, keys)

    async def _run(
        self,
        make_plan: Callable[[Connection], QueryPlan | None],
        postings: Callable[[QueryPlan], int],
        work: Callable[[Connection, QueryPlan], Result],
        nothing: Result,
    ) -> Result:
        """Plan a query here; run it here if its postings are few, else in the reader pool."""
        with _as_unavailable():
            with self._database.snapshot() as connection:
                planned = make_plan(connection)
                if planned is None:
                    return nothing
                if postings(planned) <= INLINE_POSTINGS:
                    return work(connection, planned)
            plan = planned

            def run_later(connection: Connection) -> Result:
                unchanged = self._state(connection, plan.partition_id) == plan.buffered.state
                # plan again if documents were buffered or moved since
                return work(connection, plan if unchanged else make_plan(connection) or plan)

            return await self._database.read(run_later)
