"""The files index in PostgreSQL: the words of a chunk go into contract 003's mcp_file_chunk_bm25
and from there into the postings, or into the tsvector of the transitional mode.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import orjson

from commonplace.files.engine.reindex import TEXT
from commonplace.files.store.postgres import QUERIES
from commonplace.files.store.postgres_words import add_words
from commonplace.files.store.sql_files import microseconds
from commonplace.files.store.sql_index import SqlFileIndex, key_of
from commonplace.files.store.sql_vectors import SqlVectorJobs
from commonplace.kernel.settings import LexicalMode
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.model import IndexDocument, Partition, Terms
from commonplace.storage.outbox import Outbox
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_postgres_queries
from commonplace.storage.relational import Row

Result = TypeVar("Result")
INDEX_LOCK_SECONDS = 30.0  # an index worker may wait longer than a caller
LEASE_SECONDS = (
    15.0  # a worker that was killed is noticed after this time; one that lives renews in time
)
TOKENIZER = "commonplace-text-1"
NUL, SHOWN = "\0", "\u2400"  # PostgreSQL's text holds no NUL; a file may
_TOKENS = load_postgres_queries("commonplace.files.store", "postgres_tokens.sql")


class PostgresFileIndex(SqlFileIndex[PostgresConnection]):
    """`ChunkStore` and `JobStore` for any number of servers and workers."""

    def __init__(
        self,
        database: PostgresDatabase,
        postings: PostgresPostings,
        outbox: Outbox | None = None,
        *,
        now: Callable[[], int] = microseconds,
        vectors: Sequence[SqlVectorJobs[PostgresConnection]] = (),
        lexical: LexicalMode = "bm25",
    ) -> None:
        super().__init__(outbox or Outbox(QUERIES, lease_seconds=LEASE_SECONDS), now, vectors)
        self._database = database
        self._postings = postings
        self._lexical = lexical

    async def _look(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work, snapshot=True)

    async def _scan(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.read(work, snapshot=True)

    async def _write(self, work: Callable[[PostgresConnection], Result]) -> Result:
        return await self._database.write(work, lock_timeout_seconds=INDEX_LOCK_SECONDS)

    def _put(
        self,
        connection: PostgresConnection,
        partition: Partition,
        documents: Sequence[tuple[int, IndexDocument]],
    ) -> None:
        now = self._now()
        rows, held = [], []
        for chunk_id, document in documents:
            counted = {field: Counter(terms) for field, terms in document.fields.items()}
            values = {
                "tokens": orjson.dumps(counted).decode(),
                "count": counted[TEXT].total(),
                "tokenizer": TOKENIZER,
            }
            rows.append({"id": chunk_id, "now": now, **values})
            held.append((chunk_id, counted))
        connection.executemany(_TOKENS["chunk_tokens_add"], rows)
        if self._lexical == "tsvector":
            add_words(
                connection, self._postings.number(connection, partition), partition.tenant, held
            )
            return
        self._postings.put(
            connection, partition, [document for _, document in documents], keep_terms=False
        )

    def _drop(
        self,
        connection: PostgresConnection,
        partition: Partition,
        path: str,
        chunk_ids: Sequence[int],
    ) -> None:
        found = connection.execute(
            _TOKENS["chunk_tokens"], {"tenant": partition.tenant, "ids": list(chunk_ids)}
        )
        terms: dict[str, Terms] = {key_of(path, chunk_id): tokens for chunk_id, tokens in found}
        self._postings.remove(connection, partition, list(terms), terms)

    def _clear(self, connection: PostgresConnection, partition: Partition) -> None:
        self._postings.clear(connection, partition)

    def _stored(self, text: str) -> str:
        return text.replace(NUL, SHOWN) if NUL in text else text

    def _text(self, row: Row) -> str:
        text, live, digest = str(row[3]), row[4], row[5]
        if SHOWN in text and live is not None and hashlib.sha256(live).hexdigest() == digest:
            return bytes(
                live
            ).decode()  # as it is in the file, with the character the column could not hold
        return text
