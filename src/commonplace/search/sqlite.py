"""Documents and postings in SQLite: short searches on the caller's thread, long ones over arrays in memory where numpy is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from commonplace.search.packing import LEAST_DOCUMENTS, Packing
from commonplace.search.posting_cache import PostingCache
from commonplace.search.sql_postings import Plan, SqlPostings
from commonplace.search.store import LexicalResult, Partition, SearchUnavailableError
from commonplace.storage.migrations import load_migrations, migrate
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite import Connection, Database

INLINE_POSTINGS = 2_000  # below this a search is cheaper on the caller's thread than the hop to another
_QUERIES = load_queries("commonplace.search", "sqlite.sql")
_LISTS = load_queries("commonplace.search", "posting_cache.sql")
DEAD_SHARE = 0.25  # removed documents among the best that call for lists without them


class SqlitePostings(SqlPostings[Connection]):
    """The lexical store of every collection in one database file."""

    def __init__(self, database: Database, *, in_memory: bool = True) -> None:
        """`in_memory`: rank large answers over arrays where numpy is installed, instead of in SQL."""
        super().__init__(_QUERIES)
        self._database = database
        self._in_memory = in_memory and PostingCache.available()
        self._cache = PostingCache(_LISTS)
        self._packing = Packing(database, _LISTS, least_documents=LEAST_DOCUMENTS) if self._in_memory else None
        migrate(database, "search", load_migrations("commonplace.search", "migrations/sqlite"))

    def held(self) -> dict[str, int]:
        """What the cache of posting lists holds."""
        return self._cache.held()

    async def tidy(self) -> bool:
        """A short piece of work that makes later searches cheaper; False when there is none. For whoever indexes, when idle."""
        return self._packing is not None and await self._packing.step()

    async def search(
        self, partition: Partition, terms: Sequence[str], *, limit: int, weights: Mapping[str, float], prefix: str = ""
    ) -> LexicalResult:
        try:
            plan = self._plan(self._database.reader(), partition, terms, weights)
            if plan is None:
                return LexicalResult()
            if plan.postings <= INLINE_POSTINGS:
                with self._database.snapshot() as connection:
                    return self._run(connection, plan, limit, prefix)
            return await self._database.read(lambda connection: self._run(connection, plan, limit, prefix))
        except apsw.Error as failed:
            raise SearchUnavailableError(str(failed)) from failed

    async def score_keys(
        self, partition: Partition, terms: Sequence[str], keys: Sequence[str], *, weights: Mapping[str, float]
    ) -> LexicalResult:
        with self._database.snapshot() as connection:
            return self.score_in(connection, partition, terms, keys, weights)

    def _best(self, connection: Connection, plan: Plan, first: int, prefix: str, wanted: int) -> list[tuple[int, float, str]]:
        if plan.postings <= INLINE_POSTINGS or not self._in_memory:
            return super()._best(connection, plan, first, prefix, wanted)
        room = first + first // 2  # some of the best may have been removed
        ranked, gone = self._keyed(connection, plan, self._cache.ranked(connection, plan.weighted, room), prefix, wanted)
        if gone > DEAD_SHARE * wanted:
            rows = self._cache.ranked(connection, plan.weighted, first, anew=True)
            ranked, _ = self._keyed(connection, plan, rows, prefix, wanted)
        return ranked
