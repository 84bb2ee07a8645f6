"""Files and their index in SQLite: short reads on the caller's thread, scans in the reader pool,
changes in the writer thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from commonplace.files.store.extracts.reader import SqlExtractStore
from commonplace.files.store.extracts.writer import ExtractWriter
from commonplace.files.store.file_store import FileDialect, SqlFileStore
from commonplace.files.store.index_store import SqlIndexStore, key_of
from commonplace.files.store.symbols.reader import SqlSymbolStore
from commonplace.files.store.units import microseconds
from commonplace.files.store.vector_jobs import SqlVectorJobs
from commonplace.files.symbols import IndexVersions
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import IndexDocument, Partition
from commonplace.storage.migrations import load_migrations
from commonplace.storage.outbox import Outbox
from commonplace.storage.queries import load_queries
from commonplace.storage.relational import Row, SqlConnection
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

Result = TypeVar("Result")
INLINE_BYTES = 262_144  # larger reads leave the event loop
INLINE_ENTRIES = 64  # longer listings too
INDEX_LOCK_SECONDS = 30.0  # an index worker may wait longer than a caller
PACKAGE = "commonplace.files.store"
QUERIES = load_queries(
    PACKAGE, "common.sql", "common_symbols.sql", "common_extracts.sql", "sqlite.sql"
)
VECTOR_QUERIES = load_queries(PACKAGE, "common_vectors.sql", "sqlite_vectors.sql")
_LISTING = load_queries(PACKAGE, "listing.sql")
DIALECT = FileDialect(
    QUERIES,
    directories_at_once=256,
    lock_projects=lambda connection, tenant: None,  # the database has one writer at a time
    direct_children=_LISTING["files_inside"],
    inline_bytes=INLINE_BYTES,
)


class SqliteFileUnits:
    """`FileUnits` on one machine."""

    def __init__(self, database: Database, lock_timeout_seconds: float) -> None:
        self._database = database
        self._lock_timeout_seconds = lock_timeout_seconds

    async def look(self, work: Callable[[Connection], Result]) -> Result:
        return work(self._database.reader())

    async def scan(
        self, work: Callable[[Connection], Result], *, rows: int | None = None
    ) -> Result:
        if rows is not None and rows <= INLINE_ENTRIES:
            with self._database.snapshot() as connection:
                return work(connection)
        return await self._database.read(work)

    async def commit(self, work: Callable[[Connection], Result], lock: str | None) -> Result:
        """Run a change; the whole database has one writer, so a project needs no lock."""
        return await self._database.write(work, lock_timeout_seconds=self._lock_timeout_seconds)


class SqliteIndexUnits:
    """`IndexUnits` on one machine."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, work: Callable[[Connection], Result]) -> Result:
        with self._database.snapshot() as connection:
            return work(connection)

    async def scan(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.read(work)

    async def commit(self, work: Callable[[Connection], Result]) -> Result:
        return await self._database.write(
            work, lock_timeout_seconds=INDEX_LOCK_SECONDS, durable=False
        )


class SqliteWordIndex:
    """`WordIndex` in the search tables of the same database file."""

    def __init__(self, postings: SqlitePostings) -> None:
        self._postings = postings
        self.tidy = postings.tidy

    def put(
        self,
        connection: SqlConnection,
        partition: Partition,
        documents: Sequence[tuple[int, IndexDocument]],
    ) -> None:
        self._postings.put(connection, partition, [document for _, document in documents])

    def drop(
        self,
        connection: SqlConnection,
        partition: Partition,
        path: str,
        chunk_ids: Sequence[int],
    ) -> None:
        keys = [key_of(path, chunk_id) for chunk_id in chunk_ids]
        self._postings.remove(connection, partition, keys)

    def clear(self, connection: SqlConnection, partition: Partition) -> None:
        self._postings.clear(connection, partition)

    def storable(self, text: str) -> str:
        return text

    def chunk_text(self, row: Row) -> str:
        return str(row[3])


def open_schema(database: Database) -> None:
    migrate(database, "files", load_migrations("commonplace.files", "migrations/sqlite"))


def sqlite_files(
    database: Database,
    *,
    lock_timeout_seconds: float = 3.0,
    now: Callable[[], int] = microseconds,
) -> SqlFileStore:
    """Return the `FileStore` on one machine; migrates its tables."""
    open_schema(database)
    units = SqliteFileUnits(database, lock_timeout_seconds)
    return SqlFileStore(units, DIALECT, lock_timeout_seconds, now)


def sqlite_index(
    database: Database,
    postings: SqlitePostings,
    outbox: Outbox | None = None,
    *,
    now: Callable[[], int] = microseconds,
    vectors: Sequence[SqlVectorJobs] = (),
    versions: IndexVersions | None = None,
) -> SqlIndexStore:
    """Return the `ChunkStore` and `JobStore` on one machine; migrates their tables."""
    open_schema(database)
    units, words = SqliteIndexUnits(database), SqliteWordIndex(postings)
    extracts = ExtractWriter(QUERIES, postings, words.storable)
    outbox = outbox or Outbox(QUERIES)
    return SqlIndexStore(units, words, outbox, now, vectors, versions, extracts=extracts)


def sqlite_symbols(database: Database) -> SqlSymbolStore:
    """Return the `SymbolStore` on one machine; migrates its tables."""
    open_schema(database)
    return SqlSymbolStore(SqliteIndexUnits(database), QUERIES)


def sqlite_extracts(database: Database) -> SqlExtractStore:
    """Return the `ExtractStore` on one machine; migrates its tables."""
    open_schema(database)
    return SqlExtractStore(SqliteIndexUnits(database), QUERIES)


def sqlite_vector_jobs(
    database: Database, *, now: Callable[[], int] = microseconds, local: bool = False
) -> SqlVectorJobs:
    """Return the `VectorJobStore` on one machine; migrates its tables."""
    open_schema(database)
    return SqlVectorJobs(SqliteIndexUnits(database), VECTOR_QUERIES, now, local=local)
