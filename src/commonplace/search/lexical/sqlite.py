"""Documents and postings in SQLite: short searches on the caller's thread, long ones over arrays
in memory where numpy is installed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import apsw
import orjson

from commonplace.search.lexical.packing import LEAST_DOCUMENTS, Packing
from commonplace.search.lexical.posting_cache import PostingCache
from commonplace.search.lexical.postings import Plan, Ranked, SqlPostings, leading_terms
from commonplace.search.lexical.write_buffer import MOST_WAITING, WaitingDocuments, WaitingWords
from commonplace.search.model import (
    IndexDocument,
    LexicalResult,
    Partition,
    SearchUnavailableError,
    Sharing,
    Terms,
)
from commonplace.storage.failures import public_reason
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

log = logging.getLogger("commonplace.search")
Result = TypeVar("Result")
INLINE_POSTINGS = (
    2_000  # below this a search is cheaper on the caller's thread than the hop to another
)
_QUERIES = load_queries("commonplace.search.lexical", "sqlite.sql")
_WAITING = load_queries("commonplace.search.lexical", "write_buffer.sql")
_LISTS = load_queries("commonplace.search.lexical", "posting_cache.sql")
DEAD_SHARE = 0.25  # removed documents among the best that call for lists without them


@contextmanager
def _told_as_unavailable() -> Iterator[None]:
    """Whatever the database refuses, the other side of a search may still answer."""
    try:
        yield
    except apsw.Error as failed:
        log.warning("the posting lists cannot be read", exc_info=failed)
        raise SearchUnavailableError(public_reason(failed)) from failed


class SqlitePostings(SqlPostings[Connection]):
    """The lexical store of every collection in one database file."""

    def __init__(self, database: Database, *, in_memory: bool = True) -> None:
        """`in_memory`: rank large answers over arrays where numpy is installed, instead of in
        SQL.
        """
        super().__init__(_QUERIES)
        self._database = database
        self._in_memory = in_memory and PostingCache.available()
        self._cache = PostingCache(_LISTS)
        self._packing = (
            Packing(database, _LISTS, least_documents=LEAST_DOCUMENTS) if self._in_memory else None
        )
        self._late = WaitingDocuments(_WAITING)
        migrate(database, "search", load_migrations("commonplace.search", "migrations/sqlite"))

    def cached(self) -> dict[str, int]:
        """What the cache of posting lists holds."""
        return self._cache.held()

    async def tidy(self) -> bool:
        """A short piece of work that makes later searches cheaper; False when there is none.

        For whoever indexes, when idle.
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
    ) -> LexicalResult:
        return await self._planned(
            lambda connection: self._plan(connection, partition, terms, weights),
            lambda plan: plan.postings,
            lambda connection, plan: self._run(connection, plan, limit, prefix),
            LexicalResult(),
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
        return await self._planned(
            lambda connection: self._plan(connection, partition, terms, weights),
            lambda plan: (
                leading_terms(plan, share).postings
                if plan.postings > INLINE_POSTINGS
                else plan.postings
            ),
            lambda connection, plan: self._share(connection, plan, share, limit, weights),
            Sharing(),
        )

    async def _planned(
        self,
        plan: Callable[[Connection], Plan | None],
        postings: Callable[[Plan], int],
        work: Callable[[Connection, Plan], Result],
        nothing: Result,
    ) -> Result:
        """Plan a query here, and run it here too where its postings are few; else in the reader
        pool.
        """
        with _told_as_unavailable():
            with self._database.snapshot() as connection:
                planned = plan(connection)
                if planned is None:
                    return nothing
                if postings(planned) <= INLINE_POSTINGS:
                    return work(connection, planned)
            before = planned

            def later(connection: Connection) -> Result:
                same = self._late.state(connection, before.partition_id) == before.waiting.state
                return work(
                    connection, before if same else plan(connection) or before
                )  # made anew where somebody wrote since

            return await self._database.read(later)

    async def score_keys(
        self,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        *,
        weights: Mapping[str, float],
    ) -> LexicalResult:
        with _told_as_unavailable(), self._database.snapshot() as connection:
            return self.score_in(connection, partition, terms, keys, weights)

    async def held(self, partition: Partition, keys: Sequence[str]) -> dict[str, Terms]:
        with _told_as_unavailable(), self._database.snapshot() as connection:
            return self.held_in(connection, partition, keys)

    # -- writing: one document waits for others

    def put(
        self,
        connection: Connection,
        partition: Partition,
        documents: Iterable[IndexDocument],
        *,
        keep_terms: bool = True,
    ) -> None:
        """As everywhere. Posting lists only grow at their end, so what waits goes first."""
        self._settle(connection, self._opened(connection, partition))
        super().put(connection, partition, documents, keep_terms=keep_terms)

    def put_soon(
        self, connection: Connection, partition: Partition, document: IndexDocument
    ) -> None:
        number = self._opened(connection, partition)
        self._take_out(connection, number, [document.key], {})
        [(identity, held)] = self._add_documents(connection, number, [document], keep_terms=True)
        self._count_fields(connection, number, [held], 1)
        connection.execute(_WAITING["waiting_add"], {"partition": number, "document": identity})
        if self._late.state(connection, number)[0] > MOST_WAITING:
            self._settle(connection, number)

    def _settle(self, connection: Connection, number: int) -> None:
        """Move what waits into the posting lists."""
        documents = self._late.documents(connection, number)
        if documents:
            self._add_postings(
                connection, number, [(identity, held) for identity, _, held in documents]
            )
            self._no_more_late(connection, number, [identity for identity, _, _ in documents])

    def _listed(
        self, connection: Connection, number: int, removed: Sequence[tuple[int, Terms]]
    ) -> Sequence[tuple[int, Terms]]:
        waiting = self._late.ids(connection, number)
        if late := [identity for identity, _ in removed if identity in waiting]:
            self._no_more_late(connection, number, late)
        return [(identity, held) for identity, held in removed if identity not in waiting]

    def _no_more_late(self, connection: Connection, number: int, documents: Sequence[int]) -> None:
        connection.execute(
            _WAITING["waiting_remove"],
            {"partition": number, "documents": orjson.dumps(documents).decode()},
        )

    def _waiting(self, connection: Connection, number: int, terms: Sequence[str]) -> WaitingWords:
        return self._late.words(connection, number, terms)

    def _best(
        self, connection: Connection, plan: Plan, first: int, prefix: str, wanted: int
    ) -> list[Ranked]:
        if plan.postings <= INLINE_POSTINGS or not self._in_memory:
            return super()._best(connection, plan, first, prefix, wanted)
        room = first + first // 2  # some of the best may have been removed
        ranked, gone = self._keyed(
            connection, plan, self._cache.ranked(connection, plan.weighted, room), prefix, wanted
        )
        if gone > DEAD_SHARE * wanted:
            rows = self._cache.ranked(connection, plan.weighted, first, anew=True)
            ranked, _ = self._keyed(connection, plan, rows, prefix, wanted)
        return ranked
