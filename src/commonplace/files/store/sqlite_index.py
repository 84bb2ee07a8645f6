"""The files index in SQLite: the words of chunks go into the search tables of the same database
file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from commonplace.files.store.sql_files import microseconds
from commonplace.files.store.sql_index import SqlFileIndex, key_of
from commonplace.files.store.sql_vectors import SqlVectorJobs
from commonplace.files.store.sqlite import QUERIES, open_schema
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import IndexDocument, Partition
from commonplace.storage.outbox import Outbox
from commonplace.storage.sqlite.database import Connection, Database

Result = TypeVar("Result")
INDEX_LOCK_SECONDS = 30.0  # an index worker may wait longer than a caller


class SqliteFileIndex(SqlFileIndex[Connection]):
    """`ChunkStore` and `JobStore` on one machine."""

    def __init__(
        self,
        database: Database,
        postings: SqlitePostings,
        outbox: Outbox | None = None,
        *,
        now: Callable[[], int] = microseconds,
        vectors: Sequence[SqlVectorJobs[Connection]] = (),
    ) -> None:
        super().__init__(outbox or Outbox(QUERIES), now, vectors)
        open_schema(database)
        self._database = database
        self._postings = postings

    async def _look(self, work: Callable[[Connection], Result]) -> Result:
        with self._database.snapshot() as connection:
            return work(connection)

    async def _scan(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.read(work)

    async def _write(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.write(
            work, lock_timeout_seconds=INDEX_LOCK_SECONDS, durable=False
        )

    async def tidy(self) -> bool:
        return await self._postings.tidy()

    def _put(
        self,
        connection: Connection,
        partition: Partition,
        documents: Sequence[tuple[int, IndexDocument]],
    ) -> None:
        self._postings.put(connection, partition, [document for _, document in documents])

    def _drop(
        self, connection: Connection, partition: Partition, path: str, chunk_ids: Sequence[int]
    ) -> None:
        self._postings.remove(
            connection, partition, [key_of(path, chunk_id) for chunk_id in chunk_ids]
        )

    def _clear(self, connection: Connection, partition: Partition) -> None:
        self._postings.clear(connection, partition)
