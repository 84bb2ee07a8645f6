"""The index of files in PostgreSQL: words go into mcp_file_chunk_bm25
(docs/reference/contracts/files.md, section 10) and from
there into the postings, or into the tsvector of the transitional mode.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

import orjson

from commonplace.files.engine.reindex import TEXT
from commonplace.files.store.extracts.reader import SqlExtractStore
from commonplace.files.store.extracts.writer import ExtractWriter
from commonplace.files.store.index_store import SqlIndexStore, key_of
from commonplace.files.store.postgres import QUERIES, PostgresIndexUnits
from commonplace.files.store.postgres_words import add_words
from commonplace.files.store.symbols.reader import SqlSymbolStore
from commonplace.files.store.units import microseconds
from commonplace.files.store.vector_jobs import SqlVectorJobs
from commonplace.files.symbols import IndexVersions
from commonplace.kernel.settings import LexicalMode
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.model import IndexDocument, Partition, Terms
from commonplace.storage.outbox import Outbox
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_postgres_queries
from commonplace.storage.relational import Row, SqlConnection

LEASE_SECONDS = 15.0  # a killed worker is noticed after this time; a live one renews in time
TOKENIZER = "commonplace-text-1"
NUL, SHOWN = "\0", "\u2400"  # PostgreSQL's text cannot hold NUL; a file can
_TOKENS = load_postgres_queries("commonplace.files.store", "postgres_tokens.sql")


class PostgresWordIndex:
    """`WordIndex` in the search tables, or in the tsvector column of the transitional mode."""

    def __init__(
        self,
        postings: PostgresPostings,
        lexical: LexicalMode = "bm25",
        now: Callable[[], int] = microseconds,
    ) -> None:
        self._postings = postings
        self._lexical = lexical
        self._now = now

    async def tidy(self) -> bool:
        return False  # PostgreSQL tidies up by itself

    def put(
        self,
        connection: SqlConnection,
        partition: Partition,
        documents: Sequence[tuple[int, IndexDocument]],
    ) -> None:
        now = self._now()
        rows, counted_chunks = [], []
        for chunk_id, document in documents:
            counted = {field: Counter(terms) for field, terms in document.fields.items()}
            values = {
                "tokens": orjson.dumps(counted).decode(),
                "count": counted[TEXT].total(),
                "tokenizer": TOKENIZER,
            }
            rows.append({"id": chunk_id, "now": now, **values})
            counted_chunks.append((chunk_id, counted))
        connection.executemany(_TOKENS["chunk_tokens_add"], rows)
        if self._lexical == "tsvector":
            number = self._postings.number(connection, partition)
            add_words(connection, number, partition.tenant, counted_chunks)
            return
        self._postings.put(
            connection, partition, [document for _, document in documents], keep_terms=False
        )

    def drop(
        self,
        connection: SqlConnection,
        partition: Partition,
        path: str,
        chunk_ids: Sequence[int],
    ) -> None:
        found = connection.execute(
            _TOKENS["chunk_tokens"], {"tenant": partition.tenant, "ids": list(chunk_ids)}
        )
        terms: dict[str, Terms] = {key_of(path, chunk_id): tokens for chunk_id, tokens in found}
        self._postings.remove(connection, partition, list(terms), terms)

    def clear(self, connection: SqlConnection, partition: Partition) -> None:
        self._postings.clear(connection, partition)

    def storable(self, text: str) -> str:
        return text.replace(NUL, SHOWN) if NUL in text else text

    def chunk_text(self, row: Row) -> str:
        text, live, digest = str(row[3]), row[4], row[5]
        if SHOWN in text and live is not None and hashlib.sha256(live).hexdigest() == digest:
            return bytes(live).decode()  # with the character that the column cannot hold
        return text


def postgres_index(
    database: PostgresDatabase,
    postings: PostgresPostings,
    outbox: Outbox | None = None,
    *,
    now: Callable[[], int] = microseconds,
    vectors: Sequence[SqlVectorJobs] = (),
    lexical: LexicalMode = "bm25",
    versions: IndexVersions | None = None,
) -> SqlIndexStore:
    """Return the `ChunkStore` and `JobStore` for any number of servers and workers."""
    outbox = outbox or Outbox(QUERIES, lease_seconds=LEASE_SECONDS)
    words = PostgresWordIndex(postings, lexical, now)
    extracts = ExtractWriter(QUERIES, postings, words.storable)
    units = PostgresIndexUnits(database)
    return SqlIndexStore(units, words, outbox, now, vectors, versions, extracts=extracts)


def postgres_extracts(database: PostgresDatabase) -> SqlExtractStore:
    """Return the `ExtractStore` of a team."""
    return SqlExtractStore(PostgresIndexUnits(database), QUERIES)


def postgres_symbols(database: PostgresDatabase) -> SqlSymbolStore:
    """Return the `SymbolStore` of a team."""
    return SqlSymbolStore(PostgresIndexUnits(database), QUERIES)
