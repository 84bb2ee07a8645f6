"""Documents and postings in SQLite: short searches on the caller's thread, long ones over arrays in memory where numpy is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from commonplace.search.posting_cache import PostingCache
from commonplace.search.sql_postings import Plan, SqlPostings
from commonplace.search.store import LexicalResult, Partition, SearchUnavailableError
from commonplace.storage.migrations import load_migrations, migrate
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite import Connection, Database

INLINE_POSTINGS = 2_000  # below this a search is cheaper on the caller's thread than the hop to another
_QUERIES = load_queries("commonplace.search", "sqlite.sql")
_TAIL = load_queries("commonplace.search", "posting_cache.sql")["postings_after"]


class SqlitePostings(SqlPostings[Connection]):
    """The lexical store of every collection in one database file."""

    def __init__(self, database: Database, *, in_memory: bool = True) -> None:
        """`in_memory`: rank large answers over arrays where numpy is installed, instead of in SQL."""
        super().__init__(_QUERIES)
        self._database = database
        self._in_memory = in_memory and PostingCache.available()
        self._cache = PostingCache(_TAIL)
        migrate(database, "search", load_migrations("commonplace.search", "migrations/sqlite"))

    def held(self) -> dict[str, int]:
        """What the cache of posting lists holds."""
        return self._cache.held()

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
        ranked, gone = self._keyed(connection, plan, self._cache.ranked(connection, plan.weighted, first), prefix, wanted)
        if gone:  # removed documents stood in the lists: read them again, then none can
            self._cache.forget(plan.weighted)
            ranked, _ = self._keyed(connection, plan, self._cache.ranked(connection, plan.weighted, first), prefix, wanted)
        return ranked
